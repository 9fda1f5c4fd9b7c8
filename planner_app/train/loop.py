"""`plan.fit`: epochs, callbacks, validation and progress as Keras' own `fit` has them, around steps of our own.

Keras' fit can't train on several hosts, can't accumulate on several GPUs, and can't go on after an out-of-memory error.
"""

from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from planner_app.core.plan.pipeline import copied_whole_warning, host_warning
from planner_app.errors import PlanError
from planner_app.files.host import available_bytes
from planner_app.train.feed import Feed, feed_of
from planner_app.train.notes import note
from planner_app.train.trainer import Trainer, reason_of

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan


def fit(
    plan: "TrainingPlan",
    model: Any,
    x: Any,
    y: Any = None,
    *,
    epochs: int = 1,
    initial_epoch: int = 0,
    callbacks: Any = None,
    validation_data: Any = None,
    validation_freq: int = 1,
    validation_steps: int | None = None,
    steps_per_epoch: int | None = None,
    sample_weight: Any = None,
    shuffle: bool = True,
    verbose: Any = "auto",
) -> Any:
    """Trains, and gives Keras' history."""
    trainer = Trainer(plan, model)
    prefetch = plan.plan.input.prefetch_batches
    feed = feed_of(
        model,
        x,
        y,
        sample_weight,
        batch=plan.global_batch,
        shuffle=shuffle,
        steps=steps_per_epoch,
        prefetch=prefetch,
    )
    _warn(plan, x)
    held_out = None
    if validation_data is not None:
        parts = validation_data if isinstance(validation_data, tuple) else (validation_data,)
        held_out = feed_of(
            model, *parts, batch=plan.global_batch, shuffle=False, steps=validation_steps, prefetch=prefetch
        )
    watched = _callbacks(plan, model, callbacks, verbose, epochs=epochs, steps=feed.batches)
    model.stop_training = False
    watched.on_train_begin()
    logs: dict[str, Any] = {}
    for epoch in range(getattr(model, "_initial_epoch", None) or initial_epoch, epochs):
        logs = _epoch(trainer, feed, watched, epoch)
        if held_out is not None and (epoch + 1) % validation_freq == 0:
            found = _evaluate(trainer, held_out, watched)
            logs.update({f"val_{name}": value for name, value in found.items()})
        watched.on_epoch_end(epoch, logs)
        if model.stop_training:
            break
    if epochs > 0:
        model.optimizer.finalize_variable_values(model.trainable_weights)
    watched.on_train_end(logs)
    return model.history


def evaluate(
    plan: "TrainingPlan",
    model: Any,
    x: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    steps: int | None = None,
    callbacks: Any = None,
    verbose: Any = "auto",
) -> dict[str, float]:
    feed = feed_of(model, x, y, sample_weight, batch=plan.global_batch, shuffle=False, steps=steps)
    watched = _callbacks(plan, model, callbacks, verbose, epochs=1, steps=feed.batches)
    return _evaluate(Trainer(plan, model), feed, watched)


def _epoch(trainer: Trainer, feed: Feed, watched: Any, epoch: int) -> dict[str, Any]:
    model = trainer.model
    model.reset_metrics()
    watched.on_epoch_begin(epoch)
    trainer.begin_epoch()
    logs: Any = None
    for step, batch in enumerate(feed.epoch()):
        watched.on_train_batch_begin(step)
        logs = trainer.step(batch)
        watched.on_train_batch_end(step, logs)
        if model.stop_training:
            break
    if logs is None:
        raise PlanError("The data hold no batch: there is nothing to train with.")
    return _results(model, logs)


def _evaluate(trainer: Trainer, feed: Feed, watched: Any) -> dict[str, float]:
    """Begins again on the next rung when memory runs out: metrics are all that has changed."""
    while True:
        trainer.model.reset_metrics()
        watched.on_test_begin()
        logs: Any = None
        reason = ""
        try:
            for step, batch in enumerate(feed.epoch()):
                watched.on_test_batch_begin(step)
                logs = trainer.test(batch)
                watched.on_test_batch_end(step, logs)
        except tf.errors.ResourceExhaustedError as error:
            reason = reason_of(error)
        found = {} if reason or logs is None else _results(trainer.model, logs)
        watched.on_test_end(found)
        if not reason:
            return found
        trainer.descend(reason)


def _results(model: Any, logs: Any) -> dict[str, Any]:
    """The metrics over all replicas, where the step gave these; else what the step gave last."""
    metrics = model.get_metrics_result()
    chosen = metrics if isinstance(logs, dict) and set(logs) == set(metrics) else logs
    return {name: float(value) if keras.ops.ndim(value) == 0 else value for name, value in chosen.items()}


def _callbacks(plan: "TrainingPlan", model: Any, given: Any, verbose: Any, *, epochs: int, steps: int | None) -> Any:
    """Of several hosts the first one alone shows progress."""
    if verbose == "auto":
        verbose = 1 if not plan.worker else 0
    return keras.callbacks.CallbackList(
        given, add_history=True, add_progbar=verbose != 0, verbose=verbose, epochs=epochs, steps=steps, model=model
    )


def _warn(plan: "TrainingPlan", x: Any) -> None:
    free = available_bytes()
    said = host_warning(plan.plan.input, free) if free is not None else ""
    arrays = [part for part in tf.nest.flatten(x) if hasattr(part, "nbytes")] if not hasattr(x, "__next__") else []
    whole = copied_whole_warning(sum(int(part.nbytes) for part in arrays), plan.entry.device.capacity_bytes)
    for sentence in filter(None, (said, whole)):
        note(sentence)
