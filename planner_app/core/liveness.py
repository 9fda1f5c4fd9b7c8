"""Who is alive when: replay a step's operations and say which buffers are taken and given back, in order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner_app.core.trace import Access, StepTrace

TAKE, GIVE = 1, -1

# constant_folding.h kMaxConstantSize: a result larger than this is made anew in every step.
LARGEST_FOLDED = 10 << 20


@dataclass(frozen=True, slots=True)
class Move:
    """A buffer is taken or given back.

    Attributes:
        operation: Index of the operation that did it (-1: before the step).
        buffer: The buffer's number; taken once, given back once.
        size: Index into the trace's sizes.
        sign: `TAKE` or `GIVE`.
    """

    operation: int
    buffer: int
    size: int
    sign: int
    scratch: bool = False


class Replay:
    """The buffers of a running step: who holds them, and what each operation takes and gives."""

    def __init__(self, trace: StepTrace, batch: int) -> None:
        self.trace = trace
        self.bytes = [size.at(batch) for size in trace.sizes]
        self.refs: list[int] = []
        self.size: list[int] = []
        self.holds: list[tuple[int, ...]] = []
        self.region: list[bool] = []
        self.moves: list[tuple[int, int, int]] = []  # (operation, buffer, sign)
        self.variable_buffer = [self._take(-1, variable.size) for variable in trace.variables]
        for buffer in self.variable_buffer:
            self.refs[buffer] += 1
        self.readers = [0] * len(trace.values)
        for operation in trace.operations:
            for value in operation.reads:
                self.readers[value] += 1
        for value in trace.values:
            for held in value.holds:
                self.readers[held] += 1
        self.constant_bytes = trace.constant_bytes + self._fold()

    def _fold(self) -> int:
        """What is folded is kept for good, but for what only other folded operations read."""
        trace = self.trace
        self.folded = bytearray(len(trace.values))
        for number, value in enumerate(trace.values):
            if value.folded and self.bytes[value.size] <= LARGEST_FOLDED:
                self.folded[number] = 1
        kept = set()
        for operation in trace.operations:
            if not any(self.folded[made] for made in operation.makes):
                kept.update(read for read in operation.reads if self.folded[read])
        return sum(self.bytes[trace.values[value].size] for value in kept)

    def _take(self, operation: int, size: int, holds: tuple[int, ...] = (), region: bool = False) -> int:
        buffer = len(self.refs)
        self.refs.append(0)
        self.size.append(size)
        self.holds.append(holds)
        self.region.append(region)
        if size:
            self.moves.append((operation, buffer, TAKE))
        return buffer

    def _release(self, operation: int, buffer: int) -> None:
        stack = [buffer]
        while stack:
            buffer = stack.pop()
            self.refs[buffer] -= 1
            if self.refs[buffer] == 0:
                if self.size[buffer]:
                    self.moves.append((operation, buffer, GIVE))
                stack.extend(self.buffer_of[held] for held in self.holds[buffer])

    def step(self, order: Iterable[int] | None = None) -> None:
        """One step; the variables' buffers stay for the next one."""
        trace = self.trace
        values, operations, readers, refs = trace.values, trace.operations, self.readers, self.refs
        self.buffer_of = buffer_of = [-1] * len(values)
        for number in range(len(operations)) if order is None else order:
            op = operations[number]
            access = op.access
            for made in op.makes:
                value = values[made]
                if access == Access.READ:
                    buffer = self.variable_buffer[op.variable]
                elif self.folded[made]:
                    buffer = self._take(number, 0)
                    refs[buffer] += 1
                elif value.alias >= 0:
                    buffer = buffer_of[value.alias]
                else:
                    buffer = -1
                    for candidate in value.forward:
                        held = buffer_of[candidate]
                        if refs[held] == 1 and self.size[held] == value.size:
                            buffer = held
                            break
                    if buffer < 0:
                        buffer = self._take(number, value.size, value.holds, value.scratch)
                buffer_of[made] = buffer
                # The kernel's own hold, until its readers have theirs.
                refs[buffer] += 1
            if access == Access.UPDATE:
                self._update(number, op.variable)
            elif access == Access.REPLACE:
                self._replace(number, op.variable, buffer_of[op.reads[1]])
            for made in op.makes:
                refs[buffer_of[made]] += readers[made]
                if not readers[made]:
                    self._release(number, buffer_of[made])
            for read in op.reads:
                self._release(number, buffer_of[read])
            for made in op.makes:
                if readers[made]:
                    self._release(number, buffer_of[made])

    def _update(self, operation: int, variable: int) -> None:
        old = self.variable_buffer[variable]
        if self.refs[old] > 1:
            new = self._take(operation, self.size[old], region=True)
            self.refs[new] += 1
            self.variable_buffer[variable] = new
            self._release(operation, old)

    def _replace(self, operation: int, variable: int, buffer: int) -> None:
        old = self.variable_buffer[variable]
        self.refs[buffer] += 1
        self.variable_buffer[variable] = buffer
        self._release(operation, old)


def live_peak(moves: Sequence[tuple[int, int, int]], sizes: Sequence[int], regions: Sequence[bool]) -> tuple[int, int]:
    """Most bytes alive at one moment, and the operation that made it so."""
    live = peak = 0
    at = -1
    for operation, buffer, sign in moves:
        if not regions[buffer]:
            live += sign * sizes[buffer]
            if live > peak:
                peak, at = live, operation
    return peak, at
