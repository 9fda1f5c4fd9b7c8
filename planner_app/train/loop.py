"""`plan.fit`, `evaluate` and `predict`: epochs, callbacks, validation and progress as Keras has them, around our steps.

Keras' fit can't train on several hosts, can't accumulate on several GPUs, and can't go on after an out-of-memory error.
"""

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
from planner_app.train.notes import note
from planner_app.train.recover.backup import Backup, backup_of
from planner_app.train.trainer import Trainer

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan


def fit(
    plan: "TrainingPlan",
    model: Any,
    x: Any = None,
    y: Any = None,
    batch_size: int | None = None,
    epochs: int = 1,
    verbose: Any = "auto",
    callbacks: Any = None,
    validation_split: float = 0.0,
    validation_data: Any = None,
    shuffle: Any = True,
    class_weight: Any = None,
    sample_weight: Any = None,
    initial_epoch: int = 0,
    steps_per_epoch: int | None = None,
    validation_steps: int | None = None,
    validation_batch_size: int | None = None,
    validation_freq: Any = 1,
) -> Any:
    """Trains, and gives Keras' history."""
    trainer = plan.trainer(model)
    if getattr(model, "optimizer", None) is None:
        raise PlanError("The model is not compiled: call model.compile(...) before it is trained.")
    _overrule(plan, batch_size)
    if validation_split and validation_data is None:
        (x, y, sample_weight), validation_data = train_validation_split((x, y, sample_weight), validation_split)
    prefetch = plan.plan.input.prefetch_batches
    feed = feed_of(
        model,
        x,
        y,
        sample_weight,
        batch=plan.global_batch,
        shuffle=shuffle,
        class_weight=class_weight,
        steps=steps_per_epoch,
        prefetch=prefetch,
    )
    _warn(plan, model, x, y)
    held_out = None
    if validation_data is not None:
        held_out = feed_of(
            model,
            *unpack_x_y_sample_weight(validation_data),
            batch=validation_batch_size or plan.global_batch,
            steps=validation_steps,
            prefetch=prefetch,
        )
    watched = _callbacks(plan, model, callbacks, verbose, epochs=epochs, steps=feed.batches, history=True)
    backup = backup_of(plan, model, watched)
    model.stop_training = False
    watched.on_train_begin()
    first, trained = backup.position(initial_epoch)
    for _ in range(initial_epoch, first):
        feed.skip_epoch()
    logs: dict[str, Any] | None = None
    for epoch in range(first, epochs):
        found = _epoch(trainer, feed, watched, backup, epoch, trained)
        trained = 0
        if found is None:
            break
        logs = found
        if held_out is not None and model._should_eval(epoch, validation_freq):
            results = _evaluate(trainer, held_out, watched)
            logs.update({f"val_{name}": value for name, value in results.items()})
        watched.on_epoch_end(epoch, logs)
        backup.end_epoch(epoch)
        if model.stop_training:
            break
    if backup.pending:  # the run had ended when it was interrupted
        _restore(trainer, feed.last or next(feed.epoch(), None), backup)
    if epochs > 0 and isinstance(model.optimizer, keras.optimizers.Optimizer):
        model.optimizer.finalize_variable_values(model.trainable_weights)
    watched.on_train_end(logs)
    backup.finish(epochs)
    return model.history


def evaluate(
    plan: "TrainingPlan",
    model: Any,
    x: Any = None,
    y: Any = None,
    batch_size: int | None = None,
    verbose: Any = "auto",
    sample_weight: Any = None,
    steps: int | None = None,
    callbacks: Any = None,
    return_dict: bool = False,
) -> Any:
    """What `model.evaluate` gives; a batch of any size is cut into shares that fit."""
    feed = feed_of(model, x, y, sample_weight, batch=batch_size or plan.global_batch, steps=steps)
    watched = _callbacks(plan, model, callbacks, verbose, epochs=1, steps=feed.batches)
    logs = _evaluate(plan.trainer(model), feed, watched)
    return logs if return_dict else model._flatten_metrics_in_order(logs)


def predict(
    plan: "TrainingPlan",
    model: Any,
    x: Any,
    batch_size: int | None = None,
    verbose: Any = "auto",
    steps: int | None = None,
    callbacks: Any = None,
) -> Any:
    """What `model.predict` gives; a batch of any size is cut into shares that fit."""
    trainer = plan.trainer(model)
    feed = feed_of(model, x, batch=batch_size or plan.global_batch, steps=steps)
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


def _epoch(
    trainer: Trainer, feed: Feed, watched: Any, backup: Backup, epoch: int, trained: int
) -> dict[str, Any] | None:
    """The logs, or None where there are no data. Batches that are trained already are only read."""
    model = trainer.model
    batches = feed.epoch_after(trained)
    batch = next(batches, None)
    if batch is None and not trained:
        if epoch == 0:
            raise PlanError("The data hold no batch: there is nothing to train with.")
        note(f"The data have ended: training stops after epoch {epoch}.")
        return None
    if backup.pending:
        _restore(trainer, batch if batch is not None else feed.last, backup)
    if not trained:
        model.reset_metrics()
    watched.on_epoch_begin(epoch)
    trainer.begin_epoch()
    logs: Any = model.get_metrics_result() if trained else {}
    step = trained
    while batch is not None and not model.stop_training:
        watched.on_train_batch_begin(step)
        logs = trainer.step(batch)
        watched.on_train_batch_end(step, logs)
        backup.end_step(epoch, step)
        step += 1
        batch = next(batches, None) if not model.stop_training else None
    return _results(model, logs)


def _restore(trainer: Trainer, batch: Any, backup: Backup) -> None:
    if batch is None:
        raise PlanError("The data hold no batch: there is nothing to train with.")
    trainer.prepare(batch)
    backup.load()


def _evaluate(trainer: Trainer, feed: Feed, watched: Any) -> dict[str, Any]:
    model = trainer.model
    model.stop_evaluating = False
    watched.on_test_begin()
    model.reset_metrics()
    logs: Any = {}
    for step, batch in enumerate(feed.epoch()):
        watched.on_test_batch_begin(step)
        logs = trainer.test(batch)
        watched.on_test_batch_end(step, logs)
        if model.stop_evaluating:
            break
    found = _results(model, logs)
    watched.on_test_end(found)
    return found


def _results(model: Any, logs: Any) -> dict[str, Any]:
    """The metrics over all replicas, where the step gave these; else what the step gave last."""
    return dict(pythonify_logs(model._get_metrics_result_or_logs(logs)))


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


def _warn(plan: "TrainingPlan", model: Any, x: Any, y: Any) -> None:
    free = available_bytes()
    said = [host_warning(plan.plan.input, free) if free is not None else ""]
    said.append(copied_whole_warning(array_bytes(x, y), plan.entry.device.capacity_bytes))
    if model.jit_compile and not plan.is_supervised and plan.say_once("unsupervised"):
        said.append(
            "The steps are compiled by XLA: if memory runs out after the first of them, TensorFlow ends the process. "
            "Start the script with `plimsoll run` to have it started again on the next rung, from its last checkpoint."
        )
    if (getattr(model, "steps_per_execution", 1) or 1) > 1 and plan.say_once("steps_per_execution"):
        said.append("steps_per_execution is not used: callbacks are called after every update.")
    for sentence in filter(None, said):
        note(sentence)
