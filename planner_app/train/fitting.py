"""Training without a plan file: a plan is made for this machine when the training starts.

@fitting(build, batch=256)
def train(plan):
    with plan.scope():
        model = build()
        model.compile(plan.optimizer("adam"), loss="mse", **plan.compile_options())
    return plan.fit(model, dataset, epochs=3)

train()
"""

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner_app.core.plan.plan import Plan
from planner_app.errors import DeviceError, PlanError, PlannerError
from planner_app.files.host import available_bytes
from planner_app.files.plan_reading import parse_plan
from planner_app.train.environment import apply_environment
from planner_app.train.machine import visible_gpus
from planner_app.train.notes import note
from planner_app.train.plan import TrainingPlan
from planner_app.train.recover.run import DEVICE, child_run, rung_from_environment

if TYPE_CHECKING:
    from typing import Unpack

    from planner_app.planner.api.setups import SetupOptions

SECONDS = 600  # for a function that builds a model, and the traces of it
MIB = 1 << 20


def fitting(model: Any, *, batch: int | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the function is called with a plan that fits this machine now, before its own arguments.

    Takes what `plan_for` takes. The plan is made when the function is called; `function.plan()` gives it alone.
    """

    def decorate(train: Callable[..., Any]) -> Any:
        def made() -> TrainingPlan:
            return plan_for(model, batch=batch, **options)

        @wraps(train)
        def fitted(*args: Any, **kwargs: Any) -> Any:
            return train(made(), *args, **kwargs)

        fitted.plan = made  # type: ignore[attr-defined]
        return fitted

    return decorate


def plan_for(
    model: Any,
    *,
    batch: int | None = None,
    device: str | None = None,
    allow: Sequence[str] = (),
    sure: bool = False,
    **options: "Unpack[SetupOptions]",
) -> TrainingPlan:
    """A plan for this machine as it is now: how many samples at a time, in how many steps, in which precision.

    Args:
        model: A Keras model, a function that builds one, or the path of a saved one.
        batch: Samples per update; by default the largest power of two that fits at once.
        device: A GPU as "NVIDIA L4", a size as "24GiB", "cpu" or "cpu:8GiB"; by default what PLIMSOLL_DEVICE says,
            else the machine's first GPU, else the CPU with the memory that is free.
        allow: Lower precisions that the plan may take where the batch does not fit otherwise.
        sure: Even at the high end of the band, not only as expected.
        options: As `SetupOptions` has them: precision, gpus, optimizer, jit, loss and more.

    Raises:
        PlannerError: Nothing fits, or the model can't be estimated.
    """
    request = {"batch": batch, "device": device or os.environ.get(DEVICE) or this_device(), "allow": tuple(allow)}
    given = {**request, "sure": sure, **options}
    is_function = callable(model) and not hasattr(model, "train_step")
    if is_function and not _tensorflow_runs():
        plan = _made_elsewhere(model, given)
    else:
        plan = _made(model() if is_function else model, given)
    entry = plan.devices[0]
    for sentence in apply_environment(entry.environment):
        note(sentence)
    rung = min(rung_from_environment() or 0, len(entry.rungs) - 1)
    return TrainingPlan(plan, entry, rung, visible_gpus(), None, child_run())


def _tensorflow_runs() -> bool:
    """Whether it has its threads, which a fork would not have, and has taken the GPU's memory already."""
    current = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    return bool(getattr(current, "_initialized", False))


def this_device() -> str:
    """The machine's first GPU, by its name or its size; else the CPU with the memory that is free."""
    from planner_app.files.devices.catalogue import find_device

    for gpu in visible_gpus()[:1]:
        try:
            return find_device(gpu.name or "").name
        except DeviceError:
            capability = gpu.compute_capability
            suffix = f":{capability[0]}.{capability[1]}" if capability else ""
            return f"{(gpu.total_bytes or 0) // MIB}MiB{suffix}"
    free = available_bytes()
    return "cpu" if free is None else f"cpu:{free // MIB}MiB"


def _made(model: Any, request: dict[str, Any]) -> Plan:
    from planner_app.planner.api.handle import open_model

    opened = open_model(model, progress=False)
    if "precision" not in request and not isinstance(model, (str, Path)):
        request = {**request, "precision": str(model.dtype_policy.name)}
    if request["batch"] is None:
        more = {name: value for name, value in request.items() if name not in ("batch", "allow", "sure")}
        solved = opened.max_batch(**more)
        most = (solved.sure if request["sure"] else solved.counting_tight).batch
        if most < 1:
            raise PlanError(f"Not even one sample fits {request['device']}: take a smaller model, or a larger device.")
        request = {**request, "batch": (1 << (most.bit_length() - 1)) * request.get("gpus", 1)}
    return opened.plan(**request)


def _made_elsewhere(build: Callable[[], Any], request: dict[str, Any]) -> Plan:
    """In a process of its own without GPUs: TensorFlow takes all memory of a GPU as soon as it makes a variable."""
    import multiprocessing
    import warnings

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(build, request, theirs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: TensorFlow has none before it is used
        child.start()
    theirs.close()
    try:
        if not ours.poll(SECONDS):
            raise PlanError(f"The function that builds the model did not answer within {SECONDS} seconds.")
        answer = ours.recv()
    except EOFError as error:
        raise PlanError("The function that builds the model ended its process.") from error
    finally:
        child.kill()
        child.join()
        ours.close()
    if "error" in answer:
        raise PlanError(answer["error"])
    return parse_plan(answer["plan"], "the plan")


def _answer(build: Callable[[], Any], request: dict[str, Any], answer: Any) -> None:
    from planner_app.files.plans import plan_text

    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    try:
        plan = _made(build(), request)
        text = plan_text(plan)
        answer.send({"plan": text if isinstance(text, bytes) else text.encode()})
    except PlannerError as error:
        answer.send({"error": str(error)})
    except BaseException as error:
        said = f"{type(error).__name__}: {str(error)[:500]}"
        answer.send({"error": f"The function that builds the model failed: {said}"})
    os._exit(0)
