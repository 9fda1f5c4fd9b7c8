"""A replay's buffers through the allocator: how many bytes are in use when most are."""

from dataclasses import dataclass

from planner_app.core.model.trace import Role, StepTrace
from planner_app.core.replay.bfc import Allocator
from planner_app.core.replay.liveness import Buffers

NO_LIMIT = 1 << 62
# A constant is a few numbers: a chunk of the smallest size each.
CONSTANT_BYTES = 256


@dataclass(frozen=True, slots=True)
class Peak:
    """The moment of the last step when most is in use.

    Attributes:
        in_use_bytes: The allocator's chunks.
        move: The move in the replay that brought it about.
        pool_bytes: Taken from the device over all steps, in use or not.
        reach_bytes: Up to where in the pool chunks were handed out, over all steps.
        highest_bytes: Most in use in any step but the first.
    """

    in_use_bytes: int
    move: int
    pool_bytes: int
    reach_bytes: int = 0
    highest_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """How the pool lies when the first step starts: other in every process, and decisive for who gets which hole.

    Attributes:
        small: Small buffers that were taken before, every other one given back: Keras makes some while it builds.
        turned: With which of them the variables began to take their values, as a share of all: which assignment of
            many the executor starts with is left to chance (edgeset.h), the others follow.
        initialized: Keras made the values itself, a weight's in three steps (uniform numbers, scaled, shifted), each
            with a buffer of its own; no other value arrived before.
    """

    small: int = 0
    turned: float = 0.0
    initialized: bool = False


AS_LOADED = Start()
# A model that is trained where it was built.
INITIALIZED = Start(small=100, initialized=True)
STARTS = tuple(Start(small=100, turned=turn / 5) for turn in range(5))


def allocate(
    trace: StepTrace,
    buffers: Buffers,
    batch: int,
    *,
    growth: bool = True,
    limit_bytes: int = NO_LIMIT,
    start: Start = AS_LOADED,
    book: list[int] | None = None,
) -> Peak | None:
    """The peak of the last step, or None when memory runs out before.

    `book`, if given, gets the bytes in use after each move of the last step.

    Unless Keras initializes it where it lies, a variable's value arrives in a buffer of its own before the variable
    takes a copy, so a pool that grows has room to spare when the first step starts. Constants follow when that is over:
    their kernels are made with the step's executor (constant_op.cc).
    """
    sizes = [size.at(batch) for size in trace.sizes]
    allocator = Allocator(limit_bytes, growth)
    chunks: dict[int, int] = {}
    size, moves = buffers.size, buffers.moves
    order = [moves[place] for place in range(buffers.before)]
    for chunk in [allocator.allocate(1) for _ in range(start.small)][::2]:
        allocator.free(chunk)
    copied = growth and not start.initialized
    loading = [allocator.allocate(sizes[size[variable]]) for variable in order] if copied else []
    turn = int(start.turned * len(order))
    for variable in (*order[turn:], *order[:turn]):
        weight = start.initialized and trace.variables[variable].role in (Role.WEIGHT, Role.FROZEN)
        passing = [allocator.allocate(sizes[size[variable]]) for _ in range(2 * weight)]
        chunks[variable] = allocator.allocate(sizes[size[variable]])
        for chunk in passing:
            allocator.free(chunk)
    if min((0, *loading, *chunks.values())) < 0:
        return None
    for chunk in loading:
        allocator.free(chunk)
    folded = (sizes[trace.values[value].size] for value in buffers.constants)
    kept = [allocator.allocate(constant_bytes) for constant_bytes in (*folded, *trace.constants_at(batch))]
    kept += [allocator.allocate(CONSTANT_BYTES) for _ in range(trace.constant_bytes // CONSTANT_BYTES + 1)]
    if min(kept) < 0:
        return None
    peak, at, highest = allocator.in_use_bytes, buffers.before - 1, allocator.in_use_bytes
    for place in range(buffers.before, len(moves)):
        move = moves[place]
        if move >= 0:
            chunk = allocator.allocate(sizes[size[move]])
            if chunk < 0:
                return None
            chunks[move] = chunk
            if place >= buffers.second_step and allocator.in_use_bytes > highest:
                highest = allocator.in_use_bytes
            if place >= buffers.last_step and allocator.in_use_bytes > peak:
                peak, at = allocator.in_use_bytes, place
        else:
            allocator.free(chunks.pop(~move))
        if book is not None and place >= buffers.last_step:
            book.append(allocator.in_use_bytes)
    return Peak(peak, at, allocator.pool_bytes, allocator.reach_bytes, highest)


def live(trace: StepTrace, buffers: Buffers, batch: int) -> tuple[int, int]:
    """Most bytes requested at one moment of the last step, scratch not counted, and the move that brings it about."""
    sizes = [size.at(batch) for size in trace.sizes]
    size, scratch = buffers.size, buffers.scratch
    total = state_bytes(trace, buffers, batch) - sum(sizes[variable.size] for variable in trace.variables)
    peak, at = 0, 0
    for place, move in enumerate(buffers.moves):
        if move >= 0:
            if not scratch[move]:
                total += sizes[size[move]]
                if total > peak and place >= buffers.last_step:
                    peak, at = total, place
        elif not scratch[~move]:
            total -= sizes[size[~move]]
    return peak, at


def state_bytes(trace: StepTrace, buffers: Buffers, batch: int) -> int:
    """What lives between steps: variables, inputs, constants."""
    sizes = [size.at(batch) for size in trace.sizes]
    folded = sum(sizes[trace.values[value].size] for value in buffers.constants)
    grown = sum(trace.constants_at(batch))
    return sum(sizes[variable.size] for variable in trace.variables) + folded + grown + trace.constant_bytes
