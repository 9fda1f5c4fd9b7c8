"""Other orders in which a step can run: what became ready together in another order, or on TensorFlow's thread pool.

The executor (executor.cc) starts a step's operations from one node, and tells each node's consumers in the order of a
table that is hashed by addresses (edgeset.h), so both begin somewhere else in every process. On a CPU, kernels that
take long are handed to the other threads of the pool besides: slow ones fall behind, and what they read stays alive.
Which one is slow changes from step to step; every seed is one way it can go.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from random import Random

from planner_app.core.model.trace import Operation, StepTrace

# executor.cc kOpIsExpensiveThresholdCycles, at some 2.5 GHz: cheaper kernels run where they became ready.
EXPENSIVE_SECONDS = 8000 / 2.5e9
# Rough speed of one core, good enough to tell slow kernels from quick ones.
WORK_PER_SECOND = 2e9
FASTEST_SECONDS = 1e-6
# Of the logarithm of a kernel's time: mostly it is as it was, now and then somebody else has the core.
SPREADS = (0.3, 1.0)
LISTED_CONSUMERS = 8  # edgeset.h, kInline: so many stand in a list, in their order


def thread_pool_order(trace: StepTrace, batch: int, threads: int, seed: int, *, last_first: bool = False) -> list[int]:
    """A schedule: operations as they begin (`n`) and end (`~n`); of both kinds of step where they take turns.

    With `last_first` a node's consumers are told from the last to the first, as in the graphs of some tf.functions:
    seen in the order in which gradients of filters and of pictures allocate.
    """
    random = Random(seed)
    spread = SPREADS[seed % len(SPREADS)]
    work = [size.at(batch) for size in trace.sizes]
    schedule: list[int] = []
    for operations, first in ((trace.adding, len(trace.operations)), (trace.operations, 0)):
        seconds = [
            (FASTEST_SECONDS + work[op.work] / WORK_PER_SECOND) * random.lognormvariate(0.0, spread)
            if op.work
            else FASTEST_SECONDS
            for op in operations
        ]
        if operations:
            schedule += _Pool(operations, first, seconds, threads, random, last_first).run()
    return schedule


def one_queue_order(trace: StepTrace, seed: int) -> list[int]:
    """As on a GPU, whose kernels all run where they became ready: one queue, that another node may stand first in."""
    random = Random(seed)
    schedule: list[int] = []
    for operations, first in ((trace.adding, len(trace.operations)), (trace.operations, 0)):
        waits = [op.waits for op in operations]
        queue = deque(_turned([number for number, op in enumerate(operations) if not op.waits], random))
        while queue:
            number = queue.popleft()
            schedule += (first + number, ~(first + number))
            queue.extend(_ready(_turned(operations[number].then, random), first, waits))
    return schedule


class _Pool:
    """Eigen's thread pool (NonBlockingThreadPool): each thread takes what it put in last, and steals what another put
    in first."""

    def __init__(
        self,
        operations: Sequence[Operation],
        first: int,
        seconds: Sequence[float],
        threads: int,
        random: Random,
        last_first: bool,
    ) -> None:
        self._last_first = last_first
        self._operations, self._first, self._seconds, self._random = operations, first, seconds, random
        self._waits = [op.waits for op in operations]
        self._inline: list[deque[int]] = [deque() for _ in range(threads)]
        self._handed: list[deque[int]] = [deque() for _ in range(threads)]
        self._running = [-1] * threads

    def run(self) -> list[int]:
        roots = [number for number, op in enumerate(self._operations) if not op.waits]
        self._hand_on(0, _turned(roots, self._random))
        schedule: list[int] = []
        events: list[tuple[float, int]] = []
        now = 0.0
        idle = set(range(len(self._running)))
        while True:
            for thread in sorted(idle):
                number = self._next(thread)
                if number >= 0:
                    self._running[thread] = number
                    schedule.append(self._first + number)
                    heappush(events, (now + self._seconds[number], thread))
                    idle.discard(thread)
            if not events:
                return schedule
            now, thread = heappop(events)
            done = self._running[thread]
            schedule.append(~(self._first + done))
            idle.add(thread)
            told = _turned(self._operations[done].then, self._random)
            self._hand_on(thread, _ready(reversed(told) if self._last_first else told, self._first, self._waits))

    def _next(self, thread: int) -> int:
        for queue in (self._inline[thread], self._handed[thread]):
            if queue:
                return queue.popleft()
        others = [queue for queue in self._handed if queue]
        return self._random.choice(others).pop() if others else -1

    def _hand_on(self, thread: int, ready: Iterable[int]) -> None:
        """executor.cc ScheduleReady: cheap kernels stay on this thread, and one slow one if there is nothing else."""
        inline, handed = self._inline[thread], self._handed[thread]
        slow = -1
        for number in ready:
            if self._seconds[number] < EXPENSIVE_SECONDS:
                inline.append(number)
                continue
            if slow >= 0:
                handed.appendleft(slow)
            slow = number
        if slow >= 0:
            if inline:
                handed.appendleft(slow)
            else:
                inline.append(slow)


def _ready(told: Iterable[int], first: int, waits: list[int]) -> Iterable[int]:
    for number in told:
        waits[number - first] -= 1
        if not waits[number - first]:
            yield number - first


def _turned(numbers: Sequence[int], random: Random) -> Sequence[int]:
    """A hashed table's order: that of addresses, which is that of making, begun anywhere."""
    if len(numbers) <= LISTED_CONSUMERS:
        return numbers
    start = random.randrange(len(numbers))
    return [*numbers[start:], *numbers[:start]]
