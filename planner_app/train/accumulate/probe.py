"""What of a model's loss can be put together from shares of a batch, found out with three samples before training.

A loss over three samples is held against the same loss over the first one and over the other two. A mean is the mean of
the parts, a sum their sum. What is neither compares samples with one another: no accumulation can give the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from planner_app.train.accumulate.gradients import Catcher
from planner_app.train.accumulate.ledger import Ledger, Sums, installed, keeping
from planner_app.train.accumulate.steps import forward, has_own_loss, has_own_step, without_effect
from planner_app.train.data.shares import cut, size_of

SAMPLES = 3
FIRST = 1  # samples of the first part: the parts must differ in size, or a mean can't be told from half a sum
CLOSE = 1e-3  # relative: float32 and bfloat16 differ in the order of adding up by less, a mean and a sum by far more


@dataclass(frozen=True, slots=True)
class Loss:
    """The parts of the loss of some samples."""

    sums: list[float]
    is_scalar: list[bool]
    additional: list[float]
    own: float | None


def probe(model: Any, batch: Any) -> tuple[Sums, list[str]]:
    """Which losses are sums over samples, and a sentence for each that is neither that nor a mean."""
    count = min(SAMPLES, size_of(batch))
    if count < 2:
        return Sums(), []
    training = not list(normalisations(model)) and not _is_random(model)
    pieces = [(0, count), (0, FIRST), (FIRST, count)]
    found = [_loss(model, cut(batch, start, stop), training) for start, stop in pieces]
    part = FIRST / count
    whole, first, rest = found
    scalars, additional, across = set(), set(), []
    for n, values in enumerate(zip(whole.sums, first.sums, rest.sums, strict=True)):
        if _is_sum(*values) and not (whole.is_scalar[n] and _is_mean(*values, part)):
            scalars.add(n)  # what is not a number for all samples is a sum anyway
        elif not whole.is_scalar[n] or not _is_mean(*values, part):
            across.append(f"The loss {_name(model, n)!r}")
    for n, values in enumerate(zip(whole.additional, first.additional, rest.additional, strict=True)):
        kind = _kind(values, part)
        if kind == "sum":
            additional.add(n)
        elif kind == "neither":
            across.append(_added(model))
    own = False
    if whole.own is not None and first.own is not None and rest.own is not None:
        kind = _kind((whole.own, first.own, rest.own), part)
        own = kind == "sum"
        if kind == "neither":
            across.append(f"compute_loss of {type(model).__name__}")
    return Sums(frozenset(scalars), frozenset(additional), own), list(dict.fromkeys(across))


def normalisations(model: Any) -> list[str]:
    """Layers that take statistics over the samples they see at once, while training."""
    return [
        layer.name
        for layer in model._flatten_layers(include_self=False)
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
    ]


def synchronised(model: Any) -> bool:
    """Whether all of them do so over all devices."""
    return all(
        layer.synchronized
        for layer in model._flatten_layers(include_self=False)
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
    )


def limits(model: Any, across: Sequence[str], at_once: int, whole: int, devices: int) -> list[str]:
    """What accumulation or several devices can't do the same as one batch: a sentence each, with what is possible."""
    said = []
    layers = normalisations(model)
    exact_on_devices = at_once * devices >= whole and synchronised(model)
    if layers and not exact_on_devices:
        names = ", ".join(layers[:5]) + (f" and {len(layers) - 5} more" if len(layers) > 5 else "")
        devices_advice = ", or set synchronized=True" if devices > 1 and at_once * devices >= whole else ""
        said.append(
            f"Batch normalisation ({names}) takes its statistics over the {at_once} samples it sees at once, not over "
            f"the batch of {whole}: the result is not exactly that of one batch. Layer or group normalisation gives "
            f"the same, and so do frozen layers (trainable=False){devices_advice}."
        )
    said += [
        f"{what} compares samples with one another: over shares of {at_once} it is not the loss of a batch of {whole}. "
        "To keep it as it is, plan a batch that fits at once on one device."
        for what in across
    ]
    if has_own_step(model):
        said.append(
            f"{type(model).__name__} has its own train_step: what it computes without keras.losses counts as a mean "
            "over its samples."
        )
    return said


def _loss(model: Any, data: Any, training: bool) -> Loss:
    catcher = Catcher(model.optimizer)
    with installed(), keeping(Ledger()) as ledger, without_effect(model):
        if has_own_step(model) and training:
            with catcher.installed():
                forward(model, data, training, catcher)
            total = None
        else:
            total = forward(model, data, training)
    own = None
    if has_own_loss(model) and total is not None and not isinstance(total, dict):
        known = 0.0 if ledger.keras_loss is None else float(tf.reduce_sum(ledger.keras_loss))
        own = float(tf.reduce_sum(total)) - known
    return Loss(
        [float(each) for each in ledger.sums], ledger.is_scalar, [float(each) for each in ledger.additional], own
    )


def _kind(values: tuple[float, float, float], part: float) -> str:
    """Of a loss over all samples, over the first and over the others. What is zero throughout counts as a mean."""
    return "mean" if _is_mean(*values, part) else "sum" if _is_sum(*values) else "neither"


def _is_mean(whole: float, first: float, rest: float, part: float) -> bool:
    return abs(whole - (part * first + (1 - part) * rest)) <= CLOSE * max(abs(whole), abs(first), abs(rest))


def _is_sum(whole: float, first: float, rest: float) -> bool:
    return abs(whole - (first + rest)) <= CLOSE * max(abs(whole), abs(first), abs(rest))


def _is_random(model: Any) -> bool:
    """Dropout and the like draw other numbers for other samples: such a model is asked as it predicts."""
    return any(layer._seed_generators for layer in model._flatten_layers())


def _name(model: Any, number: int) -> str:
    flat = getattr(getattr(model, "_compile_loss", None), "_flat_losses", None) or ()
    return str(flat[number].loss.name) if number < len(flat) else f"number {number}"


def _added(model: Any) -> str:
    """Whose add_loss it is: the layers that have added one."""
    names = [layer.name for layer in model._flatten_layers() if layer._loss_ids or layer._losses]
    return f"What {', '.join(names[:3]) or type(model).__name__} adds with add_loss"
