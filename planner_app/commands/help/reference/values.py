"""The command line as plain values, read from its parsers."""

import argparse
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from planner_app import cli
from planner_app.core.model.choices import LOSSES, OPTIMIZERS, REMAT_MODES, REMAT_WITH_ARGUMENT
from planner_app.core.model.setup import OWN, QUANTIZATIONS, Precision

EXAMPLE = re.compile(r"`([^`]+)`: (.*)", re.DOTALL)
MODELS = ("keras", "h5", "hdf5", "json", "py")


class Source(StrEnum):
    """Where the values that a shell offers come from."""

    NONE = "none"
    WORDS = "words"
    DEVICES = "devices"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Argument:
    """Attributes:
    flags: "-o", "--output"; empty for a positional argument.
    value: The placeholder of its value, as in "FILE.json"; empty for a switch.
    words: The values to offer: words, or file name suffixes (none: any file).
    listed: Takes several values, separated by commas.
    choices: The only values allowed.
    """

    flags: tuple[str, ...]
    value: str
    help: str
    required: bool = False
    many: bool = False
    source: Source = Source.NONE
    words: tuple[str, ...] = ()
    listed: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """Attributes:
    example: As typed, without the prompt; the start of the command's description.
    """

    name: str
    help: str
    example: str
    description: str
    arguments: tuple[Argument, ...]

    @property
    def options(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.flags)

    @property
    def positionals(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.flags)

    @property
    def place(self) -> Argument | None:
        """The positional argument that a word may be; None if the command takes none."""
        if not self.positionals:
            return None
        endings = dict.fromkeys(word for each in self.positionals for word in each.words)
        return replace(self.positionals[-1], words=tuple(endings))


WORDS = {
    "precision": list(map(str, Precision)),
    "precisions": list(map(str, Precision)),
    "optimizer": [str(OWN), *OPTIMIZERS],
    "quantize": list(QUANTIZATIONS),
    "loss": list(LOSSES),
    "remat": [mode for mode in REMAT_MODES if mode not in REMAT_WITH_ARGUMENT],
    "on": ["cpu", "gpu:0"],
}
DEVICES = {"device", "devices", "gpu"}


def read() -> tuple[Command, ...]:
    """Every command, in the order of `--help`."""
    (commands,) = [action for action in _actions(cli.parser()) if isinstance(action, argparse._SubParsersAction)]
    helps = {action.dest: action.help or "" for action in commands._choices_actions}
    return tuple(_command(name, helps[name], parser) for name, parser in commands.choices.items())


def app() -> Command:
    """`plimsoll` without a command."""
    parser = cli.app_parser()
    return Command("", parser.description or "", "plimsoll model.keras", parser.description or "", _arguments(parser))


def _command(name: str, help: str, parser: argparse.ArgumentParser) -> Command:
    found = EXAMPLE.fullmatch(parser.description or "")
    example, told = (found[1], found[2]) if found else ("", parser.description or "")
    return Command(name, help, example, " ".join(told.split()), _arguments(parser))


def _arguments(parser: argparse.ArgumentParser) -> tuple[Argument, ...]:
    return tuple(_argument(action, parser) for action in _actions(parser) if action.help != argparse.SUPPRESS)


def _argument(action: argparse.Action, parser: argparse.ArgumentParser) -> Argument:
    value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    source, words, listed = _offered(action, value)
    return Argument(
        flags=tuple(action.option_strings),
        value=value,
        help=" ".join(parser._get_formatter()._expand_help(action).split()) if action.help else "",
        required=action.required,
        many=action.nargs in ("*", "+") or isinstance(action, argparse._AppendAction),
        source=source,
        words=words,
        listed=listed,
        choices=tuple(map(str, action.choices or ())) if action.metavar is None else (),
    )


def _offered(action: argparse.Action, value: str) -> tuple[Source, tuple[str, ...], bool]:
    listed = value.endswith(",...")
    if not value:
        return Source.NONE, (), False
    if action.choices:
        return Source.WORDS, tuple(map(str, action.choices)), False
    if action.dest in DEVICES:
        return Source.DEVICES, (), listed
    if action.dest in WORDS:
        return Source.WORDS, tuple(WORDS[action.dest]), listed
    if value == "MODEL":
        return Source.FILES, MODELS, False
    if value in ("FILE", "LOG"):
        return Source.FILES, (), False
    if ending := re.search(r"\.([a-z]+)$", value):
        return Source.FILES, (ending[1],), False
    return Source.NONE, (), False


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions
