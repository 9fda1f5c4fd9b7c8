"""`plimsoll doctor --now`, `plimsoll doctor --pid 4711`: this machine instead of a log."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

import msgspec

from planner_app.commands import terminal
from planner_app.commands.options.interrupt import interruptible
from planner_app.commands.options.setup import positive
from planner_app.core.doctor.moment import Look, beside_plan, growth, now
from planner_app.core.doctor.story import Section
from planner_app.files.plan_reading import read_plan
from planner_app.jobs.protocol import Progress
from planner_app.planner.watch import look, watch
from planner_app.reports.doctor_text import show_sections

SECONDS = 60.0


def add(parser: ArgumentParser) -> None:
    parser.add_argument("--now", action="store_true", help="no log: who holds this machine's and its GPUs' memory now")
    parser.add_argument("--pid", type=positive, metavar="PID", help="no log: what this running training holds")
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=SECONDS,
        metavar="N",
        help="with --now or --pid: how long to watch what grows; 0: not at all (default: 60)",
    )
    parser.add_argument("--plan", metavar="PLAN", help="with --now or --pid: the plan that the training follows")


def run(options: Namespace) -> int:
    peak = read_plan(options.plan).devices[0].rungs[0].peak if options.plan else None
    first = look(options.pid)
    sections = list(now(first, options.pid))
    if peak is not None:
        sections.append(beside_plan(peak, first, options.pid))
    console = terminal.output()
    if not options.json:
        show_sections(sections, console)
    if options.seconds:
        grown = _watched(first, options.seconds, options.pid)
        sections.append(grown)
        if not options.json:
            show_sections((grown,), console)
    if options.json:
        terminal.write_json({"now": msgspec.to_builtins(first), "sections": msgspec.to_builtins(sections)})
    return 0


def _watched(first: Look, seconds: float, pid: int | None) -> Section:
    """Ctrl-C ends the watching; what was seen until then is told."""
    looks = [first]
    with interruptible() as stop, terminal.progress() as on_progress:
        for each in watch(first, seconds, pid, stop):
            looks.append(each)
            done = each.seconds - first.seconds
            text = f"watching: {done:.0f} of {seconds:.0f} seconds"
            on_progress(Progress(done=int(done), of=int(seconds), text=text))
    return growth(looks, pid)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise ArgumentTypeError(f"seconds must be a number from 0 to 86400, got {text!r}")
    return seconds
