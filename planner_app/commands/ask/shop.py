"""`plimsoll shop MODEL --batch 256`: which GPUs, how many, and at what price; and why the others don't fit."""

import sys
from argparse import Namespace
from datetime import date
from pathlib import Path

from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options.planner import planner_of
from planner_app.commands.options.shop import add, devices_of, filter_of, request_of
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Later, Offers, Option, ShopRequest
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.ranking import By, front, kept, one_of_each, ranked
from planner_app.core.model.grow import Growth, growths
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.files.devices.catalogue import catalogue
from planner_app.files.devices.measured_speeds import measured_speeds
from planner_app.files.writing import reason, write_atomically
from planner_app.planner.opening import describe_model
from planner_app.planner.planner import OnProgress, Planner
from planner_app.planner.shop import confirmed
from planner_app.reports.shop_report import report
from planner_app.reports.shop_rows import as_csv, as_json, later_row
from planner_app.reports.shop_table import show

__all__ = ["HELP", "add", "run"]

HELP = "find GPUs that fit the training: which, how many, and at what price"
DOES_NOT_FIT = 3


def run(options: Namespace) -> int:
    request, devices, today = request_of(options), devices_of(options), date.today()
    if options.html and not (folder := Path(options.html).absolute().parent).is_dir():
        raise PlannerError(f"The report can't be written to {options.html}: there is no folder {folder}.")
    with terminal.progress() as on_progress:
        planner = planner_of(options, on_progress)
        ways = _growths(options, planner, request, on_progress)
        measured = measured_speeds(map(Path, options.measured), planner.model, catalogue())
        offers = planner.shop(request, devices, today=today, measured=measured, on_progress=on_progress)
        later = [_later(planner, request, growth, devices, options, today, on_progress) for growth in ways]
        found = _chosen(offers, options)
        listed = found if options.every_count else one_of_each(found)
        if not (options.json or options.csv):
            listed = listed[: options.top]
        best = front(found, By.SPEED, Pay(options.pay))
        listed = confirmed(planner, request, listed)
    by, pay = By(options.sort), Pay(options.pay)
    name = planner.model.name
    if options.html:
        _write(Path(options.html), report(name, request, offers, found, by=by, pay=pay, today=today, later=later))
    if options.json:
        rows = {"model": name} | as_json(request, offers, listed, best)
        terminal.write_json(rows | ({"later": [later_row(each) for each in later]} if options.twice else {}))
    elif options.csv:
        sys.stdout.write(as_csv(listed, best))
    else:
        show(request, offers, listed, len(found), best, terminal.output(), later)
        if options.html:
            terminal.output().print(Text(f"\nThe report is in {options.html}."))
    return 0 if found else DOES_NOT_FIT


def _growths(options: Namespace, planner: Planner, request: ShopRequest, on_progress: OnProgress) -> tuple[Growth, ...]:
    if not options.twice:
        return ()
    sizes = request.setup.sizes
    return growths(describe_model(planner.model, options.model, dict(sizes), on_progress).inputs, sizes)


def _later(
    planner: Planner,
    request: ShopRequest,
    growth: Growth,
    devices: tuple[Device, ...],
    options: Namespace,
    today: date,
    on_progress: OnProgress,
) -> Later:
    size = 2 * growth.now
    try:
        offers = planner.shop(request.grown(growth, size), devices, today=today, on_progress=on_progress)
    except (ModelError, SetupError) as error:
        return Later(growth, size, why_not=str(error))
    found = _chosen(offers, options)
    return Later(growth, size, found[0] if found else None, len(found))


def _chosen(offers: Offers, options: Namespace) -> list[Option]:
    """The options within the limits, best first."""
    pay = Pay(options.pay)
    return ranked(kept(offers.options, filter_of(options)), By(options.sort), pay)


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise PlannerError(f"The report can't be written to {path}: {reason(error)}.") from error
