"""The man page, plimsoll(1), in roff."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from planner_app import __version__
from planner_app.commands.help.reference.values import Argument, Command

SHARED_BY = 4  # commands: what so many have is described once
WIDTH = 68
INTRODUCTION = (
    "Plimsoll tells how much GPU memory training a Keras model needs, before you own the GPU or run a step. The real "
    "training step is traced and never run; what it would allocate is replayed through TensorFlow's allocator. No GPU "
    "and no weights are needed, and nothing in a model file is executed.",
    "Without a command the app is opened, with a model if one is named. Each command reads its model by itself, writes "
    "tables for people and, with --json, one JSON object for programs.",
)
EXIT = (
    ("0", "All is well; what was asked about fits."),
    ("1", "An error, said in one sentence on standard error. Of doctor-env: something that planning needs is missing."),
    ("2", "Wrong usage."),
    ("3", "The setup or the plan does not fit."),
)
ENVIRONMENT = (
    ("PLIMSOLL_PYTHON", "A Python that has TensorFlow, for workers to run in. Default: the one Plimsoll runs in."),
    ("PLIMSOLL_CACHE", "Where traces are kept. Default: plimsoll/traces in the user's cache."),
    ("PLIMSOLL_COMPILER", "When XLA's compiler is asked: never (as --quick), always (as --exact), or as needed."),
    ("PLIMSOLL_CALIBRATIONS", "Where calibrations are kept. Default: plimsoll/calibrations in the user's data."),
    ("PLIMSOLL_SEARCHES", "Where a search that was not finished is kept. Default: plimsoll/searches in the cache."),
    ("PLIMSOLL_SETTINGS", "Where the app keeps its settings. Default: plimsoll in the user's configuration."),
    ("PLIMSOLL_WORKER", "For training scripts on several machines: which of a plan's hosts this one is, from 0."),
    ("PLIMSOLL_PLAN", "For training scripts: the plan that load_plan() reads where the script names none."),
    ("PLIMSOLL_RUNG", "For training scripts: the rung of the plan to start on, where the script names none."),
    ("PLIMSOLL_DEVICE", "For training scripts and plimsoll run: which of the plan's devices this machine has."),
)
FILES = (
    ("~/.config/plimsoll/settings.json", "The app's settings."),
    ("~/.config/plimsoll/devices.json", "Devices and prices of your own; plimsoll devices --schema describes it."),
    ("*.plan.json", "A plan: written by plimsoll plan, checked by plimsoll check, kept by training scripts."),
)


def man(app: Command, commands: Sequence[Command]) -> str:
    shared = _shared(commands)
    lines = [
        r".\" Written by `make man` from the command line itself: not to be edited.",
        f'.TH PLIMSOLL 1 "" "Plimsoll {__version__}" "User Commands"',
        ".ad l",
        ".SH NAME",
        r"plimsoll \- how much Keras training a GPU can carry before it runs out of memory",
        ".SH SYNOPSIS",
        _synopsis(app),
        ".br",
        f"{_bold('plimsoll')} {_italic('COMMAND')} [{_italic('OPTIONS')}]",
        ".SH DESCRIPTION",
        "\n.PP\n".join(map(_lines, INTRODUCTION)),
        *_tagged(map(_option, app.arguments)),
        *_tagged([(_bold("--version"), "show the version")]),
        ".SH COMMANDS",
    ]
    for command in commands:
        lines += _command(command, shared)
    lines += [".SH COMMON ARGUMENTS", "Arguments that several commands have.", *_tagged(map(_option, shared))]
    for title, entries in (("EXIT STATUS", EXIT), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        lines += [f".SH {title}", *_tagged((_bold(name), _lines(told)) for name, told in entries)]
    lines += [".SH SEE ALSO", "The guide: in the app, Help > Guide (F1)."]
    return "\n".join(lines) + "\n"


def _command(command: Command, shared: Sequence[Argument]) -> Iterator[str]:
    yield f".SS {_text(command.name)}"
    yield _synopsis(command)
    yield ".PP"
    yield _lines(command.description[:1].upper() + command.description[1:])
    yield from _tagged(_option(each) for each in command.arguments if each not in shared)
    also = [_bold(option.flags[-1]) for option in command.options if option in shared]
    if also:
        yield ".PP\nAnd, see COMMON ARGUMENTS:"
        yield ",\n".join(also) + "."
    if command.example:
        yield ".PP"
        yield "Example:"
        yield f".PP\n.RS 4\n.EX\n{_text(command.example)}\n.EE\n.RE"


def _shared(commands: Sequence[Command]) -> tuple[Argument, ...]:
    """What has the same words in many commands, the most common first."""
    count = Counter(argument for command in commands for argument in command.arguments)
    return tuple(argument for argument, times in count.most_common() if times >= SHARED_BY)


def _synopsis(command: Command) -> str:
    words = [_bold(f"plimsoll {command.name}".strip())]
    words += [_term(option) for option in command.options if option.required]
    words.append(f"[{_italic('OPTIONS')}]")
    for argument in command.positionals:
        name = _italic(argument.value) + (" ..." if argument.many else "")
        words.append(name if argument.required else f"[{name}]")
    return " ".join(words)


def _option(argument: Argument) -> tuple[str, str]:
    only = f" (one of {', '.join(argument.choices)})" if argument.choices else ""
    return _term(argument), _lines(argument.help + only)


def _term(argument: Argument) -> str:
    if not argument.flags:
        return _italic(argument.value)
    flags = ", ".join(map(_bold, argument.flags))
    return f"{flags} {_italic(argument.value)}" if argument.value else flags


def _bold(text: str) -> str:
    whole = r"\%" if text.startswith("-") else ""  # an option is not divided at the end of a line
    return rf"\fB{whole}{_text(text)}\fR"


def _italic(text: str) -> str:
    return rf"\fI{_text(text)}\fR"


def _tagged(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, told in entries:
        yield f".TP\n{term}\n{told}"


def _lines(text: str) -> str:
    """Lines of a decent length."""
    return "\n".join(map(_text, textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)))


def _text(text: str) -> str:
    """Plain words: a hyphen is a hyphen, and no line begins with what roff would take for a request."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti").replace("^", r"\(ha")
    escaped = escaped.replace("`", r"\(ga").replace("'", r"\(aq")
    return re.sub(r"^\.", r"\&.", escaped)
