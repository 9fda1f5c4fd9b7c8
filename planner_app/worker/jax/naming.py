"""Whose operation, whose variable: Keras opens one of JAX' name scopes for each layer."""

from __future__ import annotations

import re
from collections.abc import Iterable

import keras

from planner_app.core.model.trace import Phase

TRANSFORMATIONS = "jit pjit jvp transpose vmap checkpoint remat rematted_computation custom_jvp custom_vjp".split()
WRAPPERS = re.compile(rf"\b(?:{'|'.join(TRANSFORMATIONS)})\(|\)")
STEP = "jit(train_step)"


class Names:
    """Of one model: layers by the last part of their path, and the owners of variables."""

    def __init__(self, model: keras.Model) -> None:
        layers = [layer for layer in model._flatten_layers(include_self=False) if layer.path or layer.name]
        self.layers = tuple((str(layer.path or layer.name), type(layer).__name__) for layer in layers)
        self._by_name = {path.rpartition("/")[2]: path for path, _ in self.layers}
        self._owners = {
            variable.path: str(layer.path or layer.name)
            for layer in layers
            for variable in (*layer._trainable_variables, *layer._non_trainable_variables)
        }

    def owner(self, path: str) -> str:
        return self._owners.get(path, "")

    def layer(self, operation: str) -> str:
        """The innermost scope that is a layer's name."""
        for scope in reversed(WRAPPERS.sub("", operation).split("/")[:-1]):
            if scope in self._by_name:
                return self._by_name[scope]
        return ""

    def of(self, operations: Iterable[str]) -> dict[str, str]:
        return {name: layer for name in operations if (layer := self.layer(name))}


def phase(operation: str) -> Phase:
    """What is differentiated is the forward pass, and its transpose the backward pass; the rest updates."""
    if "transpose(" in operation:
        return Phase.BACKWARD
    return Phase.FORWARD if "jvp(" in operation else Phase.UPDATE
