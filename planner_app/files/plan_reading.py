"""A plan file into a plan. Whatever is wrong with the file is a `PlanError`, one sentence; nothing in it is executed.

Standard library only, so that a training script that reads a plan imports nothing else.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from planner_app.core.plan.plan import VERSION, Plan
from planner_app.errors import PlanError
from planner_app.files.reading import read_at_most
from planner_app.files.typed import decode, parse_json

MOST_FILE_BYTES = 4 << 20  # a hundred times a plan with eight devices

# From each older version to the next: old plans stay readable for ever. Version 1 is the first.
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def read_plan(path: str | Path) -> Plan:
    """The plan in a file.

    Raises:
        PlanError: There is no such file, it is cut off, damaged, no plan, or of a newer version.
    """
    path = Path(path)
    try:
        data = read_at_most(path, MOST_FILE_BYTES)
    except OSError as error:
        raise PlanError(f"The plan {str(path)!r} can't be read: {error.strerror or 'it is not a file'}.") from error
    except ValueError as error:  # a zero in the name
        raise PlanError(f"{str(path)!r} can't be the name of a file.") from error
    return parse_plan(data, path.name)


def parse_plan(data: bytes, name: str = "the text") -> Plan:
    """The plan in the bytes of a file. `name` is how errors call it."""
    try:
        if len(data) > MOST_FILE_BYTES:
            raise PlanError(f"it has more than {MOST_FILE_BYTES} bytes, as no plan has")
        plan: Plan = decode(_upgraded(parse_json(data)), Plan)
        return plan
    except PlanError as error:
        advice = "" if str(error).endswith(".") else ". Write it again with `plimsoll plan`."
        raise PlanError(f"{name!r} is no plan that can be used: {error}{advice}") from error


def _upgraded(value: Any) -> Any:
    if not isinstance(value, dict) or "schema_version" not in value:
        raise PlanError("it does not say its schema_version")
    version = value["schema_version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PlanError("schema_version: expected a whole number above zero")
    if version > VERSION:
        raise PlanError(
            f"it has schema_version {str(version)[:20]}, and this plimsoll reads up to {VERSION}: update plimsoll, or "
            "write the plan with the plimsoll you have."
        )
    for old in range(version, VERSION):
        value = UPGRADES[old](value)
    return value
