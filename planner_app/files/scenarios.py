"""Scenario files: a question about hardware with its answer, to be asked again later."""

from pathlib import Path

import msgspec

from planner_app.core.buying.scenario import Scenario
from planner_app.errors import PlannerError
from planner_app.files.reading import read_at_most
from planner_app.files.writing import reason, write_atomically
from planner_app.foreign_text import unreadable

VERSION = 1
MAX_FILE_BYTES = 1 << 20


class _File(msgspec.Struct, frozen=True):
    schema_version: int
    scenario: Scenario


class _Version(msgspec.Struct):
    schema_version: int


def write_scenario(path: Path, scenario: Scenario) -> None:
    """Written atomically: the file has either its old or its new content."""
    text = msgspec.json.format(msgspec.json.encode(_File(VERSION, scenario)), indent=2) + b"\n"
    try:
        write_atomically(path, text, private=True)
    except OSError as error:
        raise PlannerError(f"The scenario can't be written to {str(path)!r}: {reason(error)}.") from error


def read_scenario(path: Path) -> Scenario:
    try:
        data = read_at_most(path, MAX_FILE_BYTES)
    except OSError as error:
        raise PlannerError(f"The scenario {str(path)!r} can't be read: {error.strerror or error}.") from error
    try:
        if (version := msgspec.json.decode(data, type=_Version).schema_version) != VERSION:
            raise PlannerError(
                f"The scenario {str(path)!r} has schema_version {version}, but this plimsoll reads {VERSION}: "
                f"{'use a newer plimsoll' if version > VERSION else 'save it again'}."
            )
        scenario = msgspec.json.decode(data, type=_File).scenario
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise PlannerError(
            f"{str(path)!r} is not a scenario: {error}. Expected a file written by plimsoll shop --scenario."
        ) from error
    if (text := unreadable(msgspec.to_builtins(scenario))) is not None:
        raise PlannerError(f"The scenario {str(path)!r} can't be used: {text[:60]!r} contains unprintable characters.")
    return scenario
