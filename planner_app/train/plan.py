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
from planner_app.train.environment import apply_environment
from planner_app.train.machine import pick_entry, visible_gpus
from planner_app.train.notes import note

if TYPE_CHECKING:
    from planner_app.core.hardware.machine import Gpu

WORKER_VARIABLES = ("PLIMSOLL_WORKER", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


def load_plan(
    path: str | Path, *, device: str | None = None, rung: int = 0, worker: int | None = None
) -> "TrainingPlan":
    """Reads a plan and puts its environment in place. Call it before TensorFlow or Keras is imported.

    Args:
        path: A file that `plimsoll plan` or the app has written.
        device: Which of the plan's devices this is; by default the one this machine has.
        rung: Where on the ladder to start; 0 is the first.
        worker: With several hosts, which of them this is, from 0 on; by default what TF_CONFIG, Slurm or MPI say.

    Raises:
        PlanError: The file is not a plan that can be used, or not one for this machine.
    """
    plan = read_plan(path)
    gpus = visible_gpus() if any(entry.device.kind is DeviceKind.GPU for entry in plan.devices) else ()
    entry = pick_entry(plan, gpus, device)
    if not 0 <= rung < len(entry.rungs):
        raise PlanError(f"There is no rung {rung}: {entry.device.name} has {len(entry.rungs)} in this plan, from 0 on.")
    if worker is None:
        worker = next((int(os.environ[name]) for name in WORKER_VARIABLES if os.environ.get(name, "").isdigit()), None)
    for sentence in apply_environment(entry.environment):
        note(sentence)
    return TrainingPlan(plan, entry, rung, gpus, worker)


class TrainingPlan:
    """A plan, the entry for this machine, and the rung that training is on.

    Attributes:
        plan: What the file says.
        entry: The part of it for this kind of device.
        gpus: The GPUs as they were before TensorFlow started.
        worker: Which of the hosts this is, where somebody has said so.
    """

    def __init__(
        self, plan: Plan, entry: Entry, rung: int = 0, gpus: "tuple[Gpu, ...]" = (), worker: int | None = None
    ) -> None:
        self.plan, self.entry, self.gpus, self.worker = plan, entry, gpus, worker
        self._rung = rung

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

    def load_model(self, path: str | Path, custom_objects: dict[str, Any] | None = None) -> Any:
        """A model you trust, in the plan's precision and with the layers frozen that it does not train."""
        from planner_app.train.models import load_model

        return load_model(self, str(path), custom_objects)

    def synthetic_data(self, model: Any, samples: int) -> Any:
        """Samples of noise in the shapes that the model takes: to try a script before the data are there."""
        from planner_app.train.models import synthetic_data

        return synthetic_data(self, model, samples)

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
        from planner_app.train.trainer import Trainer

        return Trainer(self, model)

    def fit(self, model: Any, x: Any, y: Any = None, **options: Any) -> Any:
        """As `model.fit`, on the plan's devices and in its accumulation steps; goes on at the next rung when memory
        runs out, with the same weights, optimizer state, epoch, step and global batch.

        Takes epochs, initial_epoch, callbacks, validation_data, validation_freq, validation_steps, steps_per_epoch,
        sample_weight, shuffle and verbose, with the meaning they have in Keras.
        """
        from planner_app.train.loop import fit

        return fit(self, model, x, y, **options)

    def evaluate(self, model: Any, x: Any, y: Any = None, **options: Any) -> dict[str, float]:
        """As `model.evaluate(..., return_dict=True)`, as much at a time as the plan allows."""
        from planner_app.train.loop import evaluate

        return evaluate(self, model, x, y, **options)

    def watch(self, report: str | Path | None = None) -> Any:
        """A callback that holds the live peak against the plan, warns of drift and leaks, and writes a run report."""
        from planner_app.train.watch import make_watch

        return make_watch(self, report)

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
