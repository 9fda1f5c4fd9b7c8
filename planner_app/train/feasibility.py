"""Whether a model would fit, for tuners: no GPU, no run, and no trial that dies."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Feasibility:
    """True where it fits. `margin_bytes` is what would be left, below zero what is missing; None without a limit."""

    fits: bool
    margin_bytes: int | None
    peak_bytes: int
    capacity_bytes: int | None

    def __bool__(self) -> bool:
        return self.fits


def fits(
    model: Any,
    batch: int,
    *,
    device: str = "cpu",
    precision: str | None = None,
    optimizer: str | None = None,
    gpus: int = 1,
    accumulate: int = 1,
    jit: str = "auto",
    loss: str = "",
    surely: bool = False,
) -> Feasibility:
    """Whether one way to train is expected to fit a device. Takes seconds the first time, and no GPU.

    A tuner asks before it trains:

        class Tuner(keras_tuner.RandomSearch):
            def run_trial(self, trial, *args, **kwargs):
                hp = trial.hyperparameters
                model = self.hypermodel.build(hp)
                room = fits(model, hp.get("batch_size"), device="NVIDIA L4")
                if not room:
                    raise keras_tuner.errors.FailedTrialError(f"needs {-room.margin_bytes} bytes more")
                return super().run_trial(trial, *args, **kwargs)

    Args:
        model: A Keras model, or the path of a saved one.
        batch: Samples per update over all GPUs and accumulation steps.
        device: A GPU as "NVIDIA L4", a size as "24GiB", or "cpu:8GiB".
        precision: A Keras dtype policy; by default the model's own.
        optimizer: As "adam" or "sgd:momentum=0.9"; by default the model's own.
        surely: Even at the high end of the band, not only as expected.

    Raises:
        PlannerError: The model, the device or the way to train is none.
    """
    from planner_app.core.hardware.runtime import allocator_limit_bytes
    from planner_app.core.model.setup import Jit, Precision, Setup, parse_optimizer
    from planner_app.errors import SetupError
    from planner_app.files.devices.catalogue import find_device
    from planner_app.planner.opening import check_model
    from planner_app.planner.tracer import Tracer

    named = isinstance(model, (str, Path))
    wanted = precision or ("float32" if named else str(model.dtype_policy.name))
    if wanted not in list(Precision):
        raise SetupError(f"{wanted!r} is no precision: expected one of {', '.join(Precision)}.")
    if jit not in list(Jit):
        raise SetupError(f"jit is {jit!r}: expected one of {', '.join(Jit)}.")
    setup = Setup(
        batch=batch,
        precision=Precision(wanted),
        gpus=gpus,
        accumulate=accumulate,
        optimizer=parse_optimizer(optimizer or ("adam" if named else _optimizer(model))),
        jit=Jit(jit),
        loss=loss,
    )
    found = find_device(device)
    with ExitStack() as stack:
        path = str(model) if named else _saved(model, stack)
        tracer = Tracer(check_model(path))
        point = tracer.memory(setup.step(found.target)).point(setup.per_gpu_batch)
        tracer.keep()
    peak = point.high_bytes if surely else point.in_use_bytes
    capacity = allocator_limit_bytes(found)
    margin = None if capacity is None else capacity - peak
    return Feasibility(margin is None or margin >= 0, margin, peak, capacity)


def _saved(model: Any, stack: ExitStack) -> str:
    """The configuration alone, until the stack is left: weights are not needed."""
    import tempfile

    from planner_app.errors import ModelError
    from planner_app.files.writing import reason, write_atomically

    text = model.to_json()
    try:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plimsoll")), "model.json")
        write_atomically(path, text.encode())
    except OSError as error:
        raise ModelError(f"The model can't be written for the worker to read: {reason(error)}.") from error
    return str(path)


def _optimizer(model: Any) -> str:
    optimizer = getattr(model, "optimizer", None)
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return "adam" if inner is None else type(inner).__name__.lower()
