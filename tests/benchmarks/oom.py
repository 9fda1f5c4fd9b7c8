"""Twenty measurements with less memory than they need: each must name the operation and the layer that broke, and the
next measurement must not notice.

    python tests/benchmarks/oom.py [MODEL ...]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.setup import Setup
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import check_model

DEMO = Path(__file__).parents[2] / "planner_app" / "data" / "demo.keras"
BATCH = 64
LIMITS = (5, 8, 11, 14, 17, 20, 25, 30, 35, 40)  # MiB; one by one the demo's step takes 63, on a thread pool up to 110
UNHARMED_EVERY = 5


def main() -> int:
    models = [check_model(str(path)) for path in sys.argv[1:] or [DEMO]]
    right = total = 0
    for number, limit in enumerate(limit for limit in LIMITS for _ in Order):
        order, model = list(Order)[number % 2], models[number % len(models)]
        began = time.monotonic()
        oom = measure(model, Setup(batch=BATCH), Place(limit_bytes=limit << 20), order=order).oom
        total += 1
        right += bool(oom and oom.operation and oom.layer)
        print(
            f"{limit:3} MiB, {order:8}: {oom and (oom.during, oom.operation, oom.layer)} "
            f"({time.monotonic() - began:.0f} s)",
            flush=True,
        )
        if number % UNHARMED_EVERY == UNHARMED_EVERY - 1:
            after = measure(model, Setup(batch=BATCH), Place(limit_bytes=4 << 30), order=Order.INLINE, steps=2)
            print(f"  afterwards: {after.runs[0].live_bytes} live bytes, {after.oom}", flush=True)
            right -= after.oom is not None
    print(f"{right} of {total} named")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
