"""Kills workers at random moments of their work, for real:

    python tests/reliability/kills.py --count 200 --seed 1

A worker reads, describes, traces or measures the demo model and is killed, crashes or stops at a moment nobody chose.
Each time: exactly one last event, a sentence; the next request is answered; no process, pipe or folder is left.
"""

import argparse
import collections
import gc
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil
from kept import keep_result

from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Precision, Setup
from planner_app.jobs.job import Job
from planner_app.jobs.protocol import GIB, Describe, Failed, Finished, Inspect, Measure, Request, Trace
from planner_app.jobs.stream import AnyEvent
from planner_app.jobs.warm import WarmWorker

COUNT = 200
DEMO = Path(__file__).parents[2] / "planner_app" / "data" / "demo.keras"
SIGNALS = [signal.SIGKILL] * 14 + [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGTERM] + [signal.SIGSTOP] * 2
HANG_SECONDS = 3.0  # given to one that will be stopped, beyond the moment it is
SOON_SECONDS = 20.0  # from the kill to the last event, on a busy machine; the rule is a second
# Reading takes a tenth of the others' time, so it is hit more often. A worker that traces again is a warm one.
PHASES = ("inspect",) * 8 + ("describe", "trace", "trace again", "measure")
NEXT_AS_BEFORE = 0.2  # how often the next request is the one that was killed: it takes longer than the reader's


@dataclass(frozen=True, slots=True)
class Killed:
    """One kill: what was hit and when, what came of it, and what was wrong with that (nothing, we hope)."""

    phase: str
    signal: int
    seconds: float
    event: str
    bad: tuple[str, ...] = ()


class Range:
    """Where workers are killed: requests, how long each takes, and the dice."""

    def __init__(self, seed: int, phases: tuple[str, ...] = PHASES) -> None:
        self._dice = random.Random(seed)
        self._phases = phases
        self._quick = Inspect(path=str(DEMO))
        self._usual: dict[str, float] = {}
        self._model = msgspec.json.decode(_answer(self._quick), type=CheckedModel)
        self._before = _left()

    def kill(self) -> Killed:
        """One that was hit: a worker that was faster than its killer is not counted."""
        while True:
            phase = self._dice.choice(self._phases)
            if phase not in self._usual:
                begun = time.monotonic()
                _answer(self._request(phase))
                self._usual[phase] = time.monotonic() - begun
            with WarmWorker() as worker:
                warm = phase == "trace again"
                if warm:
                    _answer(self._request(phase), worker)
                found = self._shoot(phase, worker if phase.startswith("trace") else None)
                if found is not None:
                    break
        left = _left() - self._before
        return found if not left else Killed(*_parts(found), (*found.bad, f"left: {sorted(left)}"))

    def _shoot(self, phase: str, worker: WarmWorker | None) -> Killed | None:
        number = self._dice.choice(SIGNALS)
        share = 0.15 if phase == "trace again" else 1.0  # all but the tracing itself is done by then
        at = self._dice.uniform(0, self._usual[phase] * share)
        request = self._request(phase)
        limits = request.limits
        if number == signal.SIGSTOP:
            limits = msgspec.structs.replace(limits, seconds=at + HANG_SECONDS)
        job = worker.job(request, limits) if worker else Job(request, limits)
        events: list[AnyEvent] = []
        heard = threading.Thread(target=lambda: events.extend(job))
        known = {child.pid for child in _children()}
        begun = time.monotonic()
        heard.start()
        hit = _hit(number, begun + at, heard, known if worker is None else set())
        shot = time.monotonic()
        heard.join(SOON_SECONDS + HANG_SECONDS)
        if not hit:
            heard.join()
            return None
        late = time.monotonic() - shot
        bad = [] if not heard.is_alive() else ["no last event"]
        again = self._dice.random() < NEXT_AS_BEFORE
        bad += _wrong(events, number, late)
        bad += _next(request if again else self._quick, worker)
        last = events[-1] if events else None
        if isinstance(last, Finished) and not bad:
            return None  # its answer was in the pipe already, or it was replaced unnoticed
        return Killed(phase, number, at, last.reason if isinstance(last, Failed) else "", tuple(bad))

    def _request(self, phase: str) -> Request:
        setup = Setup(batch=8, precision=self._dice.choice((Precision.FLOAT32, Precision.MIXED_FLOAT16)))
        if phase == "inspect":
            return self._quick
        if phase == "describe":
            return Describe(model=self._model)
        if phase.startswith("trace"):
            return Trace(model=self._model, setup=setup.step("cpu"))
        return Measure(
            model=self._model, setup=Setup(batch=8), place=Place(limit_bytes=2 * GIB), order=Order.INLINE, steps=4
        )


def _parts(found: Killed) -> tuple[str, int, float, str]:
    return found.phase, found.signal, found.seconds, found.event


def _answer(request: Request, worker: WarmWorker | None = None) -> bytes:
    *_, last = worker.job(request) if worker else Job(request)
    if not isinstance(last, Finished):
        raise AssertionError(f"no answer to {type(request).__name__}: {last}")
    return bytes(last.result)


def _hit(number: int, at: float, heard: threading.Thread, spare: set[int]) -> bool:
    """Whether there was a worker to be hit when the moment came."""
    while heard.is_alive():
        targets = [child for child in _children() if child.pid not in spare]
        if targets and time.monotonic() >= at:
            try:
                targets[0].send_signal(number)
            except psutil.NoSuchProcess:
                return False
            return heard.is_alive()
        time.sleep(0.002)
    return False


def _wrong(events: list[AnyEvent], number: int, late: float) -> list[str]:
    last = [event for event in events if isinstance(event, Finished | Failed)]
    bad = [] if len(last) == 1 and events[-1] is last[0] else [f"{len(last)} last events"]
    if late > SOON_SECONDS:
        bad.append(f"told after {late:.1f} s")
    for event in last:
        if isinstance(event, Failed):
            words = "ran longer" if number == signal.SIGSTOP else f"signal {int(number)}"
            if event.error != "WorkerError" or words not in event.reason or "\n" in event.reason:
                bad.append(f"said: {event.error}: {event.reason}")
    return bad


def _next(request: Request, worker: WarmWorker | None) -> list[str]:
    try:
        _answer(request, worker)
    except Exception as error:
        return [f"the next request: {error}"]
    return []


def _children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _left() -> set[str]:
    """Processes, open files and scratch folders that are there now."""
    gc.collect()
    files = {f"{file.name} {file.readlink()}" for file in Path("/proc/self/fd").iterdir() if file.is_symlink()}
    folders = {str(path) for path in Path(tempfile.gettempdir()).iterdir()}
    return {f"process {child.pid}" for child in _children()} | files | folders


def run(count: int, seed: int, tell: Callable[[str], object], phases: tuple[str, ...] = PHASES) -> list[Killed]:
    """In a temporary folder of its own, so that what is left there is ours."""
    with tempfile.TemporaryDirectory() as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            gallery, found = Range(seed, phases), []
            for number in range(count):
                found.append(gallery.kill())
                tell(f"{number + 1:4} {_line(found[-1])}")
            return found
        finally:
            tempfile.tempdir = before


def _line(killed: Killed) -> str:
    name = signal.Signals(killed.signal).name
    said = "; ".join(killed.bad) if killed.bad else killed.event
    return f"{'BAD ' if killed.bad else ''}{killed.phase:12}{name:8} after {killed.seconds:5.2f} s: {said}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = run(options.count, options.seed, lambda line: print(line, flush=True))
    bad = sum(bool(each.bad) for each in found)
    by_phase = collections.Counter(each.phase for each in found)
    by_signal = collections.Counter(signal.Signals(each.signal).name for each in found)
    detail = "; ".join(", ".join(f"{name} {n}" for name, n in many.most_common()) for many in (by_phase, by_signal))
    print(f"{len(found)} kills, {bad} bad. {detail}")
    if options.count < COUNT:
        return 1 if bad else 0
    keep_result(
        "kills",
        "Workers killed, crashed or stopped at a random moment: one sentence each, the next request answered, "
        "nothing left",
        len(found),
        bad,
        detail,
    )
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[2]))
    sys.exit(main())
