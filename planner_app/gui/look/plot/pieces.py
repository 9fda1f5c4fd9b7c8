"""Lines that are straight over the batch, for an axis that is logarithmic."""

from collections.abc import Sequence

import numpy as np

A_DOUBLING = 8  # pieces: less than a pixel off on a chart of a dozen doublings


def in_pieces(batches: Sequence[int]) -> np.ndarray:
    """The batches and others between them, as the axis spaces them: what is straight between two known batches is
    curved there, however far apart they lie."""
    known = np.array(batches, dtype=float)
    if not len(known):
        return known
    between = np.exp2(np.arange(np.log2(known[0]), np.log2(known[-1]), 1 / A_DOUBLING))
    return np.union1d(known, between)
