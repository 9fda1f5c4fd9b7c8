"""What is in memory at the peak: every byte has a term, and a layer if it belongs to one."""

from dataclasses import dataclass, replace
from enum import StrEnum

from planner_app.core.model.trace import Phase, Role, StepTrace
from planner_app.core.replay.liveness import BEFORE, Buffers

PACKING = "all_reduce/"


class Term(StrEnum):
    WEIGHTS = "weights"
    GRADIENTS = "gradients"
    OPTIMIZER = "optimizer state"
    ACTIVATIONS = "activations"
    TEMPORARIES = "temporaries"
    INPUTS = "inputs"
    SCRATCH = "kernel scratch"
    REDUCTION = "all-reduce buffers"
    CONSTANTS = "constants"
    OVERHEAD = "allocator overhead"
    CALIBRATION = "seen in measurements"
    COMPILER = "by the compiler's line"


MEANING = {
    Term.WEIGHTS: "The model's variables, trained or not, and copies of them that are still read.",
    Term.GRADIENTS: "Gradients of the loss by the weights, until the update has used them.",
    Term.OPTIMIZER: "What the optimizer keeps for each weight from step to step.",
    Term.ACTIVATIONS: "What the forward pass made and the backward pass still needs.",
    Term.TEMPORARIES: "What one phase makes for its own use: intermediate results and gradients of activations.",
    Term.INPUTS: "The batch: inputs and targets.",
    Term.SCRATCH: "Temporary memory of kernels while they run.",
    Term.REDUCTION: "Gradients packed into one buffer to be summed over the GPUs.",
    Term.CONSTANTS: "Constants of the graph, kept from step to step, and metrics.",
    Term.OVERHEAD: "Chunks are larger than requested: rounding, and holes that are reused whole.",
    Term.CALIBRATION: "How much more or less than the estimate measurements on this kind of device took.",
    Term.COMPILER: "How much more or less than the estimate the compiler needs at neighbouring batches.",
}
_ROLE_TERM = {
    Role.WEIGHT: Term.WEIGHTS,
    Role.FROZEN: Term.WEIGHTS,
    Role.OPTIMIZER: Term.OPTIMIZER,
    Role.METRIC: Term.CONSTANTS,
    Role.INPUT: Term.INPUTS,
}


@dataclass(frozen=True, slots=True)
class Held:
    """One buffer that is alive at the peak."""

    operation: str
    layer: str
    term: Term
    size_bytes: int
    phase: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything alive after one move of a replay."""

    operation: str
    layer: str
    phase: str
    held: tuple[Held, ...]

    @property
    def requested_bytes(self) -> int:
        return sum(held.size_bytes for held in self.held)


def snapshot(trace: StepTrace, buffers: Buffers, batch: int, move: int) -> Snapshot:
    sizes = [size.at(batch) for size in trace.sizes]
    alive: set[int] = set()
    for entry in buffers.moves[: move + 1]:
        if entry >= 0:
            alive.add(entry)
        else:
            alive.discard(~entry)
    later = later_phases(trace)
    held = [attributed(trace, buffers, sizes, later, buffer, move) for buffer in alive]
    held.append(Held("", "", Term.CONSTANTS, constant_bytes(trace, buffers, batch)))
    source = trace.sources[trace.operation(buffers.operations[move]).source] if buffers.operations[move] >= 0 else None
    if source and source.phase is not Phase.FORWARD:
        held = [kept_for_backward(each) for each in held]
    return Snapshot(
        operation=source.name if source else "before the step",
        layer=source.layer if source else "",
        phase=str(source.phase) if source else "",
        held=tuple(sorted(held, key=lambda h: -h.size_bytes)),
    )


def constant_bytes(trace: StepTrace, buffers: Buffers, batch: int) -> int:
    """Constants of the graph, and values folded into constants."""
    folded = sum(trace.sizes[trace.values[value].size].at(batch) for value in buffers.constants)
    return trace.constant_bytes + sum(trace.constants_at(batch)) + folded


def attributed(trace: StepTrace, buffers: Buffers, sizes: list[int], later: list[int], buffer: int, move: int) -> Held:
    """A buffer that is alive after a move, with its owner and purpose. `later` comes from `later_phases`."""
    size = sizes[buffers.size[buffer]]
    owner, maker = buffers.owner[buffer], buffers.maker[buffer]
    source = trace.sources[trace.operation(maker).source] if maker != BEFORE else None
    if owner >= 0 and buffers.owned_from[buffer] <= move:  # a gradient may become a slot later
        variable = trace.variables[owner]
        return Held(source.name if source else variable.name, variable.layer, _ROLE_TERM[variable.role], size)
    if source is None:
        raise AssertionError("A buffer that no operation made belongs to a variable.")
    phases = later[buffers.value[buffer]] if buffers.value[buffer] >= 0 else 0
    if PACKING in source.name:
        term = Term.REDUCTION
    elif buffers.scratch[buffer] and not phases:
        term = Term.SCRATCH
    else:
        term = term_of(source.phase, phases)
    return Held(source.name, source.layer, term, size, str(source.phase))


def term_of(made_in: Phase, read_in: int) -> Term:
    """The term of a phase's output, by the phases that read it."""
    if made_in is Phase.FORWARD and read_in & ~_BIT[Phase.FORWARD]:
        return Term.ACTIVATIONS
    if made_in is Phase.BACKWARD and read_in & _BIT[Phase.UPDATE]:
        return Term.GRADIENTS
    return Term.TEMPORARIES


def kept_for_backward(held: Held) -> Held:
    """A result of the forward pass that is alive at its end was kept, however it is read."""
    if held.term is Term.TEMPORARIES and held.phase == Phase.FORWARD:
        return replace(held, term=Term.ACTIVATIONS)
    return held


_BIT = {Phase.FORWARD: 1, Phase.BACKWARD: 2, Phase.UPDATE: 4}


def later_phases(trace: StepTrace) -> list[int]:
    """For each value, the phases that read it or a value that shares its buffer."""
    phases = [0] * len(trace.values)
    for operation in (*trace.operations, *trace.adding):
        bit = _BIT[trace.sources[operation.source].phase]
        for read in operation.reads:
            phases[read] |= bit
    for number in range(len(trace.values) - 1, -1, -1):
        value = trace.values[number]
        if value.alias >= 0:
            phases[value.alias] |= phases[number]
        for other in (*value.holds, *value.forward):
            phases[other] |= phases[number]
    return phases
