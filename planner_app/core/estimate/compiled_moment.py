"""The peak of a step as the compiler has laid it out: its own buffers, with the layer and the term of each."""

from planner_app.core.compile.check import Buffer, Compiled
from planner_app.core.estimate.breakdown import Held, Snapshot, Term, later_phases, term_of
from planner_app.core.model.trace import Phase, StepTrace

STATE = (Term.WEIGHTS, Term.OPTIMIZER, Term.INPUTS, Term.CONSTANTS)
WORKSPACE = "s8["  # bytes that a library is given: the compiler has no other use for this type


def compiled_moment(trace: StepTrace, compiled: Compiled, estimated: Snapshot) -> Snapshot:
    """What the program is given comes from the estimate, all else from the compiler.

    The compiler lists the largest buffers of its fullest moment; the others are told in one sum.
    """
    terms = _terms(trace)
    held = [each for each in estimated.held if each.term in STATE]
    held += [_held(buffer, terms) for buffer in compiled.buffers]
    rest = compiled.peak_bytes - sum(buffer.bytes for buffer in compiled.buffers)
    if rest > 0:
        held.append(Held("smaller buffers", "", Term.TEMPORARIES, rest))
    return Snapshot(
        estimated.operation, estimated.layer, estimated.phase, tuple(sorted(held, key=lambda each: -each.size_bytes))
    )


def _held(buffer: Buffer, terms: dict[str, tuple[Term, Phase]]) -> Held:
    term, phase = terms.get(buffer.operation, (Term.TEMPORARIES, None))
    if buffer.shape.startswith(WORKSPACE):
        term = Term.SCRATCH
    return Held(buffer.operation or buffer.name, buffer.layer, term, buffer.bytes, str(phase) if phase else "")


def _terms(trace: StepTrace) -> dict[str, tuple[Term, Phase]]:
    """By an operation's name: what its results are for, and the pass it belongs to."""
    later = later_phases(trace)
    found: dict[str, tuple[Term, Phase]] = {}
    for operation in trace.operations:
        source = trace.sources[operation.source]
        phases = 0
        for made in operation.makes:
            phases |= later[made]
        found[source.name] = term_of(source.phase, phases), source.phase
    return found
