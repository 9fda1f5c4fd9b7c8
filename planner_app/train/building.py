"""A model's variables, made before its step is traced: what undoes a step and what adds up gradients must know them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow.core import compute_output_spec

from planner_app.train.accumulate.gradients import Catcher
from planner_app.train.accumulate.steps import has_own_step
from planner_app.train.data.shares import cut


def own_optimizers(model: Any) -> dict[str, Any]:
    """By attribute, those of a model's own `train_step` beside the compiled one, as adversarial models have them."""
    if not has_own_step(model):
        return {}
    compiled = getattr(model, "optimizer", None)
    found = {name: value for name, value in vars(model).items() if isinstance(value, keras.optimizers.Optimizer)}
    return {name: value for name, value in found.items() if value is not compiled}


def optimizers_of(model: Any) -> list[Any]:
    """The compiled one first, where there is one."""
    compiled = getattr(model, "optimizer", None)
    return [each for each in (compiled, *own_optimizers(model).values()) if each is not None]


def updates_of(model: Any) -> int:
    """Optimizers that share the work of a step count the same; one that it does not use counts none."""
    return max(int(each.iterations.numpy()) for each in optimizers_of(model))


def make_variables(model: Any, batch: Any) -> None:
    """Those of layers, metrics, losses and optimizers, in the strategy's scope; nothing where they are there.

    As Keras does for several devices. A model with its own `train_step` may have no `call`, and targets that its
    compiled loss can't compare: then it is that step that makes them. With optimizers of its own it alone knows which
    of them it uses, and for what: it is traced as in Keras' fit, and not run.
    """
    if own_optimizers(model):
        tf.function(model.train_step, autograph=False).get_concrete_function(cut(batch, 0, 1))
        return
    _make_layers(model, batch)
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)


def _make_layers(model: Any, batch: Any) -> None:
    if all(layer.built for layer in model._flatten_layers()) and _has_metrics(model):
        return
    try:
        model._symbolic_build(data_batch=batch if isinstance(batch, tuple) else (batch,))
    except Exception:
        if not has_own_step(model):
            raise
        sample = cut(batch, 0, 1)
        catcher = Catcher(model.optimizer)
        with catcher.installed(), _no_gradients():
            compute_output_spec(lambda: catcher.gradients(model.train_step, sample)[0])


def _has_metrics(model: Any) -> bool:
    """Whether compiled metrics and losses have made their variables."""
    parts = (getattr(model, "_compile_metrics", None), getattr(model, "_compile_loss", None))
    return all(part is None or part.built for part in parts)


@contextmanager
def _no_gradients() -> Iterator[None]:
    """Outside of a replica, and of variables that have no values yet, there are none. Nobody needs them here."""
    real = tf.GradientTape.gradient
    tf.GradientTape.gradient = lambda _tape, _target, sources, *_args, **_options: tf.nest.map_structure(
        lambda source: tf.zeros(source.shape, source.dtype), sources
    )
    try:
        yield
    finally:
        tf.GradientTape.gradient = real
