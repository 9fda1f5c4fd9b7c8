"""The largest batch by trying, for several models: found in at most eight tries, and true when tried again.

python tests/benchmarks/boundary.py [MODEL LIMIT ...]

Without a model: three of the accuracy table's.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from planner_app.core.estimate.limited import largest_through
from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.setup import Setup
from planner_app.planner.measuring.measure import measure
from planner_app.planner.measuring.search import search
from planner_app.planner.opening import check_model
from planner_app.planner.tracer import Tracer
from planner_app.units import parse_bytes

ZOO = Path(__file__).parents[1] / "accuracy" / "zoo.py"
THREE = {"plain_cnn": "256MiB", "transformer": "256MiB", "unet": "256MiB"}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        given = sys.argv[1:] or _made(Path(folder))
        wrong = [path for path, limit in zip(given[::2], given[1::2], strict=True) if not boundary(path, limit)]
    return 1 if wrong else 0


def _made(folder: Path) -> list[str]:
    subprocess.run([sys.executable, str(ZOO), str(folder), *THREE], check=True)
    return [text for name, limit in THREE.items() for text in (str(folder / f"{name}.keras"), limit)]


def boundary(path: str, limit: str) -> bool:
    limit_bytes = parse_bytes(limit)
    model, setup, place = check_model(path), Setup(batch=1), Place(limit_bytes=limit_bytes)
    guess = max(1, largest_through(Tracer(model).memory(setup.step("cpu")), limit_bytes))
    began = time.monotonic()
    found = search(model, setup, place, guess, order=Order.INLINE, on_try=lambda each: print(f"  {each}", flush=True))
    again = [
        measure(model, Setup(batch=batch), place, order=Order.INLINE, steps=3).oom is None
        for batch in (found.batch, found.batch + 1)
    ]
    right = found.exact and again == [True, False] and len(found.tries) <= 8
    print(
        f"{Path(path).stem}, {limit_bytes >> 20} MiB: estimated {guess}, found {found.batch} in "
        f"{len(found.tries)} tries, {time.monotonic() - began:.0f} s; tried again: {again}{'' if right else ' WRONG'}",
        flush=True,
    )
    return right


if __name__ == "__main__":
    sys.exit(main())
