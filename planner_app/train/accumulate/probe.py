"""What of a model's loss can be put together from shares of a batch, found out with three samples before training.

A loss over three samples is held against the same loss over the first one and over the other two, and over the first
two and the last. A mean is the mean of the parts, a sum their sum, both times: once may be chance. What is neither
compares samples with one another: no accumulation can give the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from planner_app.errors import PlanError
from planner_app.train.accumulate.gradients import Catcher
from planner_app.train.accumulate.ledger import Ledger, Sums, installed, keeping
from planner_app.train.accumulate.steps import forward, has_own_loss, has_own_step, without_effect
from planner_app.train.building import own_optimizers
from planner_app.train.data.shares import cut, size_of
from planner_app.train.notes import note

SAMPLES = 3
ONE_SHARE = "Plan a batch that fits at once, on one device."
CLOSE = 1e-3  # relative: float32 and bfloat16 differ in the order of adding up by less, a mean and a sum by far more


@dataclass(frozen=True, slots=True)
class Loss:
    """The parts of the loss of some samples."""

    sums: list[float]
    is_scalar: list[bool]
    additional: list[float]
    own: float | None


@dataclass(frozen=True, slots=True)
class Parts:
    """A loss over all samples, over the first of them and over the others; `part` of the samples are the first."""

    whole: float
    first: float
    rest: float
    part: float

    @property
    def is_mean(self) -> bool:
        return self._is_close(self.part * self.first + (1 - self.part) * self.rest)

    @property
    def is_sum(self) -> bool:
        return self._is_close(self.first + self.rest)

    def _is_close(self, expected: float) -> bool:
        return abs(self.whole - expected) <= CLOSE * max(abs(self.whole), abs(self.first), abs(self.rest))


class LossKinds:
    """What is known of a model's loss. Found out when a batch is first cut into shares; its limits are said once.

    Attributes:
        sums: Which parts of it are sums; nothing until it was tried out.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.sums = Sums()
        self._sample: Any = None
        self._is_known = False
        self._across: list[str] = []
        self._said: set[str] = set()

    def keep_sample(self, batch: Any) -> None:
        """To try the loss out with, should that be needed."""
        self._sample = cut(batch, 0, SAMPLES)

    def find(self) -> None:
        if self._is_known or self._sample is None:
            return
        self._is_known = True
        try:
            self.sums, self._across = probe(self._model, self._sample)
        except Exception as error:  # the model's own code, asked for three samples where it may expect a batch
            note(
                f"What the loss is made of could not be tried out ({type(error).__name__}: {str(error)[:200]}): what "
                "the model adds to it by itself counts as a mean over samples."
            )

    def say_limits(self, at_once: int, whole: int, devices: int) -> None:
        """What can't be the same over shares; nothing before the loss was tried out."""
        if not self._is_known:
            return
        for what, sentence in limits(self._model, self._across, at_once, whole, devices).items():
            if what not in self._said:
                self._said.add(what)
                note(sentence)


def probe(model: Any, batch: Any) -> tuple[Sums, list[str]]:
    """Which losses are sums over samples, and a sentence for each that is neither that nor a mean."""
    count = min(SAMPLES, size_of(batch))
    if count < 2:
        return Sums(), []
    training = not list(normalisations(model)) and not _is_random(model)
    whole = _loss(model, cut(batch, 0, count), training)
    halves = [
        (first / count, _loss(model, cut(batch, 0, first), training), _loss(model, cut(batch, first, count), training))
        for first in range(1, count)
    ]
    scalars, additional, across = set(), set(), []
    for n, value in enumerate(whole.sums):
        parts = [Parts(value, first.sums[n], rest.sums[n], part) for part, first, rest in halves]
        is_sum, is_mean = all(each.is_sum for each in parts), all(each.is_mean for each in parts)
        if is_sum and not (whole.is_scalar[n] and is_mean):
            scalars.add(n)  # what is not a number for all samples is a sum anyway
        elif not whole.is_scalar[n] or not is_mean:
            across.append(f"The loss {_name(model, n)!r}")
    for n, value in enumerate(whole.additional):
        kind = _kind([Parts(value, first.additional[n], rest.additional[n], part) for part, first, rest in halves])
        if kind == "sum":
            additional.add(n)
        elif kind == "neither":
            across.append(_added(model))
    own = False
    if whole.own is not None:
        kind = _kind([Parts(whole.own, first.own or 0.0, rest.own or 0.0, part) for part, first, rest in halves])
        own = kind == "sum"
        if kind == "neither":
            across.append(f"compute_loss of {type(model).__name__}")
    return Sums(frozenset(scalars), frozenset(additional), own), list(dict.fromkeys(across))


def check_shareable(model: Any) -> None:
    """
    Raises:
        PlanError: Shares of a batch can't be put together again, whatever its loss is.
    """
    stateful = [layer.name for layer in model._flatten_layers(include_self=False) if getattr(layer, "stateful", False)]
    if stateful:
        raise PlanError(
            f"{', '.join(stateful[:3])} is stateful: it carries what it has seen from one batch to the next, sample by "
            f"sample, which shares of a batch would mix up. {ONE_SHARE}"
        )
    own = list(own_optimizers(model))
    if own:
        raise PlanError(
            f"{type(model).__name__} has its own train_step and optimizers of its own ({', '.join(own[:3])}): the "
            f"updates of shares can't be put together to those of a batch. {ONE_SHARE}"
        )


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


def limits(model: Any, across: Sequence[str], at_once: int, whole: int, devices: int) -> dict[str, str]:
    """What accumulation or several devices can't do the same as one batch: a sentence each, with what is possible."""
    said: dict[str, str] = {}
    layers = normalisations(model)
    exact_on_devices = at_once * devices >= whole and synchronised(model)
    if layers and not exact_on_devices:
        names = ", ".join(layers[:5]) + (f" and {len(layers) - 5} more" if len(layers) > 5 else "")
        devices_advice = ", or set synchronized=True" if devices > 1 and at_once * devices >= whole else ""
        said["batch normalisation"] = (
            f"Batch normalisation ({names}) takes its statistics over the {at_once} samples it sees at once, not over "
            f"the batch of {whole}: the result is not exactly that of one batch. Layer or group normalisation gives "
            f"the same, and so do frozen layers (trainable=False){devices_advice}."
        )
    for what in across:
        said[what] = (
            f"{what} compares samples with one another: over shares of {at_once} it is not the loss of a batch of "
            f"{whole}. To keep it as it is, plan a batch that fits at once on one device."
        )
    if has_own_step(model):
        said["own step"] = (
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


def _kind(parts: Sequence[Parts]) -> str:
    """What is zero throughout counts as a mean."""
    if all(each.is_mean for each in parts):
        return "mean"
    return "sum" if all(each.is_sum for each in parts) else "neither"


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
