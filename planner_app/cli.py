"""The command line. Exit codes: 0 fine, 1 error, 2 wrong usage, 3 does not fit, 130 cancelled.

`plimsoll` alone opens the app, `plimsoll MODEL` opens it with a model.

Each command is a module with `HELP`, `add` and `run`. A `PlannerError` is printed as a sentence; any other exception
is a bug and is reported here, and only here.
"""

import errno
import importlib
import os
import signal
import sys
import threading
import traceback
from argparse import ArgumentParser
from collections.abc import Sequence
from io import StringIO
from typing import Any, NoReturn

from planner_app import __version__
from planner_app.errors import Cancelled, PlannerError
from planner_app.files.writing import NO_SPACE, reason, unkept
from planner_app.foreign_text import for_line, for_terminal

ROOMS = {
    "ask": "describe estimate sweep max-batch max-input advise shop devices",
    "verify": "measure calibrate compile selftest fleet",
    "keep": "plan check script run",
    "help": "doctor doctor-env completion",
}
COMMANDS = {
    name: f"planner_app.commands.{room}.{name.replace('-', '_')}"
    for room, names in ROOMS.items()
    for name in names.split()
}

FINE, ERROR = 0, 1
INTERRUPTED = 130  # 128 + SIGINT: what shells expect of a program ended by Ctrl-C
PICTURE = "--picture"
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")  # any of these tells Qt where to draw


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    sys.stdout, sys.stderr = sys.stdout or StringIO(), sys.stderr or StringIO()  # None if closed at start
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # don't fail on a letter that the terminal can't show
    if not given or given[0] == PICTURE or _names_a_model(given[0]):
        return _open_app(given)
    options = parser(given[0]).parse_args(given)
    interrupts: list[int] = []
    unkept()  # a command tells what it could not keep itself, not what another could not before it in this process
    try:
        _enable_interrupts(interrupts)
        code = int(_command(options.command).run(options))
        sys.stdout.flush()
        if notice := unkept():
            _failed(notice, "")
        return code
    except (Cancelled, KeyboardInterrupt):
        return INTERRUPTED
    except PlannerError as error:
        return INTERRUPTED if interrupts else _failed(str(error), error.detail if options.debug else "")
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        sys.stderr.close()
        return ERROR
    except Exception as error:
        if interrupts:
            return INTERRUPTED
        if isinstance(error, OSError) and error.errno in NO_SPACE and error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at exit
            return _failed(f"The output can't be written: {reason(error)}.", "")
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            return _failed(f"{str(error.filename)[:60]!r}... is too long for a file name: use a shorter one.", "")
        advice = "This is a bug in plimsoll: please report it with the output of --debug"
        said = " ".join(str(error).split())[:200]
        return _failed(f"{type(error).__name__}: {said}. {advice}.", traceback.format_exc() if options.debug else "")


def _enable_interrupts(interrupts: list[int]) -> None:
    """From here on Ctrl-C raises an exception, so that running work is stopped and results so far are kept.

    `interrupts` remembers it: a library that Ctrl-C meets halfway, in an import say, may raise something else.
    """

    def interrupt(number: int, _frame: object) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)


class Parser(ArgumentParser):
    """Error messages quote what was typed, which may be a file name from elsewhere that the shell expanded."""

    def error(self, message: str) -> NoReturn:
        super().error(for_line(message))


def _command(name: str) -> Any:
    """The command's module, imported only when needed, so that the app need not load the tables."""
    return importlib.import_module(COMMANDS[name])


def _names_a_model(word: str) -> bool:
    """Tell a model from a mistyped command: a model exists, or its name looks like one."""
    return word not in COMMANDS and not word.startswith("-") and (os.path.exists(word) or "." in word)  # noqa: PTH110


def _open_app(given: list[str]) -> int:
    options = app_parser().parse_args(given)
    if options.picture:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    elif sys.platform == "linux" and not any(os.environ.get(name) for name in SCREENS):
        return _failed(
            "The app needs a screen, and there is none here. `plimsoll --help` lists the commands that work in a "
            f"terminal; `plimsoll MODEL {PICTURE} FILE.png` draws the window to a file.",
            "",
        )
    try:
        from planner_app.gui.start import start
    except ImportError as error:
        return _failed(
            f'The app needs Qt, which can\'t be loaded ({error}): install it with pip install "plimsoll[app]". '
            "`plimsoll --help` lists the commands that work without it.",
            "",
        )
    return start(options.model, options.picture)


def app_parser() -> ArgumentParser:
    """The parser of `plimsoll` without a command."""
    parser = Parser(prog="plimsoll", description="Open the app.")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a saved Keras model")
    parser.add_argument(PICTURE, metavar="FILE.png", help="draw the window to a file and exit; needs no screen")
    return parser


def parser(word: str = "") -> ArgumentParser:
    """The parser of one command, or of all of them for `--help`."""
    whole = Parser(prog="plimsoll", description="Estimate how much GPU memory training a Keras model needs.")
    whole.add_argument("--version", action="version", version=f"plimsoll {__version__}")
    whole.set_defaults(debug=False)
    whole.epilog = "Without a command, plimsoll opens the app: plimsoll, or plimsoll MODEL."
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    for name in [word] if word in COMMANDS else COMMANDS:
        command = _command(name)
        sub = commands.add_parser(name, help=command.HELP, description=(command.__doc__ or "").strip())
        sub.add_argument("--debug", action="store_true", help="if something goes wrong, show the full error report")
        command.add(sub)
    return whole


def _failed(sentence: str, detail: str) -> int:
    sys.stderr.write(f"plimsoll: {' '.join(for_terminal(sentence).split())}\n")
    if detail:
        sys.stderr.write(f"\n{for_terminal(detail).rstrip()}\n")
    return ERROR
