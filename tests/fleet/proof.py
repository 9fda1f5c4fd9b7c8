"""Measurements on a real Ray cluster on this machine, one head and three nodes, held against local ones: `make fleet`.

24 measurements over three kinds of nodes, each kind with another memory limit; the same again while nodes are killed
ten times; then a run that is cancelled. What came of it is kept in tests/reliability/results/fleet.json.
"""

import os
import random
import resource
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/reliability")]

from kept import keep_result  # noqa: E402
from started import StartedCluster, in_sessions, sessions, workers  # noqa: E402

from planner_app.core.measure.measurement import Measurement, Order, Place  # noqa: E402
from planner_app.core.model.setup import Setup  # noqa: E402
from planner_app.errors import Cancelled  # noqa: E402
from planner_app.fleet.cluster import Cluster  # noqa: E402
from planner_app.jobs.protocol import Progress  # noqa: E402
from planner_app.planner.fleet.measuring import Outcome, Point, measure_all  # noqa: E402
from planner_app.planner.measuring.measure import measure  # noqa: E402
from planner_app.planner.opening import check_model  # noqa: E402

MIB = 1 << 20
KINDS = {"small": 40 * MIB, "medium": 64 * MIB, "large": 256 * MIB}  # the first two run out of memory at large batches
BATCHES = tuple(range(8, 72, 8))
KILLS = 10
GONE_SECONDS = 10.0

Figures = tuple[object, ...]


def points() -> list[Point]:
    model = check_model(str(ROOT / "planner_app/data/demo.keras"))
    return [
        Point(model, Setup(batch=batch), kind, False, limit, Order.INLINE)
        for batch in BATCHES
        for kind, limit in KINDS.items()
    ]


def figures(found: Measurement | None) -> Figures | None:
    """What repeats to the byte when kernels run one by one."""
    if found is None:
        return None
    run = found.runs[0]
    return found.peak_bytes, run.live_bytes, run.state_bytes, run.limit_bytes, found.oom is None


class Killer:
    """Kills a node while it measures, after every second measurement that has ended."""

    def __init__(self, started: StartedCluster) -> None:
        self._started, self._random = started, random.Random(23)
        self.kills = self._ends = 0
        self._hit: dict[str, int] = {}

    def on_end(self, _outcome: Outcome) -> None:
        self._ends += 1

    def on_progress(self, progress: Progress) -> None:
        """Its text names the measurement, which names its kind; none is hit more often than it may be begun again."""
        title = progress.text.partition(", ")[2].partition(":")[0]
        kind = title.rpartition(" on ")[2]
        due = self.kills < KILLS and self._ends >= 2 * self.kills and self._hit.get(title, 0) < 2
        if kind not in KINDS or not due:
            return
        self._hit[title] = self._hit.get(title, 0) + 1
        self.kills += 1
        time.sleep(self._random.uniform(0, 2))
        self._started.kill(kind, all_of_it=bool(self.kills % 2))


def timed(do: Callable[[], object]) -> float:
    began = time.monotonic()
    do()
    return time.monotonic() - began


def cpu_seconds() -> float:
    """Of all processes that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wrong(outcomes: Sequence[Outcome], local: Sequence[Figures | None]) -> list[str]:
    pairs = zip(outcomes, local, strict=True)
    return [f"{each.point.title}: {each.problem}" for each, known in pairs if figures(each.measurement) != known]


def cancelled_run(cluster: Cluster, wanted: list[Point]) -> tuple[float | None, int]:
    """How long after it was cancelled the last worker was gone, None if one stayed; and how many there were."""
    seen: set[int] = set()
    stop = threading.Event()
    at = 0.0

    def press() -> None:
        nonlocal at, seen
        until = time.monotonic() + 60
        while time.monotonic() < until and len(workers(str(ROOT))) < len(KINDS):
            time.sleep(0.1)
        time.sleep(2)
        seen = sessions(workers(str(ROOT)))
        at = time.monotonic()
        stop.set()

    presser = threading.Thread(target=press)
    presser.start()
    with suppress(Cancelled):
        measure_all(cluster, wanted, cancelled=stop)
    presser.join()
    while time.monotonic() < at + GONE_SECONDS:
        if not in_sessions(seen) and not workers(str(ROOT)):
            return time.monotonic() - at, len(seen)
        time.sleep(0.1)
    return None, len(seen)


def main() -> int:
    wanted = points()
    before = cpu_seconds()
    local: list[Figures | None] = []

    def locally() -> None:
        local.extend(
            figures(measure(each.model, each.setup, Place((), each.limit_bytes), order=each.order)) for each in wanted
        )

    local_seconds = timed(locally)
    local_cpu = cpu_seconds() - before
    oom = sum(1 for each in local if each is not None and not each[-1])
    say(f"local: {len(local)} in {local_seconds:.0f} s ({local_cpu:.0f} s of CPU), {oom} out of memory")

    started, notes, outcomes = StartedCluster(tuple(KINDS)), list[str](), list[Outcome]()
    with Cluster(started.address) as cluster:
        fleet_seconds = timed(lambda: outcomes.extend(measure_all(cluster, wanted, on_note=notes.append)))
        different = wrong(outcomes, local)
        say(f"cluster: {len(outcomes)} in {fleet_seconds:.0f} s, started in {started.start_seconds:.0f} s; {different}")

        killer, ends = Killer(started), list[Outcome]()

        def on_end(outcome: Outcome) -> None:
            ends.append(outcome)
            killer.on_end(outcome)

        outcomes = list(
            measure_all(cluster, wanted, on_end=on_end, on_note=notes.append, on_progress=killer.on_progress)
        )
        after_kills = wrong(outcomes, local)
        doubled = len(ends) - len({id(each.point) for each in ends})
        lost = len(wanted) - len({id(each.point) for each in ends})
        again = sum(each.attempts - 1 for each in outcomes)
        say(f"killed {killer.kills} nodes: {again} begun again, {doubled} doubled, {lost} lost; {after_kills}")
        say("\n".join(notes))

        left, ran = cancelled_run(cluster, wanted)
        say(f"cancelled with {ran} workers: gone after {left} s")
    started.close()

    cores, nodes = os.cpu_count() or 1, len(KINDS)
    bad = len(different) + len(after_kills) + doubled + lost + abs(KILLS - killer.kills) + (left is None)
    keep_result(
        "fleet",
        "Measurements on a Ray cluster of three nodes, the second half while nodes were killed",
        2 * len(wanted),
        bad,
        f"{len(wanted) - len(different)} of {len(wanted)} equal to local ones to the byte ({oom} out of memory); "
        f"{local_seconds:.0f} s one after the other, {fleet_seconds:.0f} s on {nodes} nodes of a machine with {cores} "
        f"cores ({fleet_seconds * min(nodes, cores) / local_seconds:.2f} times its share; {local_cpu:.0f} s of CPU), "
        f"{started.start_seconds:.0f} s to start; {killer.kills} nodes killed with SIGKILL: {again} begun again, "
        f"{doubled} doubled, {lost} lost; cancelled: "
        + (f"something left after {GONE_SECONDS:.0f} s" if left is None else f"no process left {left:.1f} s later"),
    )
    return 1 if bad else 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
