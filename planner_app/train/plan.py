"""A plan as a training script uses it. Nothing here imports TensorFlow before it is asked for."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner_app.core.plan.plan import DeviceKind, Entry, Plan, Rung
from planner_app.errors import PlanError
from planner_app.files.plan_reading import read_plan
from planner_app.train.data.given import Data, Epochs, Validation
from planner_app.train.environment import apply_environment
from planner_app.train.machine import pick_entry, this_worker, visible_gpus
from planner_app.train.notes import note
from planner_app.train.recover.run import DEVICE, PLAN, ChildRun, child_run, rung_from_environment

if TYPE_CHECKING:
    from planner_app.core.hardware.machine import Gpu


def load_plan(
    path: str | Path | None = None, *, device: str | None = None, rung: int | None = None, worker: int | None = None
) -> "TrainingPlan":
    """Reads a plan and puts its environment in place. Call it before TensorFlow or Keras is imported.

    Args:
        path: A file that `plimsoll plan` or the app has written; by default what PLIMSOLL_PLAN names, which
            `plimsoll run` sets.
        device: Which of the plan's devices this is; by default what PLIMSOLL_DEVICE says, else what this machine has.
        rung: Where on the ladder to start; by default what PLIMSOLL_RUNG says, else 0, the first. Under `plimsoll run`
            training starts no higher than the supervisor says.
        worker: With several hosts, which of them this is, from 0 on; by default what TF_CONFIG, Slurm or MPI say.

    Raises:
        PlanError: The file is not a plan that can be used, or not one for this machine.
    """
    path = path if path is not None else os.environ.get(PLAN)
    if path is None:
        raise PlanError("No plan is named: call load_plan('plan.json'), or set PLIMSOLL_PLAN.")
    plan = read_plan(path)
    gpus = visible_gpus() if any(entry.device.kind is DeviceKind.GPU for entry in plan.devices) else ()
    entry = pick_entry(plan, gpus, device or os.environ.get(DEVICE) or None)
    run, said = child_run(), rung_from_environment()
    chosen = (said or 0) if rung is None else max(rung, said or 0) if run is not None else rung
    if not 0 <= chosen < len(entry.rungs):
        raise PlanError(
            f"There is no rung {chosen}: {entry.device.name} has {len(entry.rungs)} in this plan, from 0 on."
        )
    if worker is None:
        worker = this_worker()
    for sentence in apply_environment(entry.environment):
        note(sentence)
    return TrainingPlan(plan, entry, chosen, gpus, worker, run)


class TrainingPlan:
    """A plan, the entry for this machine, and the rung that training is on.

    Attributes:
        plan: What the file says.
        entry: The part of it for this kind of device.
        gpus: The GPUs as they were before TensorFlow started.
        worker: Which of the hosts this is, where somebody has said so.
        run: The supervised run that this process is part of; None without `plimsoll run`.
    """

    def __init__(
        self,
        plan: Plan,
        entry: Entry,
        rung: int = 0,
        gpus: "tuple[Gpu, ...]" = (),
        worker: int | None = None,
        run: ChildRun | None = None,
    ) -> None:
        self.plan, self.entry, self.gpus, self.worker, self.run = plan, entry, gpus, worker, run
        self._rung = rung
        self._said: set[str] = set()
        self._fits = 0
        self._trainer: Any = None

    @property
    def is_supervised(self) -> bool:
        return self.run is not None

    def say_once(self, what: str) -> bool:
        """Whether this has not been said yet."""
        new = what not in self._said
        self._said.add(what)
        return new

    def next_fit(self) -> int:
        """A number for each call of `fit`, the same when the script is started again."""
        self._fits += 1
        return self._fits - 1

    @property
    def rung(self) -> int:
        """The rung that training is on; it grows when memory runs out."""
        return self._rung

    @property
    def current(self) -> Rung:
        return self.entry.rungs[self._rung]

    @property
    def global_batch(self) -> int:
        """Samples per update, over all GPUs and accumulation steps: the same on every rung."""
        return self.plan.training.global_batch

    @property
    def per_gpu_batch(self) -> int:
        return self.current.per_gpu_batch

    @property
    def accumulate(self) -> int:
        return self.current.accumulate

    @property
    def precision(self) -> str:
        return str(self.current.precision)

    @property
    def hosts(self) -> int:
        return max(1, len(self.plan.hosts))

    @cached_property
    def strategy(self) -> Any:
        """The `tf.distribute` strategy: made once, as the first thing that TensorFlow does."""
        from planner_app.train.strategy import make_strategy

        return make_strategy(self)

    @contextmanager
    def scope(self) -> Iterator[Any]:
        """Where the model is built and compiled: under the strategy, the precision and the rematerialisation."""
        if self.entry.sharding is not None:
            from planner_app.train import sharded

            with sharded.scope(self, self.entry.sharding) as over:
                yield over
            return
        from planner_app.train.policies import precision_and_remat

        with self.strategy.scope(), precision_and_remat(self.precision, self.plan.training.remat):
            yield self.strategy

    def optimizer(self, name: str | None = None, **options: Any) -> Any:
        """The Keras optimizer the plan is for, or the named one, with options of yours such as a learning rate."""
        from planner_app.train.policies import make_optimizer

        return make_optimizer(self.plan.training.optimizer, name, options)

    def compile_options(self) -> dict[str, Any]:
        """What `model.compile` must be told besides optimizer, loss and metrics."""
        return {"jit_compile": self.current.jit}

    def loss(self) -> Any:
        """The Keras loss the plan was made with, where it names one."""
        from planner_app.train.policies import make_loss

        return make_loss(self.plan.training.loss)

    def keep_compiled(self, model: Any, **changes: Any) -> Any:
        """The model as its author compiled it; only whether XLA compiles the step is the plan's.

        Args:
            changes: An `optimizer` or a `loss` instead of the author's. Metrics go with the loss.
        """
        from planner_app.train.models import keep_compiled

        return keep_compiled(self, model, **changes)

    def load_model(self, path: str | Path, custom_objects: dict[str, Any] | None = None) -> Any:
        """A model you trust, in the plan's precision and with the layers frozen that it does not train."""
        from planner_app.train.models import load_model

        return load_model(self, str(path), custom_objects)

    def synthetic_data(self, model: Any, samples: int) -> Any:
        """Samples of noise in the shapes that the model takes: to try a script before the data are there.

        A dataset; on JAX arrays: inputs and targets.
        """
        if self.entry.sharding is not None:
            from planner_app.train import sharded

            return sharded.synthetic_data(self, model, samples)
        from planner_app.train.models import synthetic_data

        return synthetic_data(self, model, samples)

    def fine_tune(self, model: Any) -> None:
        """Quantises the model, adds the adapters and freezes the rest as the plan says. Call it before compiling."""
        from planner_app.core.model.fine_tune import fine_tune

        fine_tune(model, self.plan.training.lora, self.plan.training.quantize)

    def freeze(self, model: Any) -> None:
        """Freezes the layers that the plan does not train. Call it before `model.compile`."""
        from planner_app.train.policies import freeze

        freeze(model, self.plan.training.freeze)

    def check(self, model: Any = None) -> None:
        """Whether the plan can be kept here and now.

        Raises:
            PlanError: Another model, another device, or not enough free memory: what, and what to do.
        """
        from planner_app.train.checks import check

        check(self, model)

    def batch(self, dataset: Any, *, drop_remainder: bool = False) -> Any:
        """A dataset of single samples in global batches, read ahead as the plan says."""
        return dataset.batch(self.global_batch, drop_remainder=drop_remainder).prefetch(
            self.plan.input.prefetch_batches or 1
        )

    def trainer(self, model: Any) -> Any:
        """For training loops of your own: `trainer.step(batch)` is one update with one global batch."""
        if self.entry.sharding is not None:
            raise PlanError(
                "Loops of your own are for plans on TensorFlow: on JAX, write them with model.stateless_call."
            )
        from planner_app.train.trainer import Trainer

        kept = self._trainer
        if kept is None or kept[0].model is not model or kept[0].compiled_with is not kept[1]:
            trainer = Trainer(self, model)
            self._trainer = kept = trainer, trainer.compiled_with
        return kept[0]

    def fit(
        self,
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
        """As `model.fit`, on the plan's devices and in its accumulation steps; goes on at the next rung when memory
        runs out, with the same weights, optimizer state, epoch, step and global batch.

        Every argument means what it means in Keras. The batch size is the plan's: another one is overruled.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        if self.entry.sharding is not None:
            from planner_app.train import sharded

            return sharded.fit(self, **given)
        from planner_app.train import loop

        data = Data(x, y, sample_weight, class_weight, shuffle, steps_per_epoch)
        validation = Validation(
            validation_data, validation_split, validation_steps, validation_batch_size, validation_freq
        )
        return loop.fit(self, model, data, validation, Epochs(initial_epoch, epochs), callbacks, verbose, batch_size)

    def evaluate(
        self,
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
        """As `model.evaluate`, as much at a time as the plan allows."""
        if self.entry.sharding is not None:
            given = {name: value for name, value in locals().items() if name not in ("self", "model")}
            return model.evaluate(**given)
        from planner_app.train import loop

        data = Data(x, y, sample_weight, steps=steps)
        logs = loop.evaluate(self, model, data, callbacks, verbose, batch_size)
        return logs if return_dict else model._flatten_metrics_in_order(logs)

    def predict(
        self,
        model: Any,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """As `model.predict`, as much at a time as the plan allows."""
        if self.entry.sharding is not None:
            return model.predict(x, batch_size=batch_size, verbose=verbose, steps=steps, callbacks=callbacks)
        from planner_app.train import loop

        return loop.predict(self, model, Data(x, steps=steps), callbacks, verbose, batch_size)

    def watch(
        self,
        report: str | Path | None = None,
        *,
        tensorboard: str | Path | None = None,
        csv: str | Path | None = None,
        verbose: bool = True,
    ) -> Any:
        """A callback that holds the live peak against the plan, and warns of drift and leaks.

        Args:
            report: A file for a measurement, which the app opens and `plimsoll calibrate` reads.
            tensorboard: A folder for TensorBoard: peak, planned peak and band, memory between steps, after each update.
            csv: A file for the same as a table.
            verbose: Whether a line is shown after each epoch, and a comparison by term at the end.

        Raises:
            PlanError: The plan is for Keras on JAX, which has no allocator of TensorFlow's to watch.
        """
        if self.entry.sharding is not None:
            raise PlanError(
                "plan.watch() reads TensorFlow's allocator, and this plan is for Keras on JAX: leave it out. "
                "`plimsoll measure --backend jax` measures such a step."
            )
        from planner_app.train.observe.watch import make_watch

        return make_watch(self, report, tensorboard, csv, verbose)

    def ray_trainer(
        self,
        script: str | Path,
        *arguments: str,
        folder: str | Path | None = None,
        every: int | None = None,
        tries: int = 10,
        **options: Any,
    ) -> Any:
        """Ray Train's `TensorflowTrainer` for a training script: call its `fit()`. The plan has a host for each worker.
        For a plan on JAX it is a `JaxTrainer`, with one worker that has all GPUs of the mesh.

        Every worker runs the script as `plimsoll run` does, and all of them agree on the rung and the checkpoint when
        memory runs out on one. The script's text is sent along; what it imports must be on the nodes, or be sent by
        Ray's own `runtime_env`.

        Args:
            script: It calls `load_plan()` without a path, and saves what it has trained.
            arguments: For the script.
            folder: A folder that all nodes see, where checkpoints go: a run whose node was lost goes on from there. By
                default one on each node, which is removed at the end.
            every: A checkpoint after so many updates; by default after each epoch.
            tries: How often a process is started at most.
            options: As the trainer takes them, as `run_config` and `scaling_config`.

        Raises:
            PlannerError: Ray Train is not installed, or the script can't be read.
        """
        from planner_app.train.recover.on_ray import ray_trainer

        return ray_trainer(self, script, *arguments, folder=folder, every=every, tries=tries, **options)

    def descend(self) -> Rung:
        """The next rung, which needs less.

        Raises:
            PlanError: This was the last one.
        """
        if self._rung + 1 >= len(self.entry.rungs):
            raise PlanError(
                f"Memory ran out on the plan's last rung: {self.per_gpu_batch} samples at a time, {self.precision}. "
                "Make a plan with a smaller model, a lower precision (--allow mixed_bfloat16) or a larger device."
            )
        self._rung += 1
        return self.current
