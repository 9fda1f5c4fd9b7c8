"""`plan.fit`, `evaluate` and `predict`: epochs, callbacks, validation and progress as Keras has them, around our steps.

Keras' fit can't train on several hosts, can't accumulate on several GPUs, and can't go on after an out-of-memory error.
"""

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow.trainer import convert_to_np_if_not_ragged, potentially_ragged_concat
from keras.src.trainers.data_adapters.array_slicing import train_validation_split
from keras.src.trainers.data_adapters.data_adapter_utils import unpack_x_y_sample_weight
from keras.src.utils.python_utils import pythonify_logs

from planner_app.core.plan.pipeline import copied_whole_warning, host_warning
from planner_app.errors import PlanError
from planner_app.files.host import available_bytes
from planner_app.train.data.feed import Feed, array_bytes, feed_of
from planner_app.train.data.given import Data, Epochs, Validation
from planner_app.train.notes import note
from planner_app.train.observe.watch import with_watch
from planner_app.train.recover.backup import Backup, backup_of
from planner_app.train.trainer import Trainer

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan

EVALUATED = 32  # at once by default, as in Keras: a loss that counts once for each batch depends on it


def fit(
    plan: "TrainingPlan",
    model: Any,
    data: Data,
    validation: Validation,
    epochs: Epochs,
    callbacks: Any,
    verbose: Any,
    batch_size: int | None,
) -> Any:
    """Trains, and gives Keras' history."""
    trainer = plan.trainer(model)
    if getattr(model, "optimizer", None) is None:
        raise PlanError("The model is not compiled: call model.compile(...) before it is trained.")
    _overrule(plan, batch_size)
    data, held_out = _split(data, validation)
    prefetch = plan.plan.input.prefetch_batches
    feed = feed_of(model, data, batch=plan.global_batch, prefetch=prefetch, trains=True)
    _warn(plan, model, data)
    asked = None
    if held_out is not None:
        asked = feed_of(model, held_out, batch=validation.batch or plan.global_batch, prefetch=prefetch)
    given = with_watch(plan, callbacks)
    watched = _callbacks(plan, model, given, verbose, epochs=epochs.end, steps=feed.batches, history=True)
    backup = backup_of(plan, model, watched)
    model.stop_training = False
    feed.reset()
    with trainer.strategy.scope():  # Keras' backup restores the optimizer, whose variables are made here
        watched.on_train_begin()
    first, trained = backup.position(epochs.first)
    for _ in range(epochs.first, first):
        feed.skip_epoch()
    logs: dict[str, Any] | None = None
    for epoch in range(first, epochs.end):
        found = _epoch(trainer, feed, watched, backup, epoch, trained)
        trained = 0
        if found is None:
            break
        logs = found
        if asked is not None and model._should_eval(epoch, validation.freq):
            results = _evaluate(trainer, asked, watched)
            logs.update({f"val_{name}": value for name, value in results.items()})
        watched.on_epoch_end(epoch, logs)
        backup.end_epoch(epoch)
        if model.stop_training:
            break
    if backup.pending:  # the run had ended when it was interrupted
        _restore(trainer, feed.last if feed.last is not None else next(feed.epoch(), None), backup)
    if epochs.end > 0 and isinstance(model.optimizer, keras.optimizers.Optimizer):
        model.optimizer.finalize_variable_values(model.trainable_weights)
    watched.on_train_end(logs)
    backup.finish(epochs.end)
    return model.history


def evaluate(
    plan: "TrainingPlan", model: Any, data: Data, callbacks: Any, verbose: Any, batch_size: int | None
) -> dict[str, Any]:
    """The logs of `model.evaluate`; a batch of any size is cut into shares that fit."""
    feed = feed_of(model, data, batch=batch_size or EVALUATED)
    watched = _callbacks(plan, model, callbacks, verbose, epochs=1, steps=feed.batches)
    return _evaluate(plan.trainer(model), feed, watched)


def predict(plan: "TrainingPlan", model: Any, data: Data, callbacks: Any, verbose: Any, batch_size: int | None) -> Any:
    """What `model.predict` gives; a batch of any size is cut into shares that fit."""
    trainer = plan.trainer(model)
    feed = feed_of(model, data, batch=batch_size or plan.global_batch)
    watched = _callbacks(plan, model, callbacks, verbose, epochs=1, steps=feed.batches)
    model.stop_predicting = False
    watched.on_predict_begin()
    found: list[Any] = []
    for step, batch in enumerate(feed.epoch()):
        watched.on_predict_batch_begin(step)
        outputs = trainer.predict(batch)
        found.append(outputs)
        watched.on_predict_batch_end(step, {"outputs": outputs})
        if model.stop_predicting:
            break
    watched.on_predict_end()
    if not found:
        raise PlanError("The data hold no batch: there is nothing to predict.")
    joined = tf.nest.map_structure(lambda *parts: potentially_ragged_concat(list(parts)), *found)
    return tf.nest.map_structure(convert_to_np_if_not_ragged, joined)


def _split(data: Data, validation: Validation) -> tuple[Data, Data | None]:
    """What is trained with, and what is held out."""
    held_out = validation.data
    if validation.split and held_out is None:
        parts = (data.x, data.y, data.sample_weight)
        (x, y, sample_weight), held_out = train_validation_split(parts, validation.split)
        data = replace(data, x=x, y=y, sample_weight=sample_weight)
    if held_out is None:
        return data, None
    x, y, sample_weight = unpack_x_y_sample_weight(held_out)
    return data, Data(x, y, sample_weight, steps=validation.steps)


def _epoch(
    trainer: Trainer, feed: Feed, watched: Any, backup: Backup, epoch: int, trained: int
) -> dict[str, Any] | None:
    """The logs, or None where nothing is left to train. Batches that are trained already are only read."""
    model = trainer.model
    batches = feed.epoch_after(trained)
    batch = next(batches, None)
    if batch is None and not trained:
        if epoch == 0:
            raise PlanError("The data hold no batch: there is nothing to train with.")
        note(f"The data have ended: training stops after epoch {epoch}.")
        return None
    in_the_middle = backup.pending and trained > 0  # metrics are restored too, which Keras' own backup does not keep
    if backup.pending:
        _restore(trainer, batch if batch is not None else feed.last, backup)
        if model.stop_training:  # a callback had stopped the run, in this epoch or at the end of the one before
            if not trained:
                return None
            batch = None
    if not in_the_middle:
        # A metric that another model has used is known to this one only when it is built.
        trainer.prepare(batch if batch is not None else feed.last)
        model.reset_metrics()
    watched.on_epoch_begin(epoch)
    trainer.begin_epoch()
    logs: Any = model.get_metrics_result() if in_the_middle else {}
    step = trained
    while batch is not None:  # as in Keras, a callback that stops the training is asked after a batch
        watched.on_train_batch_begin(step)
        logs = trainer.step(batch)
        watched.on_train_batch_end(step, logs)
        backup.end_step(epoch, step)
        step += 1
        batch = next(batches, None) if not model.stop_training else None
    return _results(trainer, logs, training=True)


def _restore(trainer: Trainer, batch: Any, backup: Backup) -> None:
    if batch is None:
        raise PlanError("The data hold no batch: there is nothing to train with.")
    trainer.prepare(batch)
    backup.load()


def _evaluate(trainer: Trainer, feed: Feed, watched: Any) -> dict[str, Any]:
    model = trainer.model
    model.stop_evaluating = False
    feed.reset()
    watched.on_test_begin()
    batches = feed.epoch()
    first = next(batches, None)
    if first is not None:
        trainer.prepare(first)
    model.reset_metrics()
    logs: Any = {}
    for step, batch in enumerate(chain([] if first is None else [first], batches)):
        watched.on_test_batch_begin(step)
        logs = trainer.test(batch)
        watched.on_test_batch_end(step, logs)
        if model.stop_evaluating:
            break
    found = _results(trainer, logs, training=False)
    watched.on_test_end(found)
    return found


def _results(trainer: Trainer, logs: Any, training: bool) -> dict[str, Any]:
    """What the step gave last, but for its metrics: those are of all replicas, and a step knows only its own."""
    found = trainer.model._get_metrics_result_or_logs(logs)
    if found is logs and isinstance(logs, dict):
        known = trainer.metric_logs(training)
        found = {name: known.get(name, value) for name, value in logs.items()}
    return dict(pythonify_logs(found))


def _callbacks(
    plan: "TrainingPlan", model: Any, given: Any, verbose: Any, *, epochs: int, steps: int | None, history: bool = False
) -> Any:
    """Of several hosts the first one alone shows progress."""
    if isinstance(given, keras.callbacks.CallbackList):
        return given
    if verbose == "auto":
        verbose = 1 if not plan.worker else 0
    return keras.callbacks.CallbackList(
        given, add_history=history, add_progbar=verbose != 0, verbose=verbose, epochs=epochs, steps=steps, model=model
    )


def _overrule(plan: "TrainingPlan", batch_size: int | None) -> None:
    if batch_size is not None and batch_size != plan.global_batch and plan.say_once("batch_size"):
        note(
            f"batch_size={batch_size} is overruled: the plan trains with {plan.global_batch} samples per update, "
            f"{plan.per_gpu_batch} at a time. For another batch make another plan."
        )


def _warn(plan: "TrainingPlan", model: Any, data: Data) -> None:
    free = available_bytes()
    said = [host_warning(plan.plan.input, free) if free is not None else ""]
    said.append(copied_whole_warning(array_bytes(data.x, data.y), plan.entry.device.capacity_bytes))
    if model.jit_compile and not plan.is_supervised and plan.say_once("unsupervised"):
        said.append(
            "The steps are compiled by XLA: if memory runs out after the first of them, TensorFlow ends the process. "
            "Start the script with `plimsoll run` to have it started again on the next rung, from its last checkpoint."
        )
    if (getattr(model, "steps_per_execution", 1) or 1) > 1 and plan.say_once("steps_per_execution"):
        said.append("steps_per_execution is not used: callbacks are called after every update.")
    for sentence in filter(None, said):
        note(sentence)
