"""Who is alive when: replay a step's operations and say which buffers are taken and given back, in order.

The order of operations and the reuse of buffers don't depend on the batch, so one replay serves every batch size.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner_app.core.model.trace import Access, Operation, Role, StepTrace

# constant_folding.h kMaxConstantSize: a result larger than this is made anew in every step.
LARGEST_FOLDED = 10 << 20
# The first step finds the variables as they were loaded; from the second on they lie where the last step left them. A
# pool that grows is laid out anew by each: as many are replayed as a measurement takes by default.
STEPS = 4
BEFORE = -1  # what is taken before the first step


@dataclass(frozen=True, slots=True)
class Buffers:
    """Memory taken and given back over some steps, batch size by batch size the same.

    Attributes:
        size: For each buffer, an index into the trace's sizes.
        maker: For each buffer the operation that took it; `BEFORE` for a variable's.
        value: For each buffer the value it was taken for; -1 for a variable's.
        owner: For each buffer the variable that holds or held it, or -1.
        owned_from: For each buffer with an owner, the move from which on it is the owner's.
        scratch: For each buffer, whether it was asked for as scratch memory.
        moves: Buffers in the order of events: `n` when buffer n is taken, `~n` when it is given back.
        operations: For each move the operation that made it.
        second_step: Where in `moves` the second step begins; the first one where there is one only.
        last_step: Where the last step begins; where steps take turns, the last turn of both.
        before: How many moves come before the first step; each takes a variable's buffer, which has its number.
        constants: Values that are folded: kept from step to step.
    """

    size: Sequence[int]
    maker: Sequence[int]
    value: Sequence[int]
    owner: Sequence[int]
    owned_from: Sequence[int]
    scratch: Sequence[int]
    moves: Sequence[int]
    operations: Sequence[int]
    second_step: int
    last_step: int
    before: int
    constants: Sequence[int]


def folded_values(trace: StepTrace, batch: int) -> frozenset[int]:
    """Values that no step makes at this batch: made of constants alone and small enough to be kept, or not needed."""
    return frozenset(
        number
        for number, value in enumerate(trace.values)
        if not value.made_at(batch) or (value.folded and trace.sizes[value.size].at(batch) <= LARGEST_FOLDED)
    )


def replay(
    trace: StepTrace,
    folded: frozenset[int] = frozenset(),
    schedule: Sequence[int] | None = None,
    steps: int = STEPS,
) -> Buffers:
    """Some steps in a row, each behind one that adds up gradients where there is that kind.

    A schedule names operations as they begin (`n`) and end (`~n`); without one, they run one by one.
    """
    return replay_process(trace, folded, [schedule] * steps)


def replay_process(
    trace: StepTrace, folded: frozenset[int], schedules: Iterable[Sequence[int] | None], *, zeros: bool = False
) -> Buffers:
    """Steps that each have an order of their own, as on a pool of threads.

    With `zeros` the optimizer's variables share, until the first step is over, the zeros they were made of
    (AssignVariableOp takes its input as it is), so that the first update copies them, wherever there is room then.
    """
    run = _Replay(trace, folded)
    begins = []
    shared = run.share(Role.OPTIMIZER) if zeros else []
    for schedule in schedules:
        begins.append(len(run.moves))
        run.step(schedule)
        while shared:
            run.unshare(shared.pop())
    return Buffers(
        size=run.size,
        maker=run.maker,
        value=run.value,
        owner=run.owner,
        owned_from=run.owned_from,
        scratch=run.scratch,
        moves=run.moves,
        operations=run.operations,
        second_step=begins[:2][-1],
        last_step=begins[-1],
        before=run.before,
        constants=run.constants(),
    )


class _Replay:
    """The buffers of running steps, and who holds them."""

    def __init__(self, trace: StepTrace, folded: frozenset[int]) -> None:
        self.trace, self.folded = trace, folded
        self.refs: list[int] = []
        self.size = array("i")
        self.maker = array("i")
        self.value = array("i")
        self.owner = array("i")
        self.owned_from = array("q")
        self.scratch = array("b")
        self.moves = array("q")
        self.operations = array("i")
        self.holds: list[tuple[int, ...]] = []
        self.buffer_of: list[int] = []
        self.variable_buffer = [self._take(BEFORE, variable.size) for variable in trace.variables]
        for variable, buffer in enumerate(self.variable_buffer):
            self.refs[buffer] += 1
            self.owner[buffer] = variable
        self.before = len(self.moves)
        self.readers = [0] * len(trace.values)
        self._numbered = (*trace.operations, *trace.adding)
        for operation in self._numbered:
            for read in operation.reads:
                self.readers[read] += 1
        for value in trace.values:
            for held in value.holds:
                self.readers[held] += 1

    def constants(self) -> list[int]:
        """What is folded is kept, but for what only other folded operations read. What another name, turn of a loop
        or kind of step makes of the same node is the same; a constant of the graph is counted as one already."""
        wanted = {
            self._origin(read)
            for operation in self._numbered
            if not any(made in self.folded for made in operation.makes)
            for read in operation.reads
            if read in self.folded
        }
        kept: dict[tuple[int, int], int] = {}
        for operation in self._numbered:
            for place, made in enumerate(operation.makes):
                if made in wanted and made in self.folded:
                    kept.setdefault((operation.source, place), made)
        return sorted(kept.values())

    def _origin(self, value: int) -> int:
        while self.trace.values[value].alias >= 0:
            value = self.trace.values[value].alias
        return value

    def share(self, role: Role) -> list[int]:
        """Somebody else holds the buffers of these variables."""
        held = [
            buffer
            for variable, buffer in zip(self.trace.variables, self.variable_buffer, strict=True)
            if variable.role is role
        ]
        for buffer in held:
            self.refs[buffer] += 1
        return held

    def unshare(self, buffer: int) -> None:
        self._release(BEFORE, buffer)

    def step(self, schedule: Iterable[int] | None) -> None:
        """One step; the variables' buffers stay for the next one."""
        self.buffer_of = [-1] * len(self.trace.values)
        operations = self._numbered
        if schedule is None:
            count = len(self.trace.operations)
            for number in (*range(count, len(operations)), *range(count)):
                self._begin(number, operations[number])
                self._end(number, operations[number])
            return
        for entry in schedule:
            if entry >= 0:
                self._begin(entry, operations[entry])
            else:
                self._end(~entry, operations[~entry])

    def _begin(self, number: int, operation: Operation) -> None:
        values, buffer_of, refs = self.trace.values, self.buffer_of, self.refs
        access = operation.access
        for made in operation.makes:
            value = values[made]
            if access == Access.READ:
                buffer = self.variable_buffer[operation.variable]
            elif made in self.folded:
                buffer = self._take(number, 0)
                refs[buffer] += 1  # never given back
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
                    buffer = self._take(number, value.size, value.holds, value.scratch, made)
            buffer_of[made] = buffer
            refs[buffer] += 1  # the kernel's own hold, until its readers have theirs
        if access == Access.UPDATE:
            self._update(number, operation.variable)
        elif access == Access.REPLACE:
            self._replace(number, operation.variable, buffer_of[operation.reads[1]])

    def _end(self, number: int, operation: Operation) -> None:
        """executor.cc: scratch memory goes with the kernel, then the inputs are let go, then the outputs handed on."""
        buffer_of, readers, refs = self.buffer_of, self.readers, self.refs
        for made in operation.makes:
            refs[buffer_of[made]] += readers[made]
            if not readers[made]:
                self._release(number, buffer_of[made])
        for read in operation.reads:
            self._release(number, buffer_of[read])
        for made in operation.makes:
            if readers[made]:
                self._release(number, buffer_of[made])

    def _take(
        self, operation: int, size: int, holds: tuple[int, ...] = (), scratch: bool = False, value: int = -1
    ) -> int:
        buffer = len(self.refs)
        self.refs.append(0)
        self.size.append(size)
        self.maker.append(operation)
        self.scratch.append(scratch)
        self.value.append(value)
        self.owner.append(-1)
        self.owned_from.append(0)
        self.holds.append(holds)
        if size:
            self.moves.append(buffer)
            self.operations.append(operation)
        return buffer

    def _release(self, operation: int, buffer: int) -> None:
        refs = self.refs
        refs[buffer] -= 1
        if refs[buffer]:
            return
        gone = [buffer]
        while gone:
            buffer = gone.pop()
            if self.size[buffer]:
                self.moves.append(~buffer)
                self.operations.append(operation)
            for held in self.holds[buffer]:
                other = self.buffer_of[held]
                refs[other] -= 1
                if not refs[other]:
                    gone.append(other)

    def _update(self, operation: int, variable: int) -> None:
        """resource_variable_ops.cc PrepareToUpdateVariable: somebody still reads it, so a copy is updated."""
        old = self.variable_buffer[variable]
        if self.refs[old] > 1:
            new = self._take(operation, self.size[old], scratch=True)
            self.refs[new] += 1
            self.owner[new] = variable
            self.variable_buffer[variable] = new
            self._release(operation, old)

    def _replace(self, operation: int, variable: int, buffer: int) -> None:
        old = self.variable_buffer[variable]
        self.refs[buffer] += 1
        self.owner[buffer] = variable
        self.owned_from[buffer] = len(self.moves)
        self.variable_buffer[variable] = buffer
        self._release(operation, old)
