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

LOGS = Path(__file__).parent.parent / "doctor" / "logs"
MEGABYTES = 100
LONGEST_SECONDS = 20  # of processor time; seen: 2 to 9
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
    return slow


if __name__ == "__main__":
    sys.exit(main())
