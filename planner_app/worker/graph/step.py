"""The real training step of a rebuilt model, traced and never run."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import keras
import tensorflow as tf

from planner_app.core.model.choices import REMAT_MODES
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Optimizer, StepSetup
from planner_app.errors import ModelError, SetupError
from planner_app.worker.build.inputs import inputs_of, outputs_of
from planner_app.worker.build.rebuild import rebuild
from planner_app.worker.build.valueless import without_values

# Batch sizes people use are mostly multiples of eight, and whether a slice can be a view depends on it.
BATCH_FACTOR = 8
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # Keras prints reasons in bold
CUDNN_LAYERS = (keras.layers.LSTM, keras.layers.GRU)
PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199)


def build(
    checked: CheckedModel, setup: StepSetup, *, values: bool = False, jit: bool | str = False, accumulate: int = 2
) -> keras.Model:
    """The model as the setup wants it: precision, input sizes, rematerialisation, frozen layers, compiled.

    Args:
        values: Variables get the values they start training with.
        jit: Keras' `jit_compile`. A step that is only traced is compiled by nobody.
        accumulate: How many steps are added up, where the setup says that some are. The memory is that of any number.
    """
    if not values:  # a warm worker must not number this model's layers after the last one's
        keras.utils.clear_session()
    with _remat(setup.remat):
        model = rebuild(checked, precision=str(setup.precision), sizes=dict(setup.sizes) or None, values=values)
    _check_remat(model, setup.remat)
    _freeze(model, setup.freeze)
    with nullcontext() if values else without_values(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = make_optimizer(setup.optimizer, accumulates=setup.accumulates, accumulate=accumulate)
        eagerly = bool(getattr(model, "run_eagerly", False))  # compiled so by a user's function
        model.compile(optimizer=optimizer, loss=_loss(checked, setup), jit_compile=jit, run_eagerly=eagerly)
        try:
            model.optimizer.build(model.trainable_variables)
        except (TypeError, ValueError) as error:
            raise SetupError(f'Optimizer "{setup.optimizer}" can\'t train this model: {_line(error)}') from error
    return model


def as_run(model: keras.Model, setup: StepSetup) -> tuple[StepSetup, list[str]]:
    """The setup as Keras runs it, and what to say about it.

    Keras compiles a step with XLA only if every layer allows it, and runs LSTM and GRU through cuDNN on a GPU.
    """
    if setup.target == "cpu":
        return setup, []
    warned = []
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


def trace_step(model: keras.Model, batch: int, compiled: bool = False) -> Any:
    """The concrete function of one call of `train_step` on a batch of this size; loops as XLA wants them, if asked."""
    xs, ys = batch_specs(model, batch)

    def step(x: list[Any], y: list[Any]) -> Any:
        return model.train_step(as_data(model, x, y))["loss"]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = tf.function(step, autograph=False, jit_compile=True if compiled else None)
            return function.get_concrete_function(xs, ys)
    except (ValueError, TypeError, LookupError, NotImplementedError, tf.errors.OpError) as error:
        _check_loss(model, ys, batch)
        raise ModelError(f"The training step can't be traced: {_line(error)}") from error


def batch_specs(model: keras.Model, batch: int) -> tuple[list[Any], list[Any]]:
    """Shapes and dtypes of what a step of this batch is given: inputs, then targets."""
    xs = [tf.TensorSpec(_sized(t.name, t.shape, batch), t.dtype) for t in inputs_of(model)]
    return xs, _targets(model, batch)


def as_data(model: keras.Model, inputs: list[Any], targets: list[Any]) -> tuple[Any, Any]:
    """Inputs and targets in the structure that the model's `train_step` takes."""
    return _structured(model, inputs), targets if len(targets) > 1 else targets[0]


def _check_loss(model: keras.Model, targets: list[Any], batch: int) -> None:
    """Whether it is the loss alone that can't be computed from outputs of these shapes."""
    outputs = [tf.TensorSpec(_sized(t.name, t.shape, batch), t.dtype) for t in outputs_of(model)]

    def loss(y: list[Any], y_pred: list[Any]) -> Any:
        return model.compute_loss(y=y if len(y) > 1 else y[0], y_pred=y_pred if len(y_pred) > 1 else y_pred[0])

    try:
        tf.function(loss, autograph=False).get_concrete_function(targets, outputs)
    except (ValueError, TypeError, NotImplementedError, tf.errors.OpError) as error:
        names = ", ".join(_loss_name(each) for each in keras.tree.flatten(model.loss))
        shapes = ", ".join(f"{t.name} {tuple(t.shape[1:])}" for t in outputs_of(model))
        raise SetupError(f'Loss "{names}" does not fit the outputs ({shapes}): {_line(error)}') from error


def trace_batch(model: keras.Model) -> tuple[int, int]:
    """A batch to trace with, and the prime in it that divides no other dimension of the model."""
    dims = {d for weight in model.weights for d in weight.shape}
    for layer in model._flatten_layers():
        for node in getattr(layer, "_inbound_nodes", ()):
            dims.update(d for tensor in node.outputs for d in tensor.shape if d)
    for prime in PRIMES:
        if all(d % prime for d in dims):
            return BATCH_FACTOR * prime, prime
    raise ModelError(
        "The model's sizes have every prime from 101 to 199 as a factor: it can't be traced over the batch."
    )


def make_optimizer(wanted: Optimizer, accumulates: bool = False, accumulate: int = 2) -> Any:
    classes = {
        name.lower(): kind
        for name, kind in vars(keras.optimizers).items()
        if isinstance(kind, type) and issubclass(kind, keras.optimizers.Optimizer) and name != "Optimizer"
    }
    options = dict(wanted.options)
    scaled = options.pop("loss_scaling", False)
    kind = classes.get(wanted.name)
    if kind is None or wanted.name in ("lossscaleoptimizer", "multioptimizer"):
        known = ", ".join(sorted(set(classes) - {"lossscaleoptimizer", "multioptimizer"}))
        raise SetupError(f'"{wanted.name}" is no optimizer of Keras {keras.__version__}: expected one of {known}.')
    if accumulates:
        options["gradient_accumulation_steps"] = accumulate
    try:
        optimizer = kind(**options)
    except (TypeError, ValueError) as error:
        raise SetupError(f'Optimizer "{wanted}" can\'t be made: {_line(error)}') from error
    return keras.optimizers.LossScaleOptimizer(optimizer) if scaled else optimizer


def _remat(mode: str) -> Any:
    name, _, argument = mode.partition(":")
    if not name:
        return warnings.catch_warnings()
    if name not in REMAT_MODES:
        raise SetupError(f'"{mode}" is not a way to rematerialize: expected one of {", ".join(REMAT_MODES)}.')
    if name == "larger_than":
        if argument and not argument.isdecimal():
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
    if not model.trainable_variables:
        why = (
            "Every layer is frozen: nothing is left"
            if model.variables
            else "The model has no weights: there is nothing"
        )
        raise SetupError(f"{why} to train.")


def _matches(layer: Any, pattern: str) -> bool:
    return fnmatchcase(layer.name, pattern) or fnmatchcase(str(getattr(layer, "path", "") or ""), pattern)


def _loss(checked: CheckedModel, setup: StepSetup) -> Any:
    if setup.loss:
        try:
            keras.losses.get(setup.loss)
        except ValueError as error:
            raise SetupError(f'"{setup.loss}" is no loss of Keras: {_line(error)}') from error
        return setup.loss
    saved = (checked.compile_config or {}).get("loss")
    if saved is None:
        return "mean_squared_error"
    try:
        return keras.tree.map_structure(lambda part: part, _deserialized_loss(saved))
    except (ValueError, TypeError) as error:
        raise SetupError(f"The saved loss can't be used: {_line(error)} Give one with --loss.") from error


def _deserialized_loss(saved: Any) -> Any:
    if isinstance(saved, dict) and "class_name" in saved:
        return keras.losses.deserialize(saved)
    if isinstance(saved, dict):
        return {key: _deserialized_loss(value) for key, value in saved.items()}
    if isinstance(saved, list):
        return [_deserialized_loss(value) for value in saved]
    return saved


def _targets(model: keras.Model, batch: int) -> list[Any]:
    """What the loss compares the outputs with: classes for a sparse loss, else the outputs' own shape in float32."""
    outputs = outputs_of(model)
    losses = keras.tree.flatten(model.loss)
    if len(losses) == 1:
        losses = losses * len(outputs)
    if len(losses) != len(outputs):
        raise SetupError(
            f"{len(losses)} losses came for {len(outputs)} outputs ({', '.join(t.name for t in outputs)})."
        )
    specs = []
    shapes = [output.shape for output in outputs]
    if any(size is None for shape in shapes for size in shape[1:]):
        shapes = _output_shapes(model, batch)
    for output, shape, loss in zip(outputs, shapes, losses, strict=True):
        shape = _sized(output.name, shape, batch)
        sparse = "sparse" in _loss_name(loss)
        specs.append(tf.TensorSpec(shape[:-1] if sparse else shape, tf.int32 if sparse else tf.float32))
    return specs


def _loss_name(loss: Any) -> str:
    return loss if isinstance(loss, str) else str(getattr(loss, "name", "") or getattr(loss, "__name__", ""))


def _output_shapes(model: keras.Model, batch: int) -> list[tuple[int | None, ...]]:
    """Shapes that depend on the batch in more than their first size: a matrix of similarities, say."""
    xs = [tf.TensorSpec(_sized(t.name, t.shape, batch), t.dtype) for t in inputs_of(model)]
    forward = tf.function(lambda x: model(_structured(model, x), training=True), autograph=False)
    return [tuple(t.shape) for t in forward.get_concrete_function(xs).outputs]


def _sized(name: str, shape: tuple[int | None, ...], batch: int) -> tuple[int, ...]:
    if any(size is None for size in shape[1:]):
        said = ", ".join("?" if size is None else str(size) for size in shape[1:])
        example = ",".join(str(size or 128) for size in shape[1:])
        raise SetupError(f'"{name}" has a size the model does not say ({said}): give it, as in --set {name}={example}.')
    return (batch, *(int(size or 0) for size in shape[1:]))


def _structured(model: keras.Model, values: list[Any]) -> Any:
    if getattr(model, "inputs", None):
        return values if len(values) > 1 else values[0]
    names = [t.name for t in inputs_of(model)]
    return values[0] if len(values) == 1 else dict(zip(names, values, strict=True))


def _line(error: BaseException) -> str:
    """What is wrong, in one line. Keras says first where it happened, then what, then what the arguments were."""
    plain = ESCAPES.sub("", str(error))
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    while lines and lines[0].startswith(("Exception encountered", "in user code:", "File ")):
        del lines[0]
    return lines[0][:400] if lines else type(error).__name__
