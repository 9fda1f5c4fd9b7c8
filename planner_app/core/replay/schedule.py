"""The order in which a step compiled by XLA runs: the best of a few, as its memory scheduler has it."""

from collections.abc import Sequence
from functools import partial
from heapq import heapify, heappop, heappush

from planner_app.core.model.trace import Operation, StepTrace
from planner_app.core.replay.fusion import SCATTERING


def schedules(trace: StepTrace, batch: int) -> tuple[list[int], ...]:
    """Orders to choose the best from (hlo_memory_scheduler.cc): as ready, as written, and what frees most first."""
    orders = map(partial(_zeros_first, trace), _orders(trace, batch))
    return tuple(_as_schedule(order) for order in orders if _can_run(trace, order))


def late_schedules(trace: StepTrace, batch: int) -> tuple[list[int], ...]:
    """The same, with gradients of filters in three dimensions at the end, where some programs have them; or none."""
    late = _late(trace)
    if not late:
        return ()
    orders = (_zeros_first(trace, sorted(order, key=late.__contains__)) for order in _orders(trace, batch))
    return tuple(_as_schedule(order) for order in orders if _can_run(trace, order))


def _orders(trace: StepTrace, batch: int) -> list[Sequence[int]]:
    count = len(trace.operations)
    written = sorted(range(count), key=lambda number: trace.operations[number].source)
    return [range(count), written, _greedy(trace, batch)]


def _late(trace: StepTrace) -> set[int]:
    """Gradients of filters in three dimensions, and all that waits for them."""
    found: set[int] = set()
    for number, operation in enumerate(trace.operations):
        if number in found or trace.sources[operation.source].type == "Conv3DBackpropFilterV2":
            found.add(number)
            found.update(operation.then)
    return found


def _zeros_first(trace: StepTrace, order: Sequence[int]) -> list[int]:
    return sorted(order, key=lambda number: not _is_zeros(trace, trace.operations[number]))


def _is_zeros(trace: StepTrace, operation: Operation) -> bool:
    return not operation.reads and bool(operation.makes) and trace.sources[operation.source].type in SCATTERING


def _can_run(trace: StepTrace, order: Sequence[int]) -> bool:
    """As written, an operation of an unrolled loop comes for all rounds at once, before what its later rounds read."""
    at = [0] * len(order)
    for place, number in enumerate(order):
        at[number] = place
    return all(at[number] < at[then] for number, operation in enumerate(trace.operations) for then in operation.then)


def _as_schedule(order: Sequence[int]) -> list[int]:
    return [entry for number in order for entry in (number, ~number)]


def _greedy(trace: StepTrace, batch: int) -> list[int]:
    """ListScheduler: of all that is ready, what frees most memory and takes least comes next."""
    sizes = [size.at(batch) for size in trace.sizes]
    left = [0] * len(trace.values)
    for operation in trace.operations:
        for read in set(operation.reads):
            left[read] += 1
    waiting_for: dict[int, list[int]] = {}
    for number, operation in enumerate(trace.operations):
        for read in set(operation.reads):
            waiting_for.setdefault(read, []).append(number)
    waits = [operation.waits for operation in trace.operations]
    done = [False] * len(trace.operations)

    def gain(number: int) -> int:
        operation = trace.operations[number]
        freed = sum(sizes[trace.values[read].size] for read in set(operation.reads) if left[read] == 1)
        return freed - sum(sizes[trace.values[made].size] for made in operation.makes)

    ready = [(-gain(number), number) for number, count in enumerate(waits) if not count]
    heapify(ready)
    order = []
    while ready:
        _, number = heappop(ready)
        if done[number]:
            continue
        done[number] = True
        order.append(number)
        operation = trace.operations[number]
        for read in set(operation.reads):
            left[read] -= 1
            if left[read] == 1:  # whoever is last now frees it
                for other in waiting_for[read]:
                    if not done[other] and not waits[other]:
                        heappush(ready, (-gain(other), other))
        for then in operation.then:
            waits[then] -= 1
            if not waits[then]:
                heappush(ready, (-gain(then), then))
    return order
