"""Strict JSON for plans: one value, no NaN, no duplicate names, no unprintable strings."""

import json
from math import isfinite
from typing import Any

from planner_app.core.plan.plan import MOST_ENTRIES, MOST_LETTERS
from planner_app.errors import PlanError
from planner_app.foreign_text import is_plain

SHOWN = 60  # characters of the input


class _Pairs(tuple[tuple[str, Any], ...]):
    """An object as written in the file, where a name may occur twice."""


def parse_json(data: bytes) -> Any:
    """Raises a `PlanError` for any other JSON; it starts with the place if that is known."""
    try:
        value = json.loads(
            data.decode("utf-8"), parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_Pairs
        )
        return _checked(value, "")
    except PlanError:
        raise
    except UnicodeDecodeError as error:
        raise PlanError("it is not text in UTF-8") from error
    except json.JSONDecodeError as error:
        raise PlanError(f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise PlanError("it is nested too deeply for a plan") from error
    except ValueError as error:  # a number with thousands of digits
        raise PlanError("it contains a number with too many digits") from error


def at(place: str, name: str) -> str:
    """The place of a field: `devices[0].gpus`."""
    shown = json.dumps(name)[1:-1][:SHOWN]
    return f"{place}.{shown}" if place else shown


def _no_number(text: str) -> Any:
    raise PlanError(f"it contains {text}, which is not a number in JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number(text[:SHOWN])


def _checked(value: Any, place: str) -> Any:
    if isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, _Pairs):
        _check_count(value, place)
        found: dict[str, Any] = {}
        for name, each in value:
            here = at(place, name)
            if name in found:
                raise PlanError(f"{here} is given twice")
            _check_text(name, here)
            found[name] = _checked(each, here)
        return found
    elif isinstance(value, list):
        _check_count(value, place)
        return [_checked(each, f"{place}[{number}]") for number, each in enumerate(value)]
    return value


def _check_count(value: list[Any] | _Pairs, place: str) -> None:
    if len(value) > MOST_ENTRIES:
        raise PlanError(f"{place or 'the plan'}: expected at most {MOST_ENTRIES} entries, got {len(value)}")


def _check_text(text: str, place: str) -> None:
    if len(text) > MOST_LETTERS:
        raise PlanError(f"{place}: expected at most {MOST_LETTERS} characters, got {len(text)}")
    if not is_plain(text):
        shown = json.dumps(text)
        shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
        raise PlanError(f"{place}: {shown} holds characters that can't be printed")
