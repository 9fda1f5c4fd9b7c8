"""JSON into frozen values, checked field by field. What is wrong is said with its place, `devices[0].gpus`.

Standard library only, so that a training script that reads a plan imports nothing else.
"""

import json
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from math import isfinite
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from planner_app.core.plan.plan import MOST_ENTRIES, MOST_LETTERS, Pattern, Range
from planner_app.errors import PlanError
from planner_app.foreign_text import is_plain

JSON_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a whole number"}
SHOWN = 60  # letters of what came in


def parse_json(data: bytes) -> Any:
    """Strict: one value, no NaN, no name twice in one object. Anything else is a `PlanError` without a place."""
    try:
        return json.loads(
            data.decode("utf-8"), parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_object
        )
    except UnicodeDecodeError as error:
        raise PlanError("it is no text in UTF-8") from error
    except json.JSONDecodeError as error:
        raise PlanError(f"it is no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise PlanError("it is nested deeper than any plan") from error
    except ValueError as error:  # a number with thousands of digits
        raise PlanError("it holds a number that is none") from error


def _no_number(text: str) -> Any:
    raise PlanError(f"it holds {text}, which is no number in JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number(text[:SHOWN])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise PlanError(f"it says {twice[:SHOWN]!r} twice")
    return found


def decode(value: Any, kind: Any, place: str = "") -> Any:
    """A value of the annotated type, or a `PlanError` that says where and what was expected."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _limited(decode(value, arguments[0], place), arguments[1], place)
    if origin in (types.UnionType, Union):
        return _either(value, arguments, place)
    if origin is tuple:
        return _tuple(value, arguments, place)
    if origin is Mapping:
        named = _expect(value, dict, place)
        _few(named, place)
        return {_text(key, place): decode(each, arguments[1], _at(place, key)) for key, each in named.items()}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _choice(value, kind, place)
    if is_dataclass(kind):
        return _fields(_expect(value, dict, place), kind, place)
    if kind is float:
        return float(_expect(value, float, place))
    return _text(value, place) if kind is str else _expect(value, kind, place)


def _fields(value: dict[str, Any], kind: Any, place: str) -> Any:
    known = {each.name: each for each in fields(kind)}
    for name in value:
        if name not in known:
            raise PlanError(f"{_at(place, name)}: expected no such field, only {', '.join(known)}")
    types_ = _types(kind)
    decoded = {}
    for name, each in known.items():
        if name in value:
            decoded[name] = decode(value[name], types_[name], _at(place, name))
        elif _required(each):
            raise PlanError(f"{_at(place, name)} is missing")
    try:
        return kind(**decoded)
    except PlanError as error:
        raise PlanError(f"{place}: {error}" if place else str(error)) from error


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _required(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _either(value: Any, kinds: tuple[Any, ...], place: str) -> Any:
    """Of a union of plain types, the one the value has; `X | None` is an X where it is not null."""
    if value is None and types.NoneType in kinds:
        return None
    rest = [kind for kind in kinds if kind is not types.NoneType]
    if len(rest) == 1:
        return decode(value, rest[0], place)
    if type(value) not in rest:
        names = ", ".join(JSON_NAMES.get(kind, "a number") for kind in rest)
        raise PlanError(f"{place}: expected one of {names}, got {_shown(value)}")
    return _text(value, place) if isinstance(value, str) else value


def _tuple(value: Any, arguments: tuple[Any, ...], place: str) -> tuple[Any, ...]:
    given = _expect(value, list, place)
    _few(given, place)
    if arguments[-1] is Ellipsis:
        kinds = (arguments[0],) * len(given)
    elif len(given) != len(arguments):
        raise PlanError(f"{place}: expected {len(arguments)} values, got {len(given)}")
    else:
        kinds = arguments
    return tuple(decode(each, kind, f"{place}[{n}]") for n, (each, kind) in enumerate(zip(given, kinds, strict=True)))


def _choice(value: Any, kind: type[StrEnum], place: str) -> StrEnum:
    text = _expect(value, str, place)
    try:
        return kind(text)
    except ValueError as error:
        known = ", ".join(f'"{each}"' for each in kind)
        raise PlanError(f"{place}: expected one of {known}, got {_shown(value)}") from error


def _limited(value: Any, limit: Range | Pattern, place: str) -> Any:
    if isinstance(limit, Range):
        if not limit.least <= value <= limit.most:
            raise PlanError(f"{place}: expected a number from {limit.least} to {limit.most}, got {_shown(value)}")
    elif not re.fullmatch(limit.pattern, value, re.ASCII):
        raise PlanError(f"{place}: expected a text such as {limit.example}, got {_shown(value)}")
    return value


def _text(value: Any, place: str) -> str:
    text = str(_expect(value, str, place))
    if len(text) > MOST_LETTERS:
        raise PlanError(f"{place}: {len(text)} letters are more than any text of a plan has")
    if not is_plain(text):
        raise PlanError(f"{place}: {_shown(text)} holds characters that can't be printed")
    return text


def _expect(value: Any, kind: Any, place: str) -> Any:
    fine = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if kind is float:
        fine = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fine:
        expected = JSON_NAMES.get(kind, "a number")
        raise PlanError(f"{place or 'the plan'}: expected {expected}, got {_shown(value)}")
    return value


def _few(value: Any, place: str) -> None:
    if len(value) > MOST_ENTRIES:
        raise PlanError(f"{place}: {len(value)} entries are more than any plan has")


def _shown(value: Any) -> str:
    """What came in, as JSON and not too long."""
    text = f"{str(value)[:SHOWN]}" if isinstance(value, int) else json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _at(place: str, name: str) -> str:
    shown = json.dumps(name)[1:-1][:SHOWN]
    return f"{place}.{shown}" if place else shown
