"""Configurations put together from Keras' real names and the fields that its layers have, with values that are odd."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from fuzz_changes import VALUES

from fuzz_targets.common import corpus, written
from fuzz_targets.model_config import archive
from fuzz_targets.model_file import outcome

KIND = "model files"
STRANGE = ("os.system", "builtins.eval", "keras.utils.get_file", "mine.helper", "keras.layers.TFSMLayer", "keras_hub.X")
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("models/*.json")


def run(data: bytes) -> str:
    return outcome(written(archive(data), "model.keras"))


def mutate(_data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    fields = _fields(tuple(others))
    layers = [_layer(random, fields, number) for number in range(random.randrange(1, 6))]
    kind = random.choice(("Sequential", "Functional", "Model"))
    config: dict[str, Any] = {"name": "m", "layers": layers}
    if kind != "Sequential":
        config |= {"input_layers": [["l0", 0, 0]], "output_layers": [[f"l{len(layers) - 1}", 0, 0]]}
    tree = {"module": "keras", "class_name": kind, "config": config, "registered_name": None}
    if random.random() < 0.3:
        tree["compile_config"] = {key: _value(random, fields, 2) for key in ("optimizer", "loss", "metrics")}
    return json.dumps(tree).encode("utf-8", "surrogatepass")


@cache
def _classes() -> tuple[str, ...]:
    names = json.loads(files("planner_app.data").joinpath("keras_names.json").read_text(encoding="utf-8"))
    return tuple(names["classes"]) + STRANGE


@cache
def _fields(others: tuple[bytes, ...]) -> tuple[str, ...]:
    found: set[str] = {
        "units",
        "filters",
        "kernel_size",
        "cell",
        "cells",
        "layer",
        "function",
        "vocabulary",
        "filepath",
    }
    stack = [json.loads(other) for other in others]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            found |= value.keys()
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return tuple(sorted(found))


def _layer(random: Random, fields: tuple[str, ...], number: int, depth: int = 0) -> dict[str, Any]:
    module, _, name = random.choice(_classes()).rpartition(".")
    options = {random.choice(fields): _value(random, fields, depth) for _ in range(random.randrange(5))}
    layer = {"module": module, "class_name": name, "config": {"name": f"l{number}", **options}, "registered_name": None}
    if random.random() < 0.2:
        layer |= {random.choice(("module", "registered_name", "class_name", "name")): random.choice(VALUES)}
    if random.random() < 0.3:
        layer["inbound_nodes"] = [{"args": [_tensor(random)], "kwargs": {}}]
    return layer


def _value(random: Random, fields: tuple[str, ...], depth: int) -> Any:
    if depth < 3 and random.random() < 0.3:
        return _layer(random, fields, depth, depth + 1)
    if random.random() < 0.1:
        module, _, name = random.choice(_classes()).rpartition(".")
        return {"module": module, "class_name": "function", "config": name, "registered_name": name}
    return random.choice(VALUES)


def _tensor(random: Random) -> Any:
    history = [f"l{random.randrange(6)}", random.choice((0, 1, -1, 10**9)), 0]
    return {
        "class_name": "__keras_tensor__",
        "config": {"shape": [None, 4], "dtype": "float32", "keras_history": history},
    }
