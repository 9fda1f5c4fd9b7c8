"""Logs of a hundred megabytes, read by the doctor: seconds, and memory that does not grow.

python tests/benchmarks/doctor.py
"""

import gzip
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from planner_app.core.doctor import diagnose
from planner_app.core.doctor.log.gates import GATES
from planner_app.core.doctor.log.rules import RULES
from planner_app.core.doctor.signs import SIGNS

LOGS = Path(__file__).parent.parent / "doctor" / "logs"
MEGABYTES = 100
LONGEST_SECONDS = 10  # of processor time for a log as programs write it
WORST_SECONDS = 2  # for a megabyte of the worst lines
MOST_MIB = 64  # of the whole process; seen: 20


def endless(piece: bytes) -> Iterator[bytes]:
    for _ in range(MEGABYTES * 1_000_000 // len(piece) + 1):
        yield piece


def main() -> int:
    dump = gzip.decompress((LOGS / "tf221_resnet50_batch8_limit700.log.gz").read_bytes())
    bars = b"".join(b" %d/4000 [====>....] - ETA: 3s - loss: 0.5\n" % n for n in range(1, 4000))
    bar = bars.replace(b"\n", b"\r") + b"\n"
    chatter = b"2024-01-01 00:00:00.0: I tensorflow/core/foo.cc:12] nothing at all of interest here\n" * 3000
    slow = 0
    for name, piece in {"dumps": dump, "bars": bars, "one bar": bar, "chatter": chatter}.items():
        started = time.process_time()
        found = diagnose(endless(piece))
        took = time.process_time() - started
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"{name}: {took:.1f} s, {held} MiB, {found.kind}", flush=True)
        slow += took > LONGEST_SECONDS or held > MOST_MIB
    return slow + worst()


def worst() -> int:
    """A megabyte of each line that could take long: marks over and over, or with much behind them that does not fit."""
    rules = [*RULES, *(rule for sign in SIGNS for rule in sign.rules)]
    marks = [mark.encode() for mark in dict.fromkeys(rule.mark for rule in rules)]
    lines = {b"oom", b"Killed", b" ".join(marks)[:4000], b"\n".join(GATES.always)}
    for mark in marks:
        lines |= {mark * (4000 // len(mark)), mark + b" " * 3900, mark + b"1" * 3900, mark + b"1 1/1 [1," * 400}
    slowest = 0.0
    for line in lines:
        text = ((line + b"\n") * (1_000_000 // len(line)))[:1_000_000]
        started = time.process_time()
        diagnose([text])
        slowest = max(slowest, time.process_time() - started)
    print(f"{len(lines)} kinds of bad lines, a megabyte each: {slowest:.1f} s at most", flush=True)
    return slowest > WORST_SECONDS


if __name__ == "__main__":
    sys.exit(main())
