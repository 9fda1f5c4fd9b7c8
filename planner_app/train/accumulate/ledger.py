"""Losses of shares that add up to the loss of the whole batch.

A Keras loss is a sum over samples divided by something that only the whole batch knows: its elements, the valid entries
of its mask, or the sum of its sample weights. A share divides by its own, so the mean of its shares is not the batch's
loss. Here every loss of a share is divided by what the *whole* batch divides by:

    count    a forward pass of each share finds what its losses would divide by; TensorFlow leaves out of it whatever
             the answer does not need, which is nearly everything
    share    every loss is its sum / (the whole batch's divisor x the share's part of the samples)

so that the shares' losses, weighted by their samples, sum to the loss of the batch; and so do their gradients.

What goes through `keras.Loss` is exact by construction. What a model adds itself (`add_loss`, activity regularizers, a
`compute_loss` of its own) is a mean over samples or a sum; which of them, `probe` finds out.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.losses import loss as losses
from keras.src.trainers.compile_utils import CompileLoss
from keras.src.trainers.trainer import Trainer

MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")


@dataclass(frozen=True, slots=True)
class Sums:
    """Which losses are sums over samples; all others are means, or do not depend on samples.

    Attributes:
        scalars: Of the calls of `keras.Loss`, those that return one number for all samples.
        additional: Of what `model.losses` holds.
        own: What the model's own `compute_loss` adds by itself.
    """

    scalars: frozenset[int] = frozenset()
    additional: frozenset[int] = frozenset()
    own: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a metric gave in a step. `key` says which part of it, where it gives several by name."""

    metric: Any
    key: str | None
    value: Any

    def now(self) -> Any:
        result = self.metric.result()
        return result if self.key is None else result[self.key]


@dataclass(slots=True)
class Ledger:
    """What the losses of one share must know, and what they say.

    Attributes:
        weight: The share's part of the batch's samples; None while the share counts as a whole batch.
        divisors: What each loss of the whole batch divides by, in the order of their calls.
        counted: What each loss of this share divides by.
        needs_data: Whether a divisor depends on the data, not on their shapes alone.
        sums: The sum over samples of each loss, or its only number.
        is_scalar: Which of them are only a number.
        results: What metrics gave as their results.
    """

    weight: Any = None
    divisors: Sequence[Any] | None = None
    kinds: Sums = Sums()
    loss_tracker: Any = None
    output_trackers: Sequence[Any] = ()
    counted: list[Any] = field(default_factory=list)
    sums: list[Any] = field(default_factory=list)
    is_scalar: list[bool] = field(default_factory=list)
    additional: list[Any] = field(default_factory=list)
    keras_loss: Any = None
    needs_data: bool = False
    results: list[Result] = field(default_factory=list)

    def as_sum(self, value: Any) -> Any:
        """A sum over the share's samples, so that weighting by samples gives the sum over the batch's."""
        return value if self.weight is None else keras.ops.divide_no_nan(value, self._weight(value))

    def as_part(self, total: Any, divisor: Any) -> Any:
        if self.divisors is None or self.weight is None:
            return keras.ops.divide_no_nan(total, divisor)
        whole = keras.ops.cast(self.divisors[len(self.counted) - 1], total.dtype)
        return keras.ops.divide_no_nan(total, whole * self._weight(total))

    def _weight(self, like: Any) -> Any:
        return keras.ops.cast(self.weight, like.dtype)


_active = threading.local()  # every replica is traced in a thread of its own, and they take turns


def active() -> Ledger | None:
    return getattr(_active, "ledger", None)


@contextmanager
def keeping(ledger: Ledger) -> Iterator[Ledger]:
    """In the thread of a replica: losses and metrics ask and tell this ledger."""
    before, _active.ledger = active(), ledger
    try:
        yield ledger
    finally:
        _active.ledger = before


@contextmanager
def at_once(output_trackers: Sequence[Any]) -> Iterator[None]:
    """In the thread of a replica that trains a whole batch: the loss of an output counts once for each batch.

    So it does in Keras, where the size of a batch is not known while a step is traced. Here it is.
    """
    _active.at_once = output_trackers
    try:
        yield
    finally:
        _active.at_once = ()


@contextmanager
def installed() -> Iterator[None]:
    """Around what is traced: Keras' reductions look for a ledger."""
    places: list[tuple[Any, str, Any]] = [
        (losses, "reduce_weighted_values", _reduce),
        (losses, "scale_loss_for_distribution", _unless_active(losses.scale_loss_for_distribution)),
        (losses, "unscale_loss_for_distribution", _unless_active(losses.unscale_loss_for_distribution)),
        (CompileLoss, "call", _call_losses),
        (TensorFlowTrainer, "_aggregate_additional_loss", _additional),
        (Trainer, "compute_loss", _compute_loss),
        (keras.metrics.Mean, "update_state", _update_mean),
    ]
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in places]
    for owner, name, new in places:
        setattr(owner, name, new)
    try:
        yield
    finally:
        for owner, name, old in before:
            setattr(owner, name, old)


_reduce_weighted_values = losses.reduce_weighted_values
_keras_call_losses = CompileLoss.call
_aggregate = TensorFlowTrainer._aggregate_additional_loss
_keras_compute_loss = Trainer.compute_loss
_keras_update_mean = keras.metrics.Mean.update_state


def _unless_active(scale: Any) -> Any:
    """Several devices are shares like others: nothing more is scaled for them."""
    return lambda value: value if active() is not None else scale(value)


def _reduce(
    values: Any,
    sample_weight: Any = None,
    mask: Any = None,
    reduction: str | None = "sum_over_batch_size",
    dtype: Any = None,
) -> Any:
    ledger = active()
    if ledger is None:
        return _reduce_weighted_values(values, sample_weight, mask, reduction, dtype)
    ops = keras.ops
    reduction = losses.standardize_reduction(reduction)
    values = ops.convert_to_tensor(values, dtype=dtype)
    one = ops.ones((), values.dtype)
    if tuple(values.shape) == () and sample_weight is None and mask is None:
        return _scalar(ledger, values, one)
    weights = None if sample_weight is None else ops.convert_to_tensor(sample_weight, dtype=dtype)
    mask = None if mask is None else ops.convert_to_tensor(mask, dtype=dtype)
    weights = losses.apply_mask(weights, mask, dtype=values.dtype, reduction="sum")
    if weights is not None:
        weights = ops.cast(weights, values.dtype)
        values, weights = losses.squeeze_or_expand_to_same_rank(values, weights)
        values = values * weights
    total = ops.sum(values)
    divisor = one
    if reduction in MEANS:
        elements = _elements(values)
        if reduction == "mean_with_sample_weight" and weights is not None:
            divisor = ops.cast(ops.sum(weights), total.dtype)
            ledger.needs_data = True
        elif reduction != "mean_with_sample_weight" and mask is not None:
            valid = ops.sum(ops.cast(mask, total.dtype))
            divisor = valid * ops.cast(elements, total.dtype) / ops.cast(_elements(mask), total.dtype)
            ledger.needs_data = True
        else:
            divisor = ops.cast(elements, total.dtype)
    ledger.counted.append(divisor)
    ledger.sums.append(total)
    ledger.is_scalar.append(False)
    if reduction in MEANS:
        return ledger.as_part(total, divisor)
    return ledger.as_sum(total if reduction == "sum" else values)


def _call_losses(compiled: Any, *args: Any, **kwargs: Any) -> Any:
    """A loss with its own `__call__` reduces by itself: its value is told the ledger all the same."""
    ledger, flat = active(), compiled._flat_losses
    if ledger is None or flat is None:
        return _keras_call_losses(compiled, *args, **kwargs)
    compiled._flat_losses = [each._replace(loss=_told(ledger, each.loss)) for each in flat]
    try:
        return _keras_call_losses(compiled, *args, **kwargs)
    finally:
        compiled._flat_losses = flat


def _told(ledger: Ledger, loss: Any) -> Any:
    def call(y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        known = len(ledger.counted)
        value = loss(y_true, y_pred, sample_weight)
        if len(ledger.counted) > known:
            return value
        value = keras.ops.convert_to_tensor(value)
        return _reduce(value, reduction=None, dtype=value.dtype)

    return call


def _scalar(ledger: Ledger, value: Any, one: Any) -> Any:
    number = len(ledger.counted)
    ledger.counted.append(one)
    ledger.sums.append(value)
    ledger.is_scalar.append(True)
    return ledger.as_sum(value) if number in ledger.kinds.scalars else value


def _elements(values: Any) -> Any:
    return keras.ops.prod(keras.ops.convert_to_tensor(keras.ops.shape(values), dtype="int32"))


def _additional(model: Any, loss: Any) -> Any:
    ledger = active()
    value = _aggregate(model, loss)
    if ledger is None:
        return value
    number = len(ledger.additional)
    ledger.additional.append(value)
    return ledger.as_sum(value) if number in ledger.kinds.additional else value


def _compute_loss(model: Any, *args: Any, **kwargs: Any) -> Any:
    value = _keras_compute_loss(model, *args, **kwargs)
    ledger = active()
    if ledger is not None:
        ledger.keras_loss = value
    return value


def own_loss(ledger: Ledger, total: Any) -> Any:
    """The loss of a model with its own `compute_loss`: what it adds by itself may be a sum."""
    if not ledger.kinds.own:
        return total
    known = 0.0 if ledger.keras_loss is None else ledger.keras_loss
    return known + ledger.as_sum(total - known)


def _update_mean(metric: Any, values: Any, sample_weight: Any = None) -> None:
    """A number that stands for a whole batch counts once for each batch: a share's number counts for its part of it."""
    ledger = active()
    if any(metric is each for each in getattr(_active, "at_once", ())):
        sample_weight = None
    elif ledger is not None and ledger.weight is not None:
        rank = len(getattr(values, "shape", ()))
        of_output = any(metric is each for each in ledger.output_trackers)
        if rank == 0 and (sample_weight is None or of_output):
            sample_weight = ledger.weight
        elif rank > 0 and (of_output or metric is ledger.loss_tracker):  # a loss that is not reduced
            values = values * keras.ops.cast(ledger.weight, values.dtype)
            sample_weight = None if of_output else sample_weight
    _keras_update_mean(metric, values, sample_weight)
