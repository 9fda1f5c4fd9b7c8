"""Plan files: written whole or not at all, readable without our package."""

import json
from dataclasses import asdict
from pathlib import Path

from planner_app import data
from planner_app.core.plan.plan import Plan
from planner_app.errors import PlanError
from planner_app.files.plan_reading import parse_plan, plan_in, read_plan
from planner_app.files.writing import reason, write_atomically

__all__ = ["SCHEMA_FILE", "parse_plan", "plan_text", "read_plan", "schema_text", "write_plan"]

SCHEMA_FILE = data.FOLDER / "plan.schema.json"


def write_plan(path: str | Path, plan: Plan) -> None:
    """Written atomically: the file has either its old or its new content."""
    path, data = Path(path), plan_text(plan).encode()
    try:
        plan_in(data)
    except PlanError as error:  # a file name with an escape sequence, say
        raise PlanError(
            f"The plan can't be written, since nobody could read it: {error}. Rename what is called that, and plan "
            "again."
        ) from error
    try:
        write_atomically(path, data, private=True)
    except OSError as error:
        raise PlanError(
            f"The plan can't be written to {str(path)!r}: {reason(error)}. Name a file in a folder you may write to."
        ) from error


def plan_text(plan: Plan) -> str:
    return json.dumps(asdict(plan), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def schema_text() -> str:
    """The JSON Schema (2020-12) of the newest version."""
    return SCHEMA_FILE.read_text(encoding="utf-8")
