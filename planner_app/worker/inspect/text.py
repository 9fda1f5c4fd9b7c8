"""JSON from strangers: bounded in size, depth and number of values before it is parsed, strict while it is."""

import json
import math
import re
from typing import Any

from planner_app.worker.inspect.refusal import Refused

MAX_JSON_BYTES = 32 << 20  # of 80,000 layers, or of a million words
MAX_DEPTH = 200  # a model nested ten deep reaches about 60
MAX_VALUES = 2_000_000  # a Python object or several each: what a reader of a gigabyte can hold

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def parse_json(data: bytes, what: str) -> Any:
    """The value, or a refusal that calls it `what`."""
    if len(data) > MAX_JSON_BYTES:
        raise Refused(f"its {what} is larger than {MAX_JSON_BYTES >> 20} MiB, which no model needs")
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Refused(f"its {what} is not text. The file is damaged: save the model again") from None
    _check_depth(text, what)
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
        )
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, (_Odd, json.JSONDecodeError)) else "a number in it is too long"
        raise Refused(f"its {what} is not valid JSON: {reason}. Save the model again") from None


def parse_object(data: bytes, what: str) -> dict[str, Any]:
    value = parse_json(data, what)
    if not isinstance(value, dict):
        raise Refused(f"its {what} is a JSON {_kind(value)}, expected an object with 'class_name' and 'config'")
    return value


def _check_depth(text: str, what: str) -> None:
    """Before parsing: a parser that recurses can be made to run out of stack."""
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        raise Refused(f"its {what} holds more than {MAX_VALUES:,} values, which no model needs")
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        first = match.group()[0]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Refused(f"its {what} is nested deeper than {MAX_DEPTH} levels, which no model is")
        elif first in "]}":
            depth -= 1


class _Odd(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Odd(f"the key {twice[:80]!r} stands twice in one object, and readers differ on which counts")
    return result


def _constant(name: str) -> Any:
    raise _Odd(f"{name} is no JSON number")


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _Odd(f"the number {digits[:40]} is too large")
    return value


def _kind(value: Any) -> str:
    return {list: "array", str: "string", bool: "boolean", type(None): "null"}.get(type(value), "number")
