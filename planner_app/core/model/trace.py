"""One training step as TensorFlow would run it: operations in the executor's order, and the memory each one touches.

Loops are unrolled, branches taken and functions inlined before a trace is made, so a trace is a plain list. Every size
is a polynomial in the per-GPU batch, so one trace answers for every batch size.
"""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Phase(StrEnum):
    FORWARD = "forward"
    BACKWARD = "backward"
    UPDATE = "update"


class Role(StrEnum):
    """What a variable is for."""

    WEIGHT = "weight"
    FROZEN = "frozen weight"
    OPTIMIZER = "optimizer state"
    METRIC = "metric"
    INPUT = "input"


class Access(IntEnum):
    """How an operation touches its variable."""

    NONE = 0
    READ = 1  # the output is the variable's own buffer
    COPY = 2  # reads a copy: the variable is updated sparsely, so its buffer may not be shared
    REPLACE = 3  # the variable takes over the value's buffer
    UPDATE = 4  # in place, or into a new buffer if the old one is still read
    TOUCH = 5  # works on the variable's buffer where it lies


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes (or work) over the per-GPU batch: `constant + slope * batch + square * batch**2`."""

    constant: int = 0
    slope: int = 0
    square: int = 0

    def at(self, batch: int) -> int:
        return self.constant + self.slope * batch + self.square * batch * batch


@dataclass(frozen=True, slots=True)
class Variable:
    """What lives from step to step. `size` is an index into the trace's sizes: inputs grow with the batch."""

    name: str
    size: int
    role: Role
    layer: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """Kept from step to step, at batches from `from_batch` on. `size` is an index into the trace's sizes."""

    size: int
    from_batch: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Where operations come from: one node of the graph, however often a loop runs it.

    Attributes:
        rows: How many rows it sums into each column when compiled by XLA; 0 if it is not such a reduction.
        workspace: What cuDNN takes beside a convolution on a GPU, without a limit.
    """

    name: str
    type: str
    layer: str
    phase: Phase
    rows: Size = Size()
    workspace: Size = Size()


@dataclass(frozen=True, slots=True)
class Value:
    """An output of an operation.

    Attributes:
        size: Index into the trace's sizes.
        alias: Index of the input whose buffer this is, or -1 for a buffer of its own.
        forward: Inputs whose buffer the kernel reuses if nothing else holds it.
        holds: Values kept alive as long as this one is: the elements of a list.
        scratch: The kernel requests it as scratch memory; it is freed after the kernel unless something reads it.
        from_batch: With fewer samples the kernel does not need it.
        below_batch: With this many samples or more the kernel does not need it; 0: never.
        folded: Known before the step runs: kept as a constant, if it is small enough, and not made again.
    """

    size: int = 0
    alias: int = -1
    forward: tuple[int, ...] = ()
    holds: tuple[int, ...] = ()
    scratch: bool = False
    folded: bool = False
    from_batch: int = 0
    below_batch: int = 0

    def made_at(self, batch: int) -> bool:
        """Whether the kernel allocates it at all."""
        return batch >= self.from_batch and not 0 < self.below_batch <= batch


@dataclass(frozen=True, slots=True)
class Operation:
    """One run of one kernel.

    Attributes:
        reads: Values held until the kernel has run.
        makes: Values it outputs.
        then: Operations that wait for this one, in the order in which they are notified, once for each edge.
        waits: How many edges this one waits for.
        variable: The variable touched, or -1.
        work: Index into the trace's sizes: arithmetic operations, over the batch like bytes.
    """

    source: int
    reads: tuple[int, ...] = ()
    makes: tuple[int, ...] = ()
    then: tuple[int, ...] = ()
    waits: int = 0
    access: Access = Access.NONE
    variable: int = -1
    work: int = 0


@dataclass(frozen=True, slots=True)
class Trained:
    """What the step is trained with, in words: as the model says it, or as the setup does.

    Attributes:
        assumed: Assumptions where nothing is specified, a clause each: "optimizer adam: the model is not compiled".
    """

    optimizer: str = ""
    loss: str = ""
    assumed: tuple[str, ...] = ()


UNSAID = Trained()


@dataclass(frozen=True, slots=True)
class StepTrace:
    """One training step. `operations` stand in the order a GPU runs them: first in, first out.

    Attributes:
        adding: The other kind of step if gradients are accumulated over several steps: it takes turns with
            `operations`, which update. Its operations are numbered after those.
        constant_bytes: Constants that stay from step to step, all together.
        constants: More of them, which grow with the batch.
        layers: Path and class of every layer, in the model's order.
        xla: The step is compiled by XLA: asked for, and every layer allows it.
        only_batch: The batch size that is written into the model, and the only one this trace is of; 0 for any.
        small: The step of batches up to `small_up_to`, where TensorFlow runs another graph at them.
    """

    sources: tuple[Source, ...]
    operations: tuple[Operation, ...]
    values: tuple[Value, ...]
    sizes: tuple[Size, ...]
    variables: tuple[Variable, ...]
    adding: tuple[Operation, ...] = ()
    constant_bytes: int = 0
    constants: tuple[Constant, ...] = ()
    layers: tuple[tuple[str, str], ...] = ()
    xla: bool = False
    warnings: tuple[str, ...] = field(default=())
    only_batch: int = 0
    trained: Trained = UNSAID
    small: "StepTrace | None" = None
    small_up_to: int = 0

    def operation(self, number: int) -> Operation:
        count = len(self.operations)
        return self.operations[number] if number < count else self.adding[number - count]

    def constants_at(self, batch: int) -> list[int]:
        """Bytes of the constants that there are at this batch and that grow with it."""
        return [self.sizes[each.size].at(batch) for each in self.constants if batch >= each.from_batch]
