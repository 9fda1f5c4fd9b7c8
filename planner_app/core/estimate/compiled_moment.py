"""The peak of a step as laid out by the compiler: its buffers, each with layer and term."""

from planner_app.core.compile.check import Buffer, Compiled
from planner_app.core.estimate.breakdown import Held, Snapshot, Term, later_phases, term_of
from planner_app.core.model.trace import Phase, StepTrace

STATE = (Term.WEIGHTS, Term.OPTIMIZER, Term.INPUTS, Term.CONSTANTS)
WORKSPACE = "s8["  # memory for a library call: the compiler uses this type for nothing else


def compiled_moment(trace: StepTrace, compiled: Compiled, estimated: Snapshot) -> Snapshot:
    """The program's arguments come from the estimate, all else from the compiler.

    The compiler lists the largest buffers of its peak; the others are given as one sum.
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
    """By operation name: the term of its results, and the pass it belongs to."""
    later = later_phases(trace)
    found: dict[str, tuple[Term, Phase]] = {}
    for operation in trace.operations:
        source = trace.sources[operation.source]
        phases = 0
        for made in operation.makes:
            phases |= later[made]
        found[source.name] = term_of(source.phase, phases), source.phase
    return found
