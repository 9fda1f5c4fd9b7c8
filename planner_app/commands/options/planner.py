"""Arguments of every command that judges whether a training fits, and the planner they are asked of."""

from argparse import ArgumentParser, Namespace

from planner_app.core.estimate.verdict import Verdict
from planner_app.planner.lines import Ask
from planner_app.planner.opening import check_model, file_name
from planner_app.planner.planner import OnProgress, Planner
from planner_app.units import parse_bytes

FITS, DOES_NOT_FIT = 0, 3  # exit codes


def add_limit(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", metavar="SIZE", help="the most that TensorFlow may take of each GPU, as in 8GiB")


def add_verdict(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--sure", action="store_true", help="count tight as no: even the high end of the band has to fit"
    )
    parser.add_argument(
        "--uncalibrated", action="store_true", help="the estimate alone, without calibration by measurements"
    )

    asked = parser.add_mutually_exclusive_group()
    asked.add_argument(
        "--exact", action="store_true", help="ask XLA's compiler for every figure of a step that it compiles"
    )
    asked.add_argument(
        "--quick", action="store_true", help="never ask it: the estimate at once, and what the compiler has said before"
    )


def limit_of(options: Namespace) -> int | None:
    return parse_bytes(options.limit) if options.limit else None


def planner_of(options: Namespace, on_progress: OnProgress = None) -> Planner:
    model = check_model(options.model, options.custom, on_progress, trust=options.trust, data=options.data)
    ask = Ask.ALWAYS if options.exact else Ask.NEVER if options.quick else None
    return Planner(model, file=file_name(options.model), calibrated=not options.uncalibrated, ask=ask)


def exit_code(verdict: Verdict | None, options: Namespace) -> int:
    """Without a limit there is nothing that could not fit."""
    return FITS if verdict is None or verdict.yes(sure=options.sure) else DOES_NOT_FIT
