"""Do the weights that lie in the file fit the model that its configuration describes? Only shapes are compared."""

from collections.abc import Mapping
from typing import Any

import keras
from keras.src.saving import saving_lib

from planner_app.core.model.description import CheckedModel

Shape = tuple[int, ...]
OF_TRAINING = ("optimizer", "metrics", "_loss_tracker")  # not weights of the model, whether saved or not


def first_difference(model: keras.Model, checked: CheckedModel) -> str | None:
    """Where file and configuration first differ, as a clause; None if they agree or nothing can be compared."""
    if not checked.weights:
        return None
    try:
        return _in_keras_file(model, checked) if checked.format == "keras" else _in_hdf5_file(model, checked)
    except Exception:  # a layer may have its own way of saving that needs values; nothing depends on this comparison
        return None


class _Shapes(saving_lib.H5IOStore):  # type: ignore[misc]  # Keras has no types
    """Where Keras believes to save a model to: only the places and shapes are kept."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}

    def __bool__(self) -> bool:
        return True

    def make(self, path: str, metadata: Any = None) -> dict[str, Any]:  # noqa: ARG002 - Keras passes it
        return self.entries.setdefault(path, {})


def _in_keras_file(model: keras.Model, checked: CheckedModel) -> str | None:
    store = _Shapes()
    saving_lib._save_state(model, weights_store=store, assets_store=None, inner_path="", visited_saveables=set())
    stored: Mapping[str, Shape] = {weight.path: weight.shape for weight in checked.weights}
    for path, entry in store.entries.items():
        if path.partition("/")[0] in OF_TRAINING:
            continue
        for key, value in entry.items():
            place = "/".join(filter(None, [path, "vars", key]))
            if place not in stored:
                return f"{place!r} is missing in the file"
            if tuple(value.shape) != stored[place]:
                return f"{place!r} has the shape {list(stored[place])}, expected {list(value.shape)}"
    return None


def _in_hdf5_file(model: keras.Model, checked: CheckedModel) -> str | None:
    """Keras 2 keeps weights by layer, and HDF5 sorts their names: a layer's shapes are compared as a heap."""
    stored: dict[str, list[Shape]] = {}
    for weight in checked.weights:
        layer = weight.path.removeprefix("model_weights/").split("/")[0]
        stored.setdefault(layer, []).append(weight.shape)
    for layer in model.layers:
        expected = sorted(tuple(v.shape) for v in layer.weights)
        found = sorted(stored.get(layer.name, []))
        if expected != found:
            return f"layer {layer.name!r} has {_listed(found)}, expected {_listed(expected)}"
    return None


def _listed(shapes: list[Shape]) -> str:
    return "weights of the shapes " + ", ".join(str(list(s)) for s in shapes[:8]) if shapes else "no weights"
