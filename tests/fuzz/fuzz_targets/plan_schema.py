"""Plans made from their published schema: what it allows, at the edges, and a step beyond."""

import json
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from fuzz_changes import VALUES

from fuzz_targets.common import corpus
from fuzz_targets.plan import run
from planner_app.files.plans import schema_text

KIND = "plans"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("plan/*.json")


def mutate(data: bytes, random: Random, _others: Sequence[bytes] = ()) -> bytes:
    """A plan in which parts are made anew from the schema; most stay within it."""
    plan = json.loads(data)
    schema = _schema()
    for name in random.sample(sorted(schema["properties"]), random.randrange(1, 5)):
        plan[name] = _made(schema["properties"][name], random, plan.get(name))
    return json.dumps(plan).encode("utf-8", "surrogatepass")


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(schema_text())
    return schema


def _made(kind: Any, random: Random, sound: Any) -> Any:
    if random.random() < 0.03:
        return random.choice(VALUES)
    if not isinstance(kind, dict):
        return sound
    if "$ref" in kind:
        return _made(_schema()["$defs"][kind["$ref"].rpartition("/")[2]], random, sound)
    if "const" in kind:
        return kind["const"]
    if "enum" in kind:
        return random.choice(kind["enum"])
    for several in ("anyOf", "oneOf"):
        if several in kind:
            return _made(random.choice(kind[several]), random, sound)
    match kind.get("type"):
        case "object":
            sound = sound if isinstance(sound, dict) else {}
            named = {name: _made(each, random, sound.get(name)) for name, each in kind.get("properties", {}).items()}
            needed = set(kind.get("required", ()))
            return {**sound, **{name: each for name, each in named.items() if name in needed or random.random() < 0.5}}
        case "array":
            length = random.choice((0, 1, 1, 2, kind.get("maxItems", 3) + random.randrange(2)))
            item = sound[0] if isinstance(sound, list) and sound else None
            return [_made(kind.get("items", {}), random, item) for _ in range(min(length, 20))]
        case "integer" | "number":
            edges = (kind.get("minimum", 0), kind.get("maximum", 2**63))
            return random.choice((*edges, edges[0] - 1, edges[1] + 1, sound if isinstance(sound, int) else 1))
        case "boolean":
            return random.random() < 0.5
        case "string":
            return random.choice((sound if isinstance(sound, str) else "x", "", "\u202e", *kind.get("examples", ["x"])))
    return sound
