"""`plimsoll shop MODEL --batch 256`: which GPUs, how many, and at what price; and why the others don't fit."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options.planner import planner_of
from planner_app.commands.options.shop import accepted_of, add, devices_of, filter_of, pay_of, request_of, run_of
from planner_app.core.buying.run import Proposal, Run
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Later, Offers, Option, ShopRequest
from planner_app.core.hardware.ranking import By, front, kept, one_of_each, ranked
from planner_app.core.model.grow import Growth, growths
from planner_app.core.plan.pipeline import InputSettings
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.files.devices.catalogue import catalogue
from planner_app.files.devices.machines import market
from planner_app.files.devices.measured_speeds import measured_speeds
from planner_app.files.scenarios import read_scenario, write_scenario
from planner_app.files.writing import reason, write_atomically
from planner_app.planner.buying import whole_run
from planner_app.planner.planner import OnProgress, Planner
from planner_app.planner.shop import confirmed
from planner_app.reports.buying.run_rows import run_csv, run_json
from planner_app.reports.buying.run_table import show_run
from planner_app.reports.buying.shop_report import report
from planner_app.reports.buying.shop_rows import as_csv, as_json, later_row, request_row
from planner_app.reports.buying.shop_table import show
from planner_app.reports.signing.html_page import html_page
from planner_app.reports.signing.page import page
from planner_app.reports.signing.pdf_page import pdf_page

__all__ = ["HELP", "add", "run"]

HELP = "find GPUs that fit the training: which, how many, and at what price"
DOES_NOT_FIT = 3


def run(options: Namespace) -> int:
    for path in filter(None, (options.html, options.pdf, options.scenario)):
        if not (folder := Path(path).absolute().parent).is_dir():
            raise PlannerError(f"The report can't be written to {path}: there is no folder {folder}.")
    whole = run_of(options)
    return _steps(options) if whole is None and not options.again else _whole(options, whole)


def _whole(options: Namespace, whole: Run | None) -> int:
    """The whole training, rented or bought."""
    before = read_scenario(Path(options.again)) if options.again else None
    request = before.request if before else request_of(options)
    asked = before.run if before else whole
    if asked is None:
        raise AssertionError("A scenario, or a run.")
    named = before.devices if before else tuple(options.devices or ())
    today = date.today()
    with terminal.progress() as on_progress:
        planner = planner_of(options, on_progress)
        found = whole_run(
            planner,
            request,
            asked,
            devices_of(named, variants=options.variants),
            market(),
            today=today,
            accepted=before.accepted if before else accepted_of(options),
            measured=measured_speeds(map(Path, options.measured), planner.model, catalogue()),
            wanted=before.wanted if before else filter_of(options),
            named=named,
            input=None if before else InputSettings(options.prefetch, options.shuffle, options.cache),
            before=before,
            on_progress=on_progress,
        )
    name, scenario = planner.model.name, found.scenario
    made = page(name, request, scenario.run, found.proposals, today, found.changes, found.since, found.offers.nearest)
    if options.html:
        _write(Path(options.html), html_page(made).encode())
    if options.pdf:
        _write(Path(options.pdf), pdf_page(made))
    if options.scenario:
        write_scenario(Path(options.scenario), scenario)
    listed = list(found.best) if options.every_count else _one_of_each(found.best)
    if options.json:
        rows = run_json(scenario.run, listed, found.changes, found.since)
        terminal.write_json({"model": name, "want": request_row(request), "answer": made.answer} | rows)
    elif options.csv:
        sys.stdout.write(run_csv(listed))
    else:
        output = terminal.output()
        if before and before.model_sha256 != scenario.model_sha256:
            output.print(Text(f"! {options.again} was asked of another model, {before.model}", style="yellow"))
        show_run(
            name, request, scenario.run, found.proposals, listed[: options.top], output, found.changes, found.since,
            found.offers.nearest,
        )  # fmt: skip
        for what, path in (("report", options.html), ("report", options.pdf), ("scenario", options.scenario)):
            if path:
                output.print(Text(f"The {what} is in {path}."))
    return 0 if found.best else DOES_NOT_FIT


def _one_of_each(proposals: Sequence[Proposal]) -> list[Proposal]:
    first: dict[str, Proposal] = {}
    for each in proposals:
        first.setdefault(each.option.device.name, each)
    return list(first.values())


def _steps(options: Namespace) -> int:
    """One step: what fits, how fast, and what an hour or a card costs."""
    request, today = request_of(options), date.today()
    devices = devices_of(tuple(options.devices or ()), variants=options.variants)
    with terminal.progress() as on_progress:
        planner = planner_of(options, on_progress)
        ways = _growths(options, planner, request, on_progress)
        measured = measured_speeds(map(Path, options.measured), planner.model, catalogue())
        offers = planner.shop(
            request, devices, today=today, measured=measured, accepted=accepted_of(options), on_progress=on_progress
        )
        later = [_later(planner, request, growth, devices, options, today, on_progress) for growth in ways]
        found = _chosen(offers, options)
        listed = found if options.every_count else one_of_each(found)
        if not (options.json or options.csv):
            listed = listed[: options.top]
        unbeaten = set(map(_key, front(found, By.SPEED, pay_of(options))))
        listed = confirmed(planner, request, listed)
        best = [option for option in listed if _key(option) in unbeaten]
    by, pay = By(options.sort), pay_of(options)
    name = planner.model.name
    if options.html:
        text = report(name, request, offers, found, by=by, pay=pay, today=today, later=later)
        _write(Path(options.html), text.encode())
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


def _key(option: Option) -> tuple[str, int]:
    """Of what is offered once."""
    return option.device.name, option.gpus


def _growths(options: Namespace, planner: Planner, request: ShopRequest, on_progress: OnProgress) -> tuple[Growth, ...]:
    if not options.twice:
        return ()
    sizes = request.setup.sizes
    return growths(planner.describe(options.model, dict(sizes), on_progress).inputs, sizes)


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
    return ranked(kept(offers.options, filter_of(options)), By(options.sort), pay_of(options))


def _write(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, data)
    except OSError as error:
        raise PlannerError(f"The report can't be written to {path}: {reason(error)}.") from error
