"""Finds the largest batch by trying: outwards from a guess until it is bracketed, then by bisection.

An estimate is usually right within a few percent, so the first steps away from it are small and then grow threefold.
Pure: given what was tried, it returns what to try next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_TRIES = 8
FIRST_STEP = 0.02  # of the guess: the error of estimates in half of the measured cases
GROWTH = 3


@dataclass(frozen=True, slots=True)
class Try:
    """One per-GPU batch, tried in new processes. `peak_bytes` is None if memory ran out before any step.

    Attributes:
        reason: Why it does not fit: the operation and layer that failed, or a margin that was exceeded.
    """

    batch: int
    fits: bool
    peak_bytes: int | None = None
    limit_bytes: int | None = None
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The state of the search.

    Attributes:
        batch: The largest per-GPU batch that fits, 0 for none.
        above: The smallest that did not fit; None if there was none.
        exact: No batch worth trying lies between the two.
    """

    batch: int
    above: int | None
    exact: bool
    tries: tuple[Try, ...] = ()


def next_batch(
    tries: Sequence[Try], guess: int, multiple: int = 1, most: int = MOST_TRIES, confirm: int = 1
) -> int | None:
    """What to try next, a multiple of `multiple`; None if the search is over or no tries are left.

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
    """A batch above one that did not fit does not count, even if it fitted once: order and addresses vary."""
    above = min((each.batch for each in tries if not each.fits), default=None)
    fitting = [each.batch for each in tries if each.fits and (above is None or each.batch < above)]
    below = max(fitting, default=0)
    return Found(below, above, above is not None and above - below <= multiple, tuple(tries))
