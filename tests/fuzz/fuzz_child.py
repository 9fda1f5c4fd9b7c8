"""A real worker, in its sandbox, that reads one changed input after the other.

What it is at is said on stderr before each input: should it hang or die, the last words tell which one it was.
"""

import os
import sys
import time
import traceback
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from msgspec.structs import replace

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from fuzz_targets import target  # noqa: E402
from fuzz_targets.common import READ, REFUSED  # noqa: E402

from planner_app.jobs.protocol import Inspect, Limits, Request  # noqa: E402
from planner_app.jobs.usage.group_memory import resident_bytes  # noqa: E402

AT = "input "


class Fuzz(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Inputs `first` to `first + count` of a target, made from a seed. Answers with outcomes and finds.

    `deadly` is the number of an input that ends the worker, to see what becomes of the others.
    """

    # The reader's own; each input is an event, so silence is an input that takes too long.
    limits: ClassVar[Limits] = replace(Inspect.limits, seconds=3600)

    target: str
    seed: int
    first: int
    count: int
    deadly: int = -1

    def reads(self) -> tuple[str, ...]:
        return (str(HERE.parent),)


def made(name: str, seed: int, number: int) -> bytes:
    """The same input every time."""
    module = target(name)
    random = Random(f"{name} {seed} {number}")
    seeds = _seeds(name)
    return bytes(module.mutate(random.choice(seeds), random, seeds))


@cache
def _seeds(name: str) -> list[bytes]:
    return list(target(name).seeds())


def fuzz(request: Fuzz, report: Any) -> dict[str, Any]:
    module = target(request.target)
    outcomes: dict[str, int] = {}
    finds: list[tuple[int, str]] = []
    slowest, largest = (0.0, 0), 0
    for number in range(request.first, request.first + request.count):
        os.write(2, f"{AT}{number}\n".encode())
        if number == request.deadly:
            os.abort()
        data = made(request.target, request.seed, number)
        begun = time.monotonic()
        try:
            outcome = READ if module.run(data) == READ else REFUSED
        except Exception:
            outcome = "bad"
            finds.append((number, traceback.format_exc()[-4000:]))
        slowest = max(slowest, (round(time.monotonic() - begun, 3), number))
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        largest = max(largest, resident_bytes(os.getpid()))
        report(number, request.count, "at work")
    return {"outcomes": outcomes, "finds": finds, "slowest": slowest, "largest_bytes": largest}


if __name__ == "__main__":
    from planner_app.worker.serve import serve

    serve({"Fuzz": "fuzz_child:fuzz"})
