"""The largest batch that fits, by trying: a fresh process for every try, since a try after an out-of-memory error in
the same process lies."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from planner_app.core.measure.measurement import Measurement, Order, Place
from planner_app.core.measure.search import MOST_TRIES, Found, Try, next_batch, stands
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.errors import Cancelled, WorkerError
from planner_app.jobs.protocol import Progress
from planner_app.planner.measuring.measure import OnProgress, measure
from planner_app.units import format_bytes

CONFIRM = 2
STEPS = 3  # the first, and two that find memory as the one before left it


def search(
    model: CheckedModel,
    setup: Setup,
    place: Place,
    guess: int,
    *,
    order: Order = Order.ORDINARY,
    processes: int = 1,
    multiple: int = 1,
    margin: float = 0.0,
    most: int = MOST_TRIES,
    confirm: int = CONFIRM,
    known: Sequence[Try] = (),
    run: Callable[..., Measurement] = measure,
    on_try: Callable[[Try], None] | None = None,
    on_progress: OnProgress | None = None,
    cancelled: threading.Event | None = None,
) -> Found:
    """Tries batches until one fits and the next one does not.

    Args:
        setup: How to train; its batch is left alone.
        guess: A batch on each GPU to begin with, from an estimate.
        processes: A batch fits if it does in so many fresh processes.
        multiple: Only multiples of this are asked for.
        confirm: How often the answer is tried: close to the limit a batch fits in one process and not in the next.
        margin: A batch fits if it leaves this share of the limit free.
        known: Tries of an earlier search that was not finished.
        run: What measures a try: `measure`, or the same on another machine.
        on_try: Hears of every try as it ends.

    Raises:
        Cancelled: What was tried before has gone to `on_try`.
    """
    tries = list(known)
    while (batch := next_batch(tries, guess, multiple, most, confirm)) is not None:
        if cancelled is not None and cancelled.is_set():
            raise Cancelled

        def tell(event: Progress, batch: int = batch, number: int = len(tries) + 1) -> None:
            if on_progress is not None:
                text = f"try {number} of at most {most}, {batch} on each GPU: {event.text}"
                on_progress(Progress(done=event.done, of=event.of, text=text))

        tried = replace(setup, batch=batch * setup.shares)
        began = time.monotonic()
        result = run(
            model,
            tried,
            place,
            order=order,
            steps=max(STEPS, setup.accumulate + 1),
            processes=processes,
            on_progress=tell,
            cancelled=cancelled,
        )
        if result.ended:
            raise Cancelled(result.ended) if cancelled is not None and cancelled.is_set() else WorkerError(result.ended)
        tries.append(_judged(result, batch, margin, time.monotonic() - began))
        if on_try is not None:
            on_try(tries[-1])
    return stands(tries, multiple)


def _judged(result: Measurement, batch: int, margin: float, seconds: float) -> Try:
    peak, limit = result.peak_bytes, _limit(result)
    reason = ""
    if result.oom is not None:
        reason = " of ".join(filter(None, (result.oom.operation, result.oom.layer))) or result.oom.message
        reason = f"out of memory in {result.oom.during}, {reason}"
    elif margin and limit is not None and peak is not None and peak > limit * (1 - margin):
        reason = f"it leaves {format_bytes(limit - peak)} of {format_bytes(limit)} free, less than {margin:.0%}"
    return Try(batch, not reason, peak, limit, round(seconds, 3), reason)


def _limit(result: Measurement) -> int | None:
    """What the allocator says of itself; what it was given, where it was not asked."""
    told = [run.limit_bytes for run in result.runs if run.limit_bytes is not None]
    return min(told) if told else result.place.limit_bytes
