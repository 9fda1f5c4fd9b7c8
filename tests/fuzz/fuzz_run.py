"""Changed inputs by the thousand through real workers, two at a time. What goes wrong is kept as a file."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from threading import Lock

import msgspec
from fuzz_child import AT, Fuzz, made

from planner_app.jobs.job import Job
from planner_app.jobs.protocol import Failed, Finished, Limits
from planner_app.planner.opening import BASE_BYTES, BASE_SECONDS

COMMAND = [sys.executable, "-P", str(Path(__file__).with_name("fuzz_child.py"))]
CHUNK = 500
WITH_TENSORFLOW = Limits(memory_bytes=BASE_BYTES, seconds=3600, silence_seconds=BASE_SECONDS)
STOPPED, BAD = "stopped", "bad"


@dataclass
class Tally:
    """What came of the inputs of one target.

    Attributes:
        outcomes: How often each came: read, refused, stopped at a limit of the worker's, bad.
        slowest: Seconds, and which input.
        finds: Inputs by number, and why they are kept.
    """

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, 0)
    largest_bytes: int = 0
    seconds: float = 0.0
    finds: dict[int, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(self.outcomes.values())


def fuzzed(
    name: str,
    count: int,
    seed: int,
    folder: Path,
    *,
    until: float = inf,
    limits: Limits | None = None,
    deadly: int = -1,
) -> Tally:
    """As many inputs as asked for, or as many as can be begun until then; `limits` instead of the reader's own."""
    tally, lock, begun = Tally(name), Lock(), time.monotonic()
    limits = limits or (WITH_TENSORFLOW if name == "model_rebuild" else Fuzz.limits)

    def work(start: int) -> None:
        if time.monotonic() < until:
            inputs = Fuzz(target=name, seed=seed, first=start, count=min(CHUNK, count - start), deadly=deadly)
            _work(inputs, limits, tally, lock)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(0, count, CHUNK)))
    tally.seconds = time.monotonic() - begun
    for number, why in tally.finds.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}-{seed}-{number}").write_bytes(made(name, seed, number))
        (folder / f"{name}-{seed}-{number}.txt").write_text(why, encoding="utf-8", errors="replace")
    return tally


def _work(inputs: Fuzz, limits: Limits, tally: Tally, lock: Lock) -> None:
    """Should an input end its worker, another worker tries it alone, and others do what is before and behind it."""
    *_, event = Job(inputs, limits, command=COMMAND)
    if isinstance(event, Failed) and inputs.count > 1:
        end, at = inputs.first + inputs.count, max(_numbers(event), default=inputs.first)
        for first, behind in ((inputs.first, at), (at, at + 1), (at + 1, end)):
            if first < behind:
                _work(msgspec.structs.replace(inputs, first=first, count=behind - first), limits, tally, lock)
        return
    with lock:
        if isinstance(event, Finished):
            _count(tally, event)
        elif isinstance(event, Failed):
            tally.finds[inputs.first] = f"{event.reason}\n{event.detail}"
            tally.outcomes[STOPPED if event.reason.endswith("was stopped.") else BAD] += 1


def _numbers(event: Failed) -> Iterator[int]:
    """Of the inputs that the worker said to be at."""
    lines = event.detail.splitlines()
    return (int(line.removeprefix(AT)) for line in lines if line.startswith(AT) and line[len(AT) :].isdigit())


def _count(tally: Tally, event: Finished) -> None:
    told = msgspec.json.decode(event.result)
    tally.outcomes.update(told["outcomes"])
    tally.finds.update((number, why) for number, why in told["finds"])
    tally.slowest = max(tally.slowest, tuple(told["slowest"]))
    tally.largest_bytes = max(tally.largest_bytes, told["largest_bytes"])
