"""Finding the largest batch by trying: from a guess outwards until it is between two tries, then halving.

A guess from an estimate is mostly right to a few percent, so the first steps away from it are small and grow threefold.
Pure: told what was tried, it says what to try next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_TRIES = 8
FIRST_STEP = 0.02  # of the guess: what estimates are off by in half of the cases measured
GROWTH = 3


@dataclass(frozen=True, slots=True)
class Try:
    """One batch on each GPU, tried in fresh processes. `peak_bytes` is None where memory ran out before any step.

    Attributes:
        reason: Why it does not fit: the operation and layer that broke, or a margin that was not kept.
    """

    batch: int
    fits: bool
    peak_bytes: int | None = None
    limit_bytes: int | None = None
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Where the search stands.

    Attributes:
        batch: The largest that fits on each GPU, 0 for none.
        above: The smallest that was seen not to fit; None if none was.
        exact: Nothing lies between the two but batches that nobody asks for.
    """

    batch: int
    above: int | None
    exact: bool
    tries: tuple[Try, ...] = ()


def next_batch(
    tries: Sequence[Try], guess: int, multiple: int = 1, most: int = MOST_TRIES, confirm: int = 1
) -> int | None:
    """What to try next: a multiple of `multiple`; None when there is nothing left to find out, or no try left.

    `confirm` is how often the answer must have fitted: close to the limit the same batch fits in one process and not in
    the next.
    """
    if len(tries) >= most:
        return None
    found = stands(tries, multiple)
    if found.exact:
        fitted = sum(each.batch == found.batch for each in tries)
        return found.batch if found.batch and fitted < confirm else None
    below, above = found.batch // multiple, None if found.above is None else -(-found.above // multiple)
    first = max(1, guess // multiple)
    if not tries:
        return first * multiple
    step = max(1, round(first * FIRST_STEP)) * int(GROWTH ** (len(tries) - 1))
    if above is None:
        return (below + step) * multiple
    if below == 0 and not any(each.fits for each in tries):
        return max(1, above - step) * multiple
    return (below + above) // 2 * multiple


def stands(tries: Sequence[Try], multiple: int = 1) -> Found:
    """A batch above one that did not fit does not count, even if it fitted once: order and addresses are chance."""
    above = min((each.batch for each in tries if not each.fits), default=None)
    fitting = [each.batch for each in tries if each.fits and (above is None or each.batch < above)]
    below = max(fitting, default=0)
    return Found(below, above, above is not None and above - below <= multiple, tuple(tries))
