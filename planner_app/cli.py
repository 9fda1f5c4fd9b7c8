"""The command line. Exit codes: 0 fine, 1 error, 2 wrong usage, 3 does not fit.

Each command is a module with `HELP`, `add` and `run`. Errors of the user's are sentences; anything else is a bug, and
this is the one place it reaches.
"""

import importlib
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Sequence

from planner_app import __version__
from planner_app.commands import describe, devices, estimate, max_batch, sweep
from planner_app.errors import PlannerError

COMMANDS = {
    "describe": describe,
    "estimate": estimate,
    "sweep": sweep,
    "max-batch": max_batch,
    "devices": devices,
}

FINE, ERROR, USAGE = 0, 1, 2
INTERRUPTED = 130  # what a shell expects of a program ended by Ctrl-C: 128 + SIGINT
WORKER = "--worker"


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == [WORKER]:  # a frozen build has no `python -m`: it is its own worker
        importlib.import_module("planner_app.worker.serve").serve()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that can't show a letter is no reason to stop
    parser = _parser()
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    try:
        return int(COMMANDS[options.command].run(options))
    except PlannerError as error:
        return _failed(str(error), error.detail if options.debug else "")
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read us has seen enough
        sys.stderr.close()
        return ERROR
    except Exception as error:
        advice = "This is a bug in plimsoll: please report it with what --debug shows"
        said = " ".join(str(error).split())[:200]
        return _failed(f"{type(error).__name__}: {said}. {advice}.", traceback.format_exc() if options.debug else "")


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="plimsoll", description="How much Keras training a GPU can carry before it runs out of memory."
    )
    parser.add_argument("--version", action="version", version=f"plimsoll {__version__}")
    parser.set_defaults(debug=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.HELP, description=(command.__doc__ or "").strip())
        sub.add_argument("--debug", action="store_true", help="if something goes wrong, show everything about it")
        command.add(sub)
    return parser


def _failed(sentence: str, detail: str) -> int:
    sys.stderr.write(f"plimsoll: {' '.join(sentence.split())}\n")
    if detail:
        sys.stderr.write(f"\n{detail.rstrip()}\n")
    return ERROR
