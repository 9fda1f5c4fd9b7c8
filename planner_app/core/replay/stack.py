"""Memory over one step, move by move, as the estimate has it: a stack of terms whose top is what is in use.

After every move the stack is what `breakdown.snapshot` would say of that move, at the price of one replay for all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from planner_app.core.estimate.breakdown import Held, Term, attributed, constant_bytes, kept_for_backward, later_phases
from planner_app.core.model.trace import Phase, Source, StepTrace
from planner_app.core.replay.liveness import Buffers
from planner_app.core.replay.memory import Memory

Bytes = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.intp]

# What changes memory by less than this share of the peak can't be seen on a chart, and gets no room on its axis.
VISIBLE = 1 / 2000


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Bytes after each of some moves of a step.

    Attributes:
        moves: Their numbers in the replay.
        terms: For each term that there is, its bytes after each move.
        scratch: Of those, what was asked for as scratch memory, under whichever term.
        peak: Which of the moves brings about the expected peak.
        sources: All operations' sources; `source_of` says whose each move is.
    """

    moves: Numbers
    terms: Mapping[Term, Bytes]
    scratch: Bytes
    peak: int
    sources: tuple[Source, ...]
    source_of: Numbers

    @property
    def in_use(self) -> Bytes:
        total: Bytes = np.sum(list(self.terms.values()), axis=0, dtype=np.int64)
        return total

    def source(self, place: int) -> Source:
        """Whose operation made a move."""
        return self.sources[int(self.source_of[place])]

    def at(self, places: Numbers) -> "Stack":
        """Only some of the moves: in order, the peak among them."""
        return Stack(
            moves=self.moves[places],
            terms={term: found for term, size in self.terms.items() if (found := size[places]).any()},
            scratch=self.scratch[places],
            peak=int(np.searchsorted(places, self.peak)),
            sources=self.sources,
            source_of=self.source_of[places],
        )


def stack(memory: Memory, batch: int) -> Stack:
    """The last step of the replay at a per-GPU batch."""
    trace, buffers, point = memory.trace_at(batch), memory.buffers(batch), memory.point(batch)
    count = len(buffers.moves) - buffers.last_step
    rows = {term: row for row, term in enumerate(Term)}
    passing = len(rows)  # what the forward pass made and may not need any more: kept, once that pass is over
    changes = np.zeros((passing + 2, count + 1), dtype=np.int64)
    for piece in _pieces(trace, buffers, batch):
        kept = kept_for_backward(piece.held) is not piece.held
        for row in (passing if kept else rows[piece.held.term], *([passing + 1] if piece.scratch else [])):
            changes[row, piece.begin] += piece.held.size_bytes
            changes[row, piece.end] -= piece.held.size_bytes
    *levels, passed, scratch = np.cumsum(changes, axis=1)[:, :-1]
    source_of = _sources(trace, buffers)
    forward = np.array([source.phase is Phase.FORWARD for source in trace.sources])[source_of]
    levels[rows[Term.TEMPORARIES]] += np.where(forward, passed, 0)
    levels[rows[Term.ACTIVATIONS]] += np.where(forward, 0, passed)
    levels[rows[Term.CONSTANTS]] += constant_bytes(trace, buffers, batch)
    book = memory.in_use(batch)
    levels[rows[Term.OVERHEAD]] = -scratch if book is None else np.array(book) - np.sum(levels, axis=0)
    return Stack(
        moves=np.arange(buffers.last_step, len(buffers.moves)),
        terms={term: levels[row] for term, row in rows.items() if levels[row].any()},
        scratch=scratch,
        peak=point.peak.move - buffers.last_step,
        sources=trace.sources,
        source_of=source_of,
    )


def layer_bytes(memory: Memory, batch: int, layer: str) -> tuple[Numbers, Bytes]:
    """What one layer has in memory over the last step: the moves after which that changes, and the bytes from then on.

    The first move is the step's first.
    """
    buffers = memory.buffers(batch)
    changes = np.zeros(len(buffers.moves) - buffers.last_step + 1, dtype=np.int64)
    for piece in _pieces(memory.trace_at(batch), buffers, batch):
        if piece.held.layer == layer:
            changes[piece.begin] += piece.held.size_bytes
            changes[piece.end] -= piece.held.size_bytes
    places = np.flatnonzero(changes[:-1])
    places = np.concatenate(([0], places[places > 0]))
    return places + buffers.last_step, np.cumsum(changes)[places]


def visible(in_use: Bytes, peak: int) -> Numbers:
    """The moves that can be told apart on a chart: since the last of them memory has visibly risen or fallen.

    Args:
        in_use: Bytes after each move.
        peak: A move that is among them in any case.
    """
    least = float(in_use[peak]) * VISIBLE
    found, last = [0], int(in_use[0])
    for place, level in enumerate(in_use.tolist()):
        if abs(level - last) >= least or place == peak > 0:
            found.append(place)
            last = level
    return np.array(found, dtype=np.intp)


def thinned(in_use: Bytes, peak: int, most: int) -> Numbers:
    """About so many moves: the first, the peak, the lowest and the highest of as many stretches as that allows."""
    count = len(in_use)
    if count <= most:
        return np.arange(count)
    bounds = np.unique(np.linspace(0, count, max(most // 2, 1) + 1).astype(np.intp))
    stretches = [(int(begin), in_use[begin:end]) for begin, end in pairwise(bounds)]
    highest = [begin + int(np.argmax(stretch)) for begin, stretch in stretches]
    lowest = [begin + int(np.argmin(stretch)) for begin, stretch in stretches]
    return np.unique(np.array([0, peak, *highest, *lowest], dtype=np.intp))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A buffer, as long as it is of one term and one layer: from one move of the last step until before another."""

    begin: int
    end: int
    held: Held
    scratch: bool


def _pieces(trace: StepTrace, buffers: Buffers, batch: int) -> Iterator[_Piece]:
    sizes = [size.at(batch) for size in trace.sizes]
    later = later_phases(trace)
    first, end = buffers.last_step, len(buffers.moves)
    taken: dict[int, int] = {}
    gone: dict[int, int] = {}
    for place, move in enumerate(buffers.moves):
        if move >= 0:
            taken[move] = place
        elif place < first:
            del taken[~move]
        else:
            gone[~move] = place
    for buffer, begin in taken.items():
        over = gone.get(buffer, end)
        owned = buffers.owned_from[buffer] if buffers.owner[buffer] >= 0 else 0
        bounds = (begin, owned, over) if begin < owned < over else (begin, over)
        for start, stop in pairwise(bounds):
            if stop > first:
                held = attributed(trace, buffers, sizes, later, buffer, start)
                yield _Piece(max(start - first, 0), stop - first, held, bool(buffers.scratch[buffer]))


def _sources(trace: StepTrace, buffers: Buffers) -> Numbers:
    made_by = np.array(buffers.operations[buffers.last_step :], dtype=np.intp)
    return np.array([operation.source for operation in (*trace.operations, *trace.adding)], dtype=np.intp)[made_by]
