"""`plimsoll shop MODEL --batch 256`: which GPUs, how many, and at what price; and why the others can't."""

import sys
from argparse import Namespace
from datetime import date
from pathlib import Path

from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options import calibrated
from planner_app.commands.options.shop import add, devices_of, filter_of, want_of
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Later, Offers, Option, Want
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.ranking import By, front, kept, one_of_each, ranked
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.grow import Growth, growths
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.files.devices.catalogue import catalogue
from planner_app.files.devices.measured_speeds import measured_speeds
from planner_app.files.writing import reason, write_atomically
from planner_app.planner.opening import check_model, open_model
from planner_app.planner.shop import offers_for
from planner_app.planner.tracer import OnProgress, Tracer
from planner_app.reports.shop_report import report
from planner_app.reports.shop_rows import as_csv, as_json, later_row
from planner_app.reports.shop_table import show

__all__ = ["HELP", "add", "run"]

HELP = "which GPUs carry it, how many, and at what price"
DOES_NOT_FIT = 3


def run(options: Namespace) -> int:
    want, devices, today = want_of(options), devices_of(options), date.today()
    if options.html and not (folder := Path(options.html).absolute().parent).is_dir():
        raise PlannerError(f"The report can't be written to {options.html}: there is no folder {folder}.")
    with terminal.progress() as on_progress:
        model, ways = _opened(options, want, on_progress)
        tracer = Tracer(model)
        measured = measured_speeds(map(Path, options.measured), tracer.model, catalogue())
        taught = calibrated.taught(options)
        offers = offers_for(
            tracer, want, devices, today=today, measured=measured, taught=taught, on_progress=on_progress
        )
        later = [_later(tracer, want, growth, devices, options, today, on_progress) for growth in ways]
        tracer.keep()
    by, pay = By(options.sort), Pay(options.pay)
    found = _chosen(offers, options)
    best = front(found, By.SPEED, pay)
    listed = found if options.every_count else one_of_each(found)
    if options.html:
        page = report(tracer.model.name, want, offers, found, by=by, pay=pay, today=today, later=later)
        _write(Path(options.html), page)
    if options.json:
        rows = {"model": tracer.model.name} | as_json(want, offers, listed, best)
        terminal.write_json(rows | ({"later": [later_row(each) for each in later]} if options.twice else {}))
    elif options.csv:
        sys.stdout.write(as_csv(listed, best))
    else:
        show(want, offers, listed[: options.top], len(found), best, terminal.output(), later)
        if options.html:
            terminal.output().print(Text(f"\nThe report is in {options.html}."))
    return 0 if found else DOES_NOT_FIT


def _opened(options: Namespace, want: Want, on_progress: OnProgress) -> tuple[CheckedModel, tuple[Growth, ...]]:
    if not options.twice:
        return check_model(options.model, options.custom, on_progress), ()
    opened = open_model(options.model, options.custom, on_progress, dict(want.setup.sizes))
    return opened.checked, growths(opened.description.inputs, want.setup.sizes)


def _later(
    tracer: Tracer,
    want: Want,
    growth: Growth,
    devices: tuple[Device, ...],
    options: Namespace,
    today: date,
    on_progress: OnProgress,
) -> Later:
    size = 2 * growth.now
    try:
        offers = offers_for(
            tracer,
            want.grown(growth, size),
            devices,
            today=today,
            taught=calibrated.taught(options),
            on_progress=on_progress,
        )
    except (ModelError, SetupError) as error:
        return Later(growth, size, why_not=str(error))
    found = _chosen(offers, options)
    return Later(growth, size, found[0] if found else None, len(found))


def _chosen(offers: Offers, options: Namespace) -> list[Option]:
    """Within the limits, the best first."""
    pay = Pay(options.pay)
    return ranked(kept(offers.options, filter_of(options)), By(options.sort), pay)


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise PlannerError(f"The report can't be written to {path}: {reason(error)}.") from error
