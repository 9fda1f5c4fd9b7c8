"""The real training step of a rebuilt model, traced and never run."""

from __future__ import annotations

import traceback
import warnings
from dataclasses import replace
from typing import Any

import keras
import tensorflow as tf

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import StepSetup
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.worker.build.inputs import outputs_of
from planner_app.worker.build.said import line
from planner_app.worker.build.valueless import without_values
from planner_app.worker.training.compiled import own_jit
from planner_app.worker.training.expected import has_own_step, loss_name
from planner_app.worker.training.front_end import on_the_host
from planner_app.worker.training.indexed_size import indexed_sizes, indexes_a_size
from planner_app.worker.training.trainable import Trainable
from planner_app.worker.training.trainable import build as build_trainable

# A user's step is Python: what it meets with data it was not written for may be anything.
UNTRACEABLE = (
    ValueError, TypeError, LookupError, AttributeError, NotImplementedError, AssertionError, RuntimeError,
    tf.errors.OpError,
)  # fmt: skip
CUDNN_LAYERS = (keras.layers.LSTM, keras.layers.GRU)


def build(
    checked: CheckedModel, setup: StepSetup, *, values: bool = False, jit: bool | str | None = None, accumulate: int = 2
) -> Trainable:
    """The model as the setup wants it, see `build_trainable`; what its own step takes is tried by tracing it."""
    return build_trainable(checked, setup, trace_step, values=values, jit=jit, accumulate=accumulate)


def as_run(trainable: Trainable, setup: StepSetup) -> tuple[StepSetup, list[str]]:
    """The setup as Keras runs it, and what to say about it.

    Keras compiles a step with XLA only if every layer allows it, and runs LSTM and GRU through cuDNN on a GPU.
    """
    model, warned = trainable.model, list[str]()
    if model.run_eagerly:
        warned.append("The model is compiled with run_eagerly=True: estimated as the graph that it is without.")
    if setup.target == "cpu":
        return setup, warned
    if setup.xla and setup.left_to_model and own_jit(model) is False:
        setup = replace(setup, xla=False)
    recurrent = [layer.name for layer in model._flatten_layers() if isinstance(layer, CUDNN_LAYERS)]
    if recurrent:
        warned.append(
            f"On a GPU Keras runs {', '.join(recurrent)} through cuDNN, whose reserve can't be known without one: "
            "estimated as the loop that other devices run."
        )
    refusing = [
        layer.name for layer in model._flatten_layers() if not layer.supports_jit and layer.name not in recurrent
    ]
    if setup.xla and (recurrent or refusing):
        warned.append(f"Keras does not compile a model with {', '.join(recurrent + refusing)}: estimated without XLA.")
        return replace(setup, xla=False), warned
    return setup, warned


def trace_step(trainable: Trainable, batch: int, *, compiled: bool = False) -> Any:
    """The concrete function of one call of `train_step` on a batch of this size; loops as XLA wants them, if asked."""
    model, feed = trainable.model, trainable.feed
    if feed.batch is not None and batch != feed.batch:
        raise SetupError(f"The batch size is written into the model: {feed.batch}. A batch of {batch} can't be traced.")
    specs = feed.specs(batch)

    def step(data: Any) -> Any:
        return model.train_step(data)

    def traced() -> Any:
        function = tf.function(step, autograph=False, jit_compile=True if compiled else None)
        return function.get_concrete_function(specs)

    try:
        with warnings.catch_warnings(), without_values(), on_the_host(model):
            warnings.simplefilter("ignore")
            try:
                return traced()
            except TypeError as error:
                if not indexes_a_size(error):
                    raise
            with indexed_sizes():
                return traced()
    except PlannerError as error:  # Keras adds to it what it knows of the layer it passed through
        raise type(error)(line(error)) from error
    except UNTRACEABLE as error:
        if not has_own_step(model):
            _check_loss(trainable, batch)
        raise ModelError(
            f"The training step can't be traced: {line(error)}", detail="".join(traceback.format_exception(error))
        ) from error


def _check_loss(trainable: Trainable, batch: int) -> None:
    """Whether it is the loss alone that can't be computed from outputs of these shapes."""
    model = trainable.model
    x, y, weight = keras.utils.unpack_x_y_sample_weight(trainable.feed.specs(batch))
    if y is None or model.loss is None:
        return
    try:
        forward = tf.function(lambda x: model(x, training=True), autograph=False).get_concrete_function(x)
        outputs = forward.structured_outputs
    except UNTRACEABLE:
        return

    def loss(y: Any, y_pred: Any, weight: Any) -> Any:
        return model.compute_loss(y=y, y_pred=y_pred, sample_weight=weight)

    try:
        tf.function(loss, autograph=False).get_concrete_function(y, outputs, weight)
    except UNTRACEABLE as error:
        names = ", ".join(loss_name(each) for each in keras.tree.flatten(model.loss))
        shapes = ", ".join(f"{t.name} {tuple(t.shape[1:])}" for t in outputs_of(model))
        raise SetupError(f'Loss "{names}" does not fit the outputs ({shapes}): {line(error)}') from error
