"""Ray Train's trainers for a function of ours, found by name on each node.

trainer = tensorflow_trainer("module:function", {"any": "request"}, workers=2, gpus=1)
trainer = jax_trainer("module:function", {"any": "request"}, gpus=4)
result = trainer.fit()      # every worker reports what its function returned; return_value is the first one's
"""

import importlib
import os
from importlib.util import find_spec
from typing import Any

from planner_app.errors import PlannerError

NOT_INSTALLED = 'Training on a Ray cluster needs Ray Train, which is not installed: pip install "ray[train]".'


def tensorflow_trainer(entry: str, request: dict[str, Any], workers: int, gpus: int, **options: Any) -> Any:
    """
    Args:
        entry: The function for each worker to call with `request`, as `module:function`. It gives what is reported.
        gpus: Of each worker.
        options: As `TensorflowTrainer` takes them; a `scaling_config` of yours counts.

    Raises:
        PlannerError: Ray Train is not installed.
    """
    _check_installed()
    from ray.train.tensorflow import TensorflowTrainer

    return TensorflowTrainer(_loop(), **_given(entry, request, workers, gpus, options))


def jax_trainer(entry: str, request: dict[str, Any], gpus: int, **options: Any) -> Any:
    """One worker with all GPUs of a mesh. JAX starts in the process of the script, so Ray is not to start it.

    Raises:
        PlannerError: Ray Train is not installed, or is too old to have a trainer for JAX.
    """
    _check_installed()
    try:
        from ray.train.v2.jax import JaxTrainer
        from ray.train.v2.jax.config import JaxConfig
    except ImportError as error:
        raise PlannerError('This Ray has no JaxTrainer: get a newer one with pip install -U "ray[train]".') from error
    return JaxTrainer(_loop(), **{"jax_config": JaxConfig(), **_given(entry, request, 1, gpus, options)})


def _check_installed() -> None:
    if find_spec("ray") is None or find_spec("pyarrow") is None:
        raise PlannerError(NOT_INSTALLED)


def _given(entry: str, request: dict[str, Any], workers: int, gpus: int, options: dict[str, Any]) -> dict[str, Any]:
    from ray.train import ScalingConfig

    each = {"GPU": gpus} if gpus else {}
    scaling = ScalingConfig(num_workers=workers, use_gpu=bool(gpus), resources_per_worker={"CPU": 1, **each})
    return {"train_loop_config": {"entry": entry, "request": request}, "scaling_config": scaling, **options}


def _loop() -> Any:
    return on_worker  # Ray declares that it gives nothing


def on_worker(config: dict[str, Any]) -> dict[str, Any]:
    """What runs in each of Ray Train's workers."""
    from ray import train

    for name in ("TF_USE_LEGACY_KERAS", "OMP_NUM_THREADS"):  # Ray sets them: Keras 2, and one thread
        os.environ.pop(name, None)
    module, _, name = config["entry"].partition(":")
    found: dict[str, Any] = getattr(importlib.import_module(module), name)(config["request"])
    train.report(found)
    return found
