"""Training on Keras with JAX: the plan's mesh and layout as Keras' distribution, and `fit` as Keras has it.

Nothing here imports TensorFlow. Steps are Keras' own: gradients are accumulated by the optimizer.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from planner_app.core.plan.plan import DeviceKind, PlannedSharding
from planner_app.core.sharding.layout import LayoutName
from planner_app.core.sharding.mesh import BATCH, MODEL
from planner_app.errors import PlanError
from planner_app.train.models import LABELS, Tensor, sample_of
from planner_app.train.notes import note
from planner_app.train.policies import precision_and_remat

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan


def distribution(planned: PlannedSharding) -> Any:
    """Keras' distribution over this machine's devices.

    Raises:
        PlanError: There are not as many devices as the plan is for, or Keras was started on another backend.
    """
    if keras.backend.backend() != "jax":
        raise PlanError(
            f"The plan is for Keras on JAX, and Keras runs on {keras.backend.backend()}: call load_plan() before keras "
            "is imported, and unset KERAS_BACKEND."
        )
    devices = keras.distribution.list_devices()
    if len(devices) < planned.mesh.gpus:
        raise PlanError(f"The plan's mesh of {planned.mesh} needs {planned.mesh.gpus} devices, JAX has {len(devices)}.")
    chosen = np.array(devices[: planned.mesh.gpus])
    if planned.layout == LayoutName.DATA:
        return keras.distribution.DataParallel(devices=list(chosen))
    mesh = keras.distribution.DeviceMesh((planned.data, planned.model), (BATCH, MODEL), devices=chosen)
    rules = keras.distribution.LayoutMap(mesh)
    for pattern, axes in planned.rules.items():
        rules[pattern] = tuple(axes)
    return keras.distribution.ModelParallel(layout_map=rules, batch_dim_name=BATCH)


@contextmanager
def scope(plan: "TrainingPlan", planned: PlannedSharding) -> Iterator[Any]:
    """Where the model is built. The distribution stays: Keras asks for it when it trains."""
    if plan.entry.device.kind is DeviceKind.CPU:
        _simulate(planned.mesh.gpus)
    over = distribution(planned) if planned.mesh.gpus > 1 else None
    keras.distribution.set_distribution(over)
    with precision_and_remat(plan.precision, plan.plan.training.remat):
        yield over


def _simulate(devices: int) -> None:
    """As many devices as the mesh has, on the CPU; too late where JAX has started already."""
    import jax

    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", devices)  # type: ignore[no-untyped-call]


def fit(plan: "TrainingPlan", model: Any, **given: Any) -> Any:
    """Keras' own `fit` with the plan's batch, in its accumulation steps."""
    if getattr(model, "optimizer", None) is None:
        raise PlanError("The model is not compiled: call model.compile(...) before it is trained.")
    if plan.entry.sharding is not None:
        check_layout(plan.entry.sharding, model)
    if plan.run is not None and plan.run.every is not None and plan.say_once("every"):
        note("On JAX there is a checkpoint after every epoch: --every is for plans on TensorFlow.")
    at_a_time = plan.global_batch // plan.accumulate
    if given.get("batch_size") not in (None, plan.global_batch, at_a_time):
        note(f"batch_size={given['batch_size']} is overruled: the plan's batch is {plan.global_batch}.")
    accumulate(model.optimizer, plan.accumulate)
    given["batch_size"] = at_a_time if isinstance(given.get("x"), np.ndarray | dict | list | tuple) else None
    if plan.run is not None:
        given["callbacks"] = [*_listed(given["callbacks"]), _backup(plan, plan.run.folder)]
    return model.fit(**given)


def check_layout(planned: PlannedSharding, model: Any) -> None:
    """Rules that were made for a model name its variables. One of other names would lie whole on every device."""
    if not model.built or planned.layout not in (LayoutName.AUTO, LayoutName.FSDP):
        return
    paths = [each.path for each in model.variables]
    for pattern in planned.rules:
        if not any(re.fullmatch(pattern, path) for path in paths):
            raise PlanError(
                f"The plan's layout has a rule for {pattern!r}, and the model has no such variable: its layers have "
                "other names than in the plan. Give them names, or build the model first in its process."
            )


def _backup(plan: "TrainingPlan", folder: Path) -> Any:
    """Keras' own, after every epoch: a script that is started again goes on from there. An optimizer that adds up
    gradients has more variables than one that doesn't, so each kind has its own."""
    kind = "accumulating" if plan.accumulate > 1 else "plain"
    return keras.callbacks.BackupAndRestore(str(folder / "jax" / f"fit{plan.next_fit()}-{kind}"))


def _listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]


def accumulate(optimizer: Any, steps: int) -> None:
    """The optimizer adds up the gradients of so many steps before it updates."""
    if (optimizer.gradient_accumulation_steps or 1) == steps:
        return
    if optimizer.built:
        raise PlanError(
            f"The plan adds up the gradients of {steps} steps, and the optimizer has been used already: compile the "
            "model anew, inside `with plan.scope():`."
        )
    optimizer.gradient_accumulation_steps = steps if steps > 1 else None


def synthetic_data(plan: "TrainingPlan", model: Any, samples: int) -> tuple[Any, Any]:
    """Arrays of noise in the shapes the model and its loss take."""
    rng, about = np.random.default_rng(0), sample_of(plan, model)
    x = about.as_inputs([_noise(rng, samples, tensor) for tensor in about.inputs])
    return x, about.as_targets({name: _noise(rng, samples, tensor) for name, tensor in about.targets.items()})


def _noise(rng: Any, samples: int, tensor: Tensor) -> Any:
    shape = (samples, *tensor.shape)
    if tensor.integral:
        return rng.integers(0, LABELS, shape).astype(tensor.dtype)
    found = rng.random(shape, dtype="float32")
    return found if tensor.dtype == "bfloat16" else found.astype(tensor.dtype)
