"""A rebuilt model as a setup trains it: its precision, adapters, frozen layers, optimizer and what its step is given.

Nothing here depends on Keras' backend; how a step is traced is told by the caller.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import keras

from planner_app.core.model.choices import REMAT_MODES
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.fine_tune import fine_tune
from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import Trained
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.units import count_of
from planner_app.worker.build.backend import without_values
from planner_app.worker.build.rebuild import Rebuilt, rebuilt
from planner_app.worker.training.compiled import compile_model
from planner_app.worker.training.expected import (
    expected_feeds,
    has_own_step,
    named_after_inputs,
    with_targets,
    written_batch,
)
from planner_app.worker.training.feed import Feed, given_feed, sample_batch
from planner_app.worker.training.optimizers import optimizers_of
from planner_app.worker.training.training_text import losses_text, optimizers_text

# Batch sizes people use are mostly multiples of eight, and whether a slice can be a view depends on it.
BATCH_FACTOR = 8
TRIED_BATCH = BATCH_FACTOR * 211  # what a step of the model's own takes is tried with: no size of a model is like it
NEVER_A_FACTOR = 2**61 - 1  # a prime: sizes of a step of one batch only don't grow
PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199)


@dataclass(frozen=True, slots=True)
class Trainable:
    """A compiled model and what its training step is given. `assumed` is what its author does not say."""

    model: keras.Model
    feed: Feed
    assumed: tuple[str, ...] = ()

    @property
    def trained(self) -> Trained:
        return Trained(optimizers_text(optimizers_of(self.model)), losses_text(self.model), self.assumed)


def build(
    checked: CheckedModel,
    setup: StepSetup,
    trace_step: Callable[[Trainable, int], Any],
    *,
    values: bool = False,
    jit: bool | str | None = None,
    accumulate: int = 2,
) -> Trainable:
    """The model as the setup wants it: precision, input sizes, rematerialisation, frozen layers, compiled.

    Args:
        trace_step: Traces a step of a batch without running it; raises a `PlannerError` where it can't.
        values: Variables get the values they start training with.
        jit: Keras' `jit_compile`; None for a step that is only traced, so that what the model's author said stays.
        accumulate: How many steps are added up, where the setup says that some are. The memory is that of any number.
    """
    made, feeds = _made(checked, setup, values, jit, accumulate)
    if len(feeds) == 1 and not (has_own_step(made.model) and feeds[0].batch is None):
        return Trainable(made.model, feeds[0], made.assumed)
    reasons = []
    for feed in _each_batch(feeds, made.data):
        try:  # without values, in a model that nobody trains: what is traced once may not be traced again
            tried, _ = _made(checked, setup, False, False, accumulate)
            trace_step(Trainable(tried.model, feed), feed.batch or TRIED_BATCH)
        except PlannerError as error:
            reasons.append(error)
            continue
        guessed = (_guessed(feed),) if made.data is None else ()
        return Trainable(made.model, feed, made.assumed + guessed)
    if made.data is not None:
        raise reasons[0]
    raise ModelError(
        f"What the model's own training step takes can't be told from the model. Tried on its inputs: {reasons[0]} "
        "Give one batch with --data file.py:function, or return it beside the model: return model, (x, y).",
        reasons[0].detail,
    )


def _each_batch(feeds: list[Feed], data: Any) -> Iterator[Feed]:
    """Each for any batch size; then, of the user's own data, for the one size that may be written into the step."""
    yield from feeds
    given = sample_batch(data) if data is not None else None
    if given is not None:
        yield replace(feeds[0], batch=given)


def _made(
    checked: CheckedModel, setup: StepSetup, values: bool, jit: bool | str | None, accumulate: int
) -> tuple[Rebuilt, list[Feed]]:
    if not values:  # a warm worker must not number this model's layers after the last one's
        distribution = keras.distribution.distribution()
        keras.utils.clear_session()
        keras.distribution.set_distribution(distribution)
    with _remat(setup.remat):
        made = rebuilt(checked, precision=str(setup.precision), sizes=dict(setup.sizes) or None, values=values)
    sizes = {**made.sizes, **dict(setup.sizes)}
    _check_remat(made.model, setup.remat)
    with nullcontext() if values else without_values(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fine_tune(made.model, setup.lora, setup.quantize)
    _freeze(made.model, setup.freeze)
    with nullcontext() if values else without_values(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assumed = compile_model(made.model, setup, jit=jit, accumulate=accumulate)
        made = replace(made, assumed=made.assumed + assumed)
        if made.data is not None:
            feed = named_after_inputs(given_feed(made.data), made.model).filled(dict(setup.sizes))
            if any(each.startswith("loss ") for each in assumed):  # data of inputs alone is not a mistake then
                feed = with_targets(feed, made.model)
            return made, [replace(feed, batch=written_batch(made.model))]
        return made, expected_feeds(made.model, sizes)


def _guessed(feed: Feed) -> str:
    shapes = ", ".join(f"{slot.name} {list(slot.shape[1:])}" for slot in feed.slots)
    return f"data {shapes}: what the model's own step takes is for --data to say"


def trace_batch(trainable: Trainable) -> tuple[int, int]:
    """A batch to trace with, and the prime in it that divides no other dimension of the model."""
    model, feed = trainable.model, trainable.feed
    if feed.batch is not None:
        return feed.batch, NEVER_A_FACTOR
    dims = {d for weight in model.weights for d in weight.shape}
    dims.update(d for slot in feed.slots for d in slot.shape if d)
    for layer in model._flatten_layers():
        for node in getattr(layer, "_inbound_nodes", ()):
            dims.update(d for tensor in node.outputs for d in tensor.shape if d)
    for prime in PRIMES:
        if all(d % prime for d in dims):
            return BATCH_FACTOR * prime, prime
    raise ModelError(
        "The model's sizes have every prime from 101 to 199 as a factor: it can't be traced over the batch."
    )


def _remat(mode: str) -> Any:
    name, _, argument = mode.partition(":")
    if not name:
        return warnings.catch_warnings()
    if name not in REMAT_MODES:
        raise SetupError(f'"{mode}" is not a way to rematerialize: expected one of {", ".join(REMAT_MODES)}.')
    if not hasattr(keras, "RematScope"):
        raise SetupError(f"Keras {keras.__version__} can't rematerialize; 3.9 and newer can.")
    if name == "larger_than":
        if argument and not count_of(argument) and argument.strip("0"):
            raise SetupError(f'"{mode}": expected a number of elements behind larger_than, as in larger_than:1024.')
        return keras.RematScope(mode=name, output_size_threshold=int(argument or 1024))
    if name == "list_of_layers":
        return keras.RematScope(mode=name, layer_names=_listed(argument))
    return keras.RematScope(mode=name)


def _listed(argument: str) -> list[str]:
    return [part for part in argument.split("+") if part]


def _check_remat(model: keras.Model, mode: str) -> None:
    name, _, argument = mode.partition(":")
    if name != "list_of_layers":
        return
    if not _listed(argument):
        raise SetupError("list_of_layers names no layer: expected some, as in list_of_layers:conv_1+conv_2.")
    known = {layer.name for layer in model._flatten_layers(include_self=False)}
    for each in _listed(argument):
        if each not in known:
            raise SetupError(f'No layer is called "{each}": `plimsoll describe` lists the layers of this model.')


def _freeze(model: keras.Model, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        found = [layer for layer in model._flatten_layers(include_self=False) if _matches(layer, pattern)]
        if not found:
            raise SetupError(f'No layer is called "{pattern}": `plimsoll describe` lists the layers of this model.')
        for layer in found:
            layer.trainable = False
    if not model.trainable_variables and not _is_built_by_its_step(model):
        why = (
            "Every layer is frozen: nothing is left"
            if model.variables
            else "The model has no weights: there is nothing"
        )
        raise SetupError(f"{why} to train.")


def _is_built_by_its_step(model: keras.Model) -> bool:
    """Whether layers get their weights only when the model's own step calls them."""
    layers = model._flatten_layers(include_self=False)
    return has_own_step(model) and (not model.variables or not all(layer.built for layer in layers))


def _matches(layer: Any, pattern: str) -> bool:
    return fnmatchcase(layer.name, pattern) or fnmatchcase(str(getattr(layer, "path", "") or ""), pattern)
