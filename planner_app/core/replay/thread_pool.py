"""Other orders in which a step can run: TensorFlow's thread pool instead of one queue.

On a CPU, kernels that take long are handed to the other threads of the pool, so slow ones fall behind and what they
read stays alive. Which one is slow changes from process to process; every seed is one way it can go.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random

from planner_app.core.model.trace import Operation, StepTrace

# executor.cc kOpIsExpensiveThresholdCycles, at some 2.5 GHz: cheaper kernels run where they became ready.
EXPENSIVE_SECONDS = 8000 / 2.5e9
# Rough speed of one core, good enough to tell slow kernels from quick ones.
WORK_PER_SECOND = 2e9
FASTEST_SECONDS = 1e-6
SPREAD = 0.3  # of the logarithm of a kernel's time from one process to the next


@dataclass(slots=True)
class _Thread:
    ready: deque[int]
    running: int = -1


def thread_pool_order(trace: StepTrace, batch: int, threads: int, seed: int) -> list[int]:
    """A schedule: operations as they begin (`n`) and end (`~n`); of both kinds of step where they take turns."""
    random = Random(seed)
    first = len(trace.operations)
    return [
        *_order(trace, trace.adding, first, batch, threads, random),
        *_order(trace, trace.operations, 0, batch, threads, random),
    ]


def started_by_threads(trace: StepTrace, threads: int, seed: int) -> list[int]:
    """As on a GPU: launching is quick whatever the kernel, but several threads share what waits for nothing."""
    random = Random(seed)
    first = len(trace.operations)
    schedule: list[int] = []
    for operations, number in ((trace.adding, first), (trace.operations, 0)):
        seconds = [FASTEST_SECONDS * random.lognormvariate(0.0, SPREAD) for _ in operations]
        schedule += _in_turns(operations, number, seconds, threads)
    return schedule


def _order(
    trace: StepTrace, operations: Sequence[Operation], first: int, batch: int, threads: int, random: Random
) -> list[int]:
    """One step whose operations are numbered from `first` on."""
    work = [size.at(batch) for size in trace.sizes]
    seconds = [
        (FASTEST_SECONDS + work[op.work] / WORK_PER_SECOND) * random.lognormvariate(0.0, SPREAD)
        if op.work
        else FASTEST_SECONDS
        for op in operations
    ]
    return _in_turns(operations, first, seconds, threads)


def _in_turns(operations: Sequence[Operation], first: int, seconds: list[float], threads: int) -> list[int]:
    waits = [op.waits for op in operations]
    pool = deque(number for number, op in enumerate(operations) if not op.waits)
    team = [_Thread(deque()) for _ in range(threads)]
    idle = set(range(threads))
    events: list[tuple[float, int]] = []
    schedule: list[int] = []
    now = 0.0
    while True:
        for number in sorted(idle):
            thread = team[number]
            queue = thread.ready or pool
            if queue:
                thread.running = queue.popleft()
                schedule.append(first + thread.running)
                heappush(events, (now + seconds[thread.running], number))
                idle.discard(number)
        if not events:
            return schedule
        now, number = heappop(events)
        thread = team[number]
        done = thread.running
        schedule.append(~(first + done))
        idle.add(number)
        told = (then - first for then in operations[done].then)
        _hand_on(told, waits, seconds, thread.ready, pool)


def _hand_on(told: Iterable[int], waits: list[int], seconds: list[float], inline: deque[int], pool: deque[int]) -> None:
    """executor.cc ScheduleReady: cheap kernels stay on this thread, and one expensive one if there is nothing else."""
    expensive = -1
    for then in told:
        waits[then] -= 1
        if waits[then]:
            continue
        if seconds[then] < EXPENSIVE_SECONDS:
            inline.append(then)
            continue
        if expensive >= 0:
            pool.append(expensive)
        expensive = then
    if expensive >= 0:
        (pool if inline else inline).append(expensive)
