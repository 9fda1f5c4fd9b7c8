"""What callbacks count in a run, as early stopping does: kept with a checkpoint, and given to the next process's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from planner_app.train.observe.watch import Watch

CALLBACK = "c"  # how the names of their arrays begin
# Callbacks whose numbers are restored in another way, or are of the process and not of the run.
OWN_ACCOUNT = (keras.callbacks.History, keras.callbacks.BackupAndRestore, keras.callbacks.ProgbarLogger, Watch)
TURNED = "min_delta"  # Keras turns its sign when a callback first looks at a metric, in every process
NUMBERS = "biuf"  # kinds of NumPy


def counts(callback: Any) -> dict[str, Any]:
    """Its numbers and lists of numbers; and of lists of arrays, such as the best weights, the types and shapes."""
    values, weights = {}, {}
    for name, value in _own(callback):
        value = value.item() if isinstance(value, np.generic) else value
        if _is_plain(value) or (isinstance(value, list) and all(map(_is_plain, value))):
            values[name] = value
        elif _is_weights(value):
            weights[name] = [[each.dtype.name, list(each.shape)] for each in value]
    return {"class": type(callback).__name__, "values": values, "weights": weights}


def kept_weights(callbacks: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for n, callback in enumerate(callbacks):
        for name, value in _own(callback):
            if _is_weights(value):
                yield from ((_key(n, name, m), each) for m, each in enumerate(value))


def restore_counts(callbacks: Sequence[Any], kept: Sequence[Mapping[str, Any]], arrays: Mapping[str, bytes]) -> None:
    for n, (callback, said) in enumerate(zip(callbacks, kept, strict=False)):
        if said.get("class") != type(callback).__name__:
            continue
        weights = {
            name: [_array(arrays[_key(n, name, m)], *kind) for m, kind in enumerate(kinds)]
            for name, kinds in said.get("weights", {}).items()
        }
        for name, value in {**said["values"], **weights}.items():
            if name in vars(callback):
                setattr(callback, name, value)


def _own(callback: Any) -> list[tuple[str, Any]]:
    if isinstance(callback, OWN_ACCOUNT):
        return []
    return [(name, value) for name, value in vars(callback).items() if name != TURNED]


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, type(None)))


def _is_weights(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_numbers, value))


def _is_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and (value.dtype.kind in NUMBERS or value.dtype.name == "bfloat16")


def _array(raw: bytes, dtype: str, shape: Sequence[int]) -> Any:
    return np.frombuffer(raw, dtype).reshape(shape).copy()


def _key(callback: int, name: str, number: int) -> str:
    return f"{CALLBACK}{callback}.{name}.{number}"
