"""Why a peak may be lower or higher than expected: every part of the band has a name, its bytes and a reason."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner_app.core.model.trace import Role, StepTrace
from planner_app.core.replay.allocate import Peak, live
from planner_app.core.replay.liveness import Buffers

# GetDnnWorkspaceLimitOrDefault (conv_ops_gpu.cc): TF_CUDNN_WORKSPACE_LIMIT_IN_MB, by default this.
WORKSPACE_LIMIT_BYTES = 8 << 30
# redzone_allocator.h, kDefaultRedzoneSize: one before and one behind what the autotuner lets a kernel write to.
RED_ZONES_BYTES = 2 * (8 << 20)
LATE = "late filter gradients"


@dataclass(frozen=True, slots=True)
class BandPart:
    """Attributes:
    low_bytes: How much less it may be; 0 or more.
    high_bytes: How much more it may be; 0 or more.
    """

    name: str
    low_bytes: int
    high_bytes: int
    reason: str


def low_of(expected_bytes: int, parts: Iterable[BandPart]) -> int:
    return max(0, expected_bytes - sum(part.low_bytes for part in parts))


def high_of(expected_bytes: int, parts: Iterable[BandPart]) -> int:
    return expected_bytes + sum(part.high_bytes for part in parts)


def workspace_part(trace: StepTrace, buffers: Buffers, batch: int, peak: Peak, book: Sequence[int]) -> BandPart:
    """Each convolution's workspace at its own moment: only what rises above the peak counts."""
    most = max((before + workspace for before, workspace, _ in _convolutions(trace, buffers, batch, book)), default=0)
    return BandPart(
        "cuDNN workspace",
        0,
        max(0, most - peak.in_use_bytes),
        "the fastest convolution kernels take a workspace; refused, cuDNN runs slower ones without",
    )


def autotuning_part(trace: StepTrace, buffers: Buffers, batch: int, above: int, book: Sequence[int]) -> BandPart:
    """`above` is what is counted already: the peak with its workspace."""
    most = max((sum(each) + RED_ZONES_BYTES for each in _convolutions(trace, buffers, batch, book)), default=0)
    return BandPart(
        "autotuning",
        0,
        max(0, most - above),
        "in the first step every convolution is tried on a copy of its output, between red zones of 8 MiB",
    )


def fragmentation_part(peak: Peak) -> BandPart:
    return BandPart(
        "fragmentation",
        0,
        max(0, peak.reach_bytes - peak.in_use_bytes),
        "holes between chunks are too small for the next request: the pool must reach further than what is in use",
    )


def growth_part(peak: Peak, slack: float, above: int) -> BandPart:
    """`slack` is the share of the peak that a pool of regions takes more than one of a piece; `above` what holes do."""
    return BandPart(
        "memory growth",
        0,
        max(0, int(peak.in_use_bytes * slack) - above),
        "with set_memory_growth the pool is made of regions that can't be merged: chunks are handed out larger",
    )


def order_part(trace: StepTrace, buffers: Buffers, batch: int, others: Iterable[Buffers]) -> BandPart:
    base = live(trace, buffers, batch)[0]
    found = [live(trace, other, batch)[0] - base for other in others]
    return BandPart(
        "order of kernels",
        max(0, -min(found, default=0)),
        max(0, max(found, default=0)),
        "operations that are ready at the same time start in an order that differs from process to process",
    )


def first_step_part(trace: StepTrace, buffers: Buffers, batch: int) -> BandPart:
    return BandPart(
        "first step",
        0,
        max(0, _first_live(trace, buffers, batch) - live(trace, buffers, batch)[0]),
        "variables are not yet where later steps leave them",
    )


def late_part(more_bytes: int) -> BandPart:
    return BandPart(
        LATE, 0, more_bytes, "XLA leaves the gradients of three-dimensional filters for the end in some programs"
    )


def batch_part(trace: StepTrace, batch: int, ahead: bool) -> BandPart:
    """`ahead`: the next batch is counted already."""
    inputs = sum(trace.sizes[each.size].at(batch) for each in trace.variables if each.role is Role.INPUT)
    return BandPart(
        "next batch and metrics",
        0,
        0 if ahead else inputs,
        "fit may copy the next batch to the GPU while this one is in use, and metrics compare copies of targets",
    )


def scratch_part(trace: StepTrace, buffers: Buffers, batch: int, peak: Peak) -> BandPart:
    """Read in the kernels' sources, seen on no GPU."""
    held: set[int] = set()
    for move in buffers.moves[: peak.move + 1]:
        if move >= 0:
            held.add(move)
        else:
            held.discard(~move)
    scratch = sum(
        trace.sizes[buffers.size[each]].at(batch) for each in held if buffers.scratch[each] and buffers.owner[each] < 0
    )
    return BandPart(
        "kernel scratch", scratch, 0, "copies that kernels make for cuDNN's layouts, which a newer cuDNN does without"
    )


def _convolutions(
    trace: StepTrace, buffers: Buffers, batch: int, book: Sequence[int]
) -> Iterable[tuple[int, int, int]]:
    """Of each convolution of the last step: bytes in use while it runs, its workspace, and its output."""
    numbers = [operation.source for operation in (*trace.operations, *trace.adding)]
    spaces = [min(source.workspace.at(batch), WORKSPACE_LIMIT_BYTES) for source in trace.sources]
    sizes = [size.at(batch) for size in trace.sizes]
    for place, level in enumerate(book):
        operation, move = buffers.operations[buffers.last_step + place], buffers.moves[buffers.last_step + place]
        if operation >= 0 and move >= 0 and spaces[numbers[operation]]:
            yield level, spaces[numbers[operation]], sizes[buffers.size[move]]


def _first_live(trace: StepTrace, buffers: Buffers, batch: int) -> int:
    """As `live`, of everything up to the last step."""
    sizes = [size.at(batch) for size in trace.sizes]
    total = sum(sizes[trace.values[value].size] for value in buffers.constants) + trace.constant_bytes
    total += sum(trace.constants_at(batch))
    most = 0
    for move in buffers.moves[: buffers.last_step]:
        buffer = move if move >= 0 else ~move
        if not buffers.scratch[buffer]:
            total += sizes[buffers.size[buffer]] if move >= 0 else -sizes[buffers.size[buffer]]
            most = max(most, total)
    return most
