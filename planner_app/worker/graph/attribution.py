"""Whose operation, whose variable: the layer, the phase and the role behind a name in the graph."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import keras

from planner_app.core.model.trace import Phase, Role
from planner_app.worker.training.optimizers import optimizers_of
from planner_app.worker.training.replicas import SCOPE as REDUCTION

GRADIENTS = "gradient_tape/"
LOSS = "compile_loss"  # the scope that Keras opens for it
NUMBERED = re.compile(r"_\d+$")


class Attribution:
    """Reads name scopes: Keras opens one for each layer, the gradient tape one around its own."""

    def __init__(self, model: keras.Model) -> None:
        named = _paths(model)
        self.layers = tuple((path, kind) for path, kind in named.values())
        self._layers = {name: path for name, (path, _) in named.items()}
        self._last = _output_layer(model)
        optimizers = optimizers_of(model)
        self._updater = str(optimizers[0].name) if optimizers else ""
        inner = [o.inner_optimizer for o in optimizers if getattr(o, "inner_optimizer", None)]
        self._updates = {f"{optimizer.name}/" for optimizer in (*optimizers, *inner)}
        self._trainable = {id(v.value) for v in model.trainable_variables}
        self._frozen = {id(v.value) for v in model.non_trainable_variables}
        slots_of = [v for optimizer in optimizers for v in optimizer.variables]
        self._optimizer = {id(v.value) for v in slots_of}
        self._owner = {id(v.value): path for path, v in _owned(model, self._layers)}
        slots = {v.path.replace("/", "_"): self._owner.get(id(v.value), "") for v in model.trainable_variables}
        for variable in slots_of:
            self._owner[id(variable.value)] = _slot_owner(variable.path, slots)

    def phase(self, name: str) -> Phase:
        if name.startswith(f"{REDUCTION}/"):
            return Phase.UPDATE
        if any(scope in name for scope in self._updates):
            return Phase.UPDATE
        if GRADIENTS in name or name.split("/")[-1].startswith("AddN"):
            return Phase.BACKWARD
        return Phase.FORWARD

    def layer(self, name: str) -> str:
        """The innermost scope that is a layer's name, with a number behind it.

        Keras opens each scope twice, so that "conv2d_1" is the scope of "conv2d", and "conv2d_1_2" that of "conv2d_1".
        """
        for part in reversed(name.split("/")[:-1]):
            path = self._layers.get(NUMBERED.sub("", part)) or self._layers.get(part)
            if path:
                return path
        return ""

    def layer_or_part(self, name: str) -> str:
        """The layer; of the loss, the layer whose output it is of; of an update, the optimizer."""
        found = self.layer(name)
        if found or not name:
            return found
        if LOSS in name.split("/"):
            return self._last
        return self._updater if self.phase(name) is Phase.UPDATE else ""

    def role(self, variable: Any) -> Role:
        if id(variable) in self._trainable:
            return Role.WEIGHT
        if id(variable) in self._optimizer:
            return Role.OPTIMIZER
        return Role.FROZEN if id(variable) in self._frozen else Role.METRIC

    def owner(self, variable: Any) -> str:
        return self._owner.get(id(variable), "")


def _output_layer(model: keras.Model) -> str:
    """The first output's; of a model without outputs of its own, the last one."""
    history = getattr((getattr(model, "outputs", None) or [None])[0], "_keras_history", None)
    layers = model.layers
    return str(history.operation.name if history is not None else layers[-1].name if layers else model.name)


def _paths(model: keras.Model, prefix: str = "") -> dict[str, tuple[str, str]]:
    """Layer names, each with the path that leads to it through nested models, and its class."""
    paths: dict[str, tuple[str, str]] = {}
    for layer in model.layers:
        path = f"{prefix}{layer.name}"
        if isinstance(layer, keras.Model):
            for name, entry in _paths(layer, f"{path}/").items():
                paths.setdefault(name, entry)
        else:
            paths.setdefault(layer.name, (path, type(layer).__name__))
    return paths


def _owned(model: keras.Model, paths: dict[str, str]) -> Iterable[tuple[str, Any]]:
    for layer in model._flatten_layers(include_self=False):
        path = paths.get(layer.name)
        if path:
            for variable in layer.variables:
                yield path, variable


def _slot_owner(path: str, slots: dict[str, str]) -> str:
    """A slot is called after its variable: "adam/dense_kernel_momentum"."""
    name = path.partition("/")[2]
    while name:
        if name in slots:
            return slots[name]
        name = name.rpartition("_")[0]
    return ""
