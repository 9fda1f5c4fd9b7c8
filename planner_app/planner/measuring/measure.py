"""Measure a point: one process after the other, each fresh, and all that was found kept whatever happens to them.

result = measure(checked, Setup(batch=32), Place(limit_bytes=8 << 30), on_progress=show, cancelled=event)
result.peak_bytes, result.oom, result.ended
"""

import platform
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from planner_app import __version__
from planner_app.core.hardware.machine import Machine
from planner_app.core.measure.measurement import Measurement, Order, Place, Run, Step, Versions
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.errors import Cancelled, PlannerError
from planner_app.gpu.nvml import machine_gpus
from planner_app.jobs.job import Job, result_of
from planner_app.jobs.last_words import out_of_memory
from planner_app.jobs.protocol import Limits, Measure, Progress
from planner_app.jobs.versions import figures_depend_on
from planner_app.planner.measuring.pace import Pace
from planner_app.planner.measuring.place import OF_THE_MACHINE, TENSORFLOW_BYTES, machine_bytes, placed

OnProgress = Callable[[Progress], None]
OnPart = Callable[[Measurement], None]

STEPS = 5
# The first rewrites the graph, the second finds the variables where the first left them; then two to compare.
INLINE_STEPS = 4
FIT_STEPS = 3
LEAK_STEPS = 7  # from so many steps or fits on a slope means something


def measure(
    model: CheckedModel,
    setup: Setup,
    place: Place,
    *,
    order: Order = Order.ORDINARY,
    steps: int | None = None,
    fits: int = 0,
    processes: int = 1,
    on_progress: OnProgress | None = None,
    on_part: OnPart | None = None,
    cancelled: threading.Event | None = None,
    machine: Machine | None = None,
) -> Measurement:
    """Real training steps of a model under a setup.

    Args:
        order: One by one as on a GPU, or as TensorFlow's threads have it. GPUs have only the latter.
        steps: In each process; in each call of `fit`, if there are some.
        fits: Calls of `fit` to make in each process instead of single steps.
        processes: The peak of one and the same step differs between processes by up to a fifth.
        on_part: Hears after every process what there is by then: worth keeping, should the next one be the end of us.
        cancelled: Once set, from any thread, the process is ended within a second.

    Returns:
        What was measured. Where something stopped it, `ended` says what, and what came before is kept.

    Raises:
        PlannerError: Nothing at all was measured.
    """
    machine = machine or machine_gpus()
    where = placed(place, setup, machine, order)
    count = steps or _usual_steps(setup, order, fits)
    request = Measure(
        model=model,
        setup=setup,
        place=where.place,
        order=order,
        steps=count,
        fits=fits,
        watch=where.uuids,
        grows=(fits or count) >= LEAK_STEPS,
        one_region=place.limit_bytes is not None and not place.on_gpu,
    )
    found = Measurement(
        versions=_versions(machine),
        hardware=where.hardware,
        place=where.place,
        order=order,
        model=model.name,
        model_sha256=model.sha256,
        setup=setup,
        measured_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        runs=(),
        fits=fits,
        one_region=request.one_region,
    )
    pace = Pace(processes)
    for number in range(processes):
        try:
            run = run_process(request, pace.telling(number, on_progress), cancelled)
        except (PlannerError, Cancelled) as error:
            if isinstance(error, CutShort):
                found = replace(found, runs=(*found.runs, error.run))
            if not found.runs:
                raise
            return replace(found, ended=str(error))
        found = replace(found, runs=(*found.runs, run), versions=_told_by(run, found.versions))
        if on_part is not None:
            on_part(found)
    return found


def _usual_steps(setup: Setup, order: Order, fits: int) -> int:
    """Enough for steady ones, with an update among them."""
    usual = FIT_STEPS if fits else INLINE_STEPS if order is Order.INLINE else STEPS
    return max(usual, setup.accumulate + 2 if setup.accumulate > 1 else 0)


class CutShort(PlannerError):
    """The process did not get to its end, but some steps."""

    def __init__(self, error: PlannerError | Cancelled, run: Run) -> None:
        super().__init__(str(error), error.detail if isinstance(error, PlannerError) else "")
        self.cause, self.run = error, run


def run_process(request: Measure, on_progress: OnProgress, cancelled: threading.Event | None = None) -> Run:
    """One process. Steps come with its progress, so that they are known even if it is killed."""
    steps: list[Step] = []
    during = ""

    def hear(event: Progress) -> None:
        nonlocal during
        during = event.text.partition(" of ")[0]
        steps.extend(msgspec.json.decode(result, type=Step) for result in event.results)
        on_progress(event)

    try:
        return result_of(Job(request, limits(request), cancelled=cancelled), Run, hear)
    except (PlannerError, Cancelled) as error:
        oom = None if isinstance(error, Cancelled) else out_of_memory(error.detail, during)
        run = Run(steps=tuple(steps), oom=oom, ended=str(error))
        if oom is not None:
            return run
        if steps:
            raise CutShort(error, run) from error
        raise


def limits(request: Measure) -> Limits:
    """The allocator keeps its own limit; the process may have more, but not the whole machine."""
    machine = machine_bytes()
    most = int(machine * OF_THE_MACHINE) if machine else request.limits.memory_bytes
    given = request.place.limit_bytes
    if given is not None and not request.place.on_gpu:
        most = min(most, given + TENSORFLOW_BYTES + _twice_the_weights(request.model))
    return msgspec.structs.replace(request.limits, memory_bytes=most)


def _twice_the_weights(model: CheckedModel) -> int:
    """Values are made beside the allocator before it gets them."""
    return 2 * model.file_bytes


def _versions(machine: Machine) -> Versions:
    return Versions(
        plimsoll=__version__,
        **figures_depend_on(),
        python=platform.python_version(),
        driver=machine.driver_version,
    )


def _told_by(run: Run, versions: Versions) -> Versions:
    """The worker's Python may be another one: what it says counts."""
    tensorflow = run.tensorflow or ("" if run.jax else versions.tensorflow)
    return replace(versions, tensorflow=tensorflow, keras=run.keras or versions.keras, jax=run.jax)
