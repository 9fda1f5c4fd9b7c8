"""The input pipeline in host memory, and what is wrong with a dataset before it is read.

host bytes = sample bytes x (batch x prefetched batches + samples in the shuffle buffer + samples cached)
"""

from collections.abc import Sequence
from dataclasses import dataclass

from planner_app.core.model.trace import Role, StepTrace
from planner_app.core.plan.plan import InputPlan
from planner_app.units import format_bytes

READ_AHEAD = 1  # the batch being assembled, besides those that wait
# Of the host's free memory; the rest is for the process itself, which TensorFlow makes half a gigabyte large.
SHARE_OF_HOST = 0.8


@dataclass(frozen=True, slots=True)
class InputSettings:
    """What a script's dataset does: `cached_samples` by cache() in memory, `shuffle_samples` by shuffle()."""

    prefetch_batches: int = 2
    shuffle_samples: int = 0
    cached_samples: int = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """One component of a dataset's elements; None is an unknown dimension."""

    name: str
    shape: tuple[int | None, ...]


def sample_bytes(trace: StepTrace) -> int:
    """Of one sample, inputs and targets together."""
    return sum(trace.sizes[v.size].slope for v in trace.variables if v.role is Role.INPUT)


def input_plan(settings: InputSettings, sample: int, batch: int) -> InputPlan:
    held = batch * (settings.prefetch_batches + READ_AHEAD) + settings.shuffle_samples + settings.cached_samples
    return InputPlan(
        sample_bytes=sample,
        prefetch_batches=settings.prefetch_batches,
        shuffle_samples=settings.shuffle_samples,
        cached_samples=settings.cached_samples,
        host_bytes=sample * held,
    )


def host_warning(plan: InputPlan, available_bytes: int) -> str:
    """A sentence if the pipeline needs more host memory than is free; empty if it fits."""
    if plan.host_bytes <= available_bytes * SHARE_OF_HOST:
        return ""
    parts = {"shuffle": plan.shuffle_samples, "cache": plan.cached_samples}
    largest = max(parts, key=lambda name: parts[name])
    advice = (
        f"{parts[largest]} samples of {largest}() take {format_bytes(parts[largest] * plan.sample_bytes)}: use fewer"
        if parts[largest]
        else "prefetch fewer batches, or use a smaller batch"
    )
    return (
        f"The input pipeline holds {format_bytes(plan.host_bytes)} in host memory, but only "
        f"{format_bytes(available_bytes)} "
        f"are free: {advice}."
    )


def batching_warning(given: Sequence[Tensor], expected: Sequence[Tensor]) -> str:
    """A sentence if a dataset is batched twice or not at all; empty if it matches the model.

    `expected` are the model's inputs with their batch dimension first, `given` the dataset's in the same order.
    """
    for tensor, wanted in zip(given, expected, strict=False):
        extra = len(tensor.shape) - len(wanted.shape)
        if extra == 1 and _alike(tensor.shape[2:], wanted.shape[1:]):
            return (
                f"The dataset is batched twice: {tensor.name} comes as {_shown(tensor.shape)}, but the model takes "
                f"{_shown(wanted.shape)}. Remove one .batch()."
            )
    return ""


def copied_whole_warning(array_bytes: int, capacity_bytes: int | None) -> str:
    """Keras keeps arrays that are passed to fit() in one piece; TensorFlow then copies them to the GPU whole."""
    if capacity_bytes is None or array_bytes <= capacity_bytes // 10:
        return ""
    return (
        f"The data are arrays of {format_bytes(array_bytes)}. Passed to model.fit() they would be copied whole "
        f"(_EagerConst) to the GPU, which has {format_bytes(capacity_bytes)}; plan.fit() keeps them in host memory."
    )


def _alike(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> bool:
    return len(left) == len(right) and all(a is None or b is None or a == b for a, b in zip(left, right, strict=True))


def _shown(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"
