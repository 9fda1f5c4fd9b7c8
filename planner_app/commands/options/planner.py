"""Arguments of every command that gives a verdict, and the planner that answers it."""

from argparse import ArgumentParser, Namespace

from planner_app.core.estimate.verdict import Verdict
from planner_app.planner.lines import Ask
from planner_app.planner.opening import check_model, file_name
from planner_app.planner.planner import OnProgress, Planner
from planner_app.units import parse_bytes

FITS, DOES_NOT_FIT = 0, 3  # exit codes


def add_limit(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", metavar="SIZE", help="the memory that TensorFlow may take on each GPU, as in 8GiB")


def add_verdict(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--sure", action="store_true", help="count tight as does not fit: even the high end of the band must fit"
    )
    parser.add_argument(
        "--uncalibrated", action="store_true", help="the plain estimate, without calibration by measurements"
    )

    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--exact", action="store_true", help="run XLA's compiler for every figure of a compiled step")
    asked.add_argument(
        "--quick", action="store_true", help="never run XLA's compiler: use the estimate and earlier compiler results"
    )


def limit_of(options: Namespace) -> int | None:
    return parse_bytes(options.limit) if options.limit else None


def planner_of(options: Namespace, on_progress: OnProgress = None) -> Planner:
    model = check_model(options.model, options.custom, on_progress, trust=options.trust, data=options.data)
    ask = Ask.ALWAYS if options.exact else Ask.NEVER if options.quick else None
    return Planner(model, file=file_name(options.model), calibrated=not options.uncalibrated, ask=ask)


def exit_code(verdict: Verdict | None, options: Namespace) -> int:
    """Without a limit, everything fits."""
    return FITS if verdict is None or verdict.yes(sure=options.sure) else DOES_NOT_FIT
