"""Reads plan files. Anything wrong with a file is a `PlanError`, a sentence that names the place
(`devices[0].gpus`) if there is one. Nothing in the file is executed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec

from planner_app.core.plan.plan import (
    VERSION,
    Adapters,
    Address,
    Date,
    Digest,
    OptimizerName,
    Plan,
    Quantization,
)
from planner_app.errors import PlanError
from planner_app.files.reading import read_at_most
from planner_app.files.strict_json import at, parse_json

MOST_FILE_BYTES = 4 << 20  # a hundred times the size of a plan with eight devices

# Upgrades from each version to the next, so that old plans stay readable.
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: lambda plan: {**plan, "schema_version": 2},  # 2 adds the terms of each peak
}

WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "an integer",
    "object": "an object",
    "str": "a string",
}
WRITTEN = (Adapters, Address, Date, Digest, OptimizerName, Quantization)
EXAMPLES = {meta.pattern: meta.examples[0] for _, meta in map(get_args, WRITTEN)}


def read_plan(path: str | Path) -> Plan:
    """The plan in a file.

    Raises:
        PlanError: The file is missing, truncated, damaged, not a plan, or of a newer version.
    """
    path = Path(path)
    try:
        data = read_at_most(path, MOST_FILE_BYTES)
    except OSError as error:
        raise PlanError(f"The plan {str(path)!r} can't be read: {error.strerror or 'it is not a file'}.") from error
    except ValueError as error:  # a null character in the name
        raise PlanError(f"{str(path)!r} is not a valid file name.") from error
    return parse_plan(data, path.name)


def parse_plan(data: bytes, name: str = "the text") -> Plan:
    """The plan in the bytes of a file. Errors call it `name`."""
    try:
        return plan_in(data)
    except PlanError as error:
        advice = "" if str(error).endswith(".") else ". Write it again with `plimsoll plan`."
        raise PlanError(f"{name!r} is not a plan that can be used: {error}{advice}") from error


def plan_in(data: bytes) -> Plan:
    """The plan, or a `PlanError` that is a clause: what is wrong, and where."""
    if len(data) > MOST_FILE_BYTES:
        raise PlanError(f"it has more than {MOST_FILE_BYTES} bytes, too many for a plan")
    return _decoded(_upgraded(parse_json(data)))


def _upgraded(value: Any) -> Any:
    if not isinstance(value, dict) or "schema_version" not in value:
        raise PlanError("it has no schema_version")
    version = value["schema_version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PlanError("schema_version: expected a positive integer")
    if version > VERSION:
        raise PlanError(
            f"it has schema_version {str(version)[:20]}, but this plimsoll reads up to {VERSION}: update plimsoll, or "
            "write the plan again with this version."
        )
    for old in range(version, VERSION):
        value = UPGRADES[old](value)
    return value


def _decoded(value: Any) -> Plan:
    try:
        plan = msgspec.convert(value, Plan)
    except msgspec.ValidationError as error:
        raise PlanError(_sentence(str(error))) from error
    _check_names(value, msgspec.to_builtins(plan), "")
    return plan


def _check_names(given: Any, known: Any, place: str) -> None:
    """A name that decoding has dropped is unknown."""
    if isinstance(given, dict):
        for name, each in given.items():
            if name not in known:
                raise PlanError(f"{at(place, name)}: unknown field, expected one of {', '.join(known)}")
            _check_names(each, known[name], at(place, name))
    elif isinstance(given, list):
        for number, (each, read) in enumerate(zip(given, known, strict=True)):
            _check_names(each, read, f"{place}[{number}]")


def _sentence(error: str) -> str:
    """msgspec's error in our own words: "devices[0].gpus: expected an integer, got a string"."""
    found = re.fullmatch(r"(?s)(?P<said>.*?)(?: - at `\$\.?(?P<place>[^`]*)`)?", error)
    said, place = (found["said"], found["place"] or "") if found else (error, "")
    place = place.replace("[...]", "")  # a table, whose names are the user's
    if missing := re.fullmatch("Object missing required field `(.*)`", said):
        return f"{at(place, missing[1])} is missing"
    if said.startswith("Expected `str` matching regex"):
        said = f"expected a string such as {next(text for regex, text in EXAMPLES.items() if repr(regex) in said)}"
    elif said.startswith("Expected `"):
        said = re.sub(r"`([^`]*)`", lambda match: " or ".join(WORDS.get(w, w) for w in match[1].split(" | ")), said)
        said = f"e{said[1:]}"
    elif said.startswith("Invalid enum value"):
        said = (
            f"{said.removeprefix('Invalid enum value ')} is not one of the values that `plimsoll plan --schema` lists"
        )
    return f"{place}: {said}" if place else said
