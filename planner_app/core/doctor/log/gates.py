"""Plain bytes of which a line must hold one to be looked at: what costs time in a long log is looking for them."""

from collections import defaultdict
from collections.abc import Iterable

from planner_app.core.doctor.log.lines import Gates
from planner_app.core.doctor.log.matching import Rule
from planner_app.core.doctor.log.rules import RULES
from planner_app.core.doctor.signs import SIGNS

# Few and long parts of the marks: each is looked for in every byte.
_FAILURES = (
    "emory OUT_OF_ME lloc OOM oom handle cuDNN NCCL ALLOC_FAILED initialized illed xceeded 已 ernel xit RAM".split()
)
_RUN = ("Epoch", "ETA", "/step", "%|", "step = ", "global step ", "Train on ", "retracing", "xhausted", "EXHAUSTED")
_FACTS = ("step_on", "at node", "MiB", "% of ", "jax", "rror", "batch_size", "of the last", "torch.", "Free memory")
_SHORT = tuple(gate.encode() for gate in (*_FAILURES, *_RUN, *_FACTS))
# Lines that matter only behind a failure.
_LATER = frozenset(
    "kernel node eager wrapped made during usage holder xla_part xla_buffer xla_operator xla_shape bin same_size "
    "torch_older torch_newer torch_process torch_other torch_allocated torch_reserved stat occupancy suboptimal".split()
)


def _gates() -> Gates:
    signs = [rule for sign in SIGNS for rule in sign.rules]
    marks = [rule.mark.encode() for rule in (*RULES, *signs) if rule.name not in _LATER]
    later = [rule.mark.encode() for rule in RULES if rule.name in _LATER]
    own = [mark for mark in dict.fromkeys(marks) if not any(gate in mark for gate in _SHORT)]
    always = (*_SHORT, *own)
    failures = {gate.encode() for gate in _FAILURES}
    failures |= {gate for gate in own if any(gate in rule.mark.encode() for rule in signs)}
    failures |= {b"EXHAUSTED", b"xhausted", b"torch."}
    return Gates(
        always=always,
        failures=frozenset(failures),
        bars=frozenset((b"ETA", b"/step", b"%|")),
        later=tuple(mark for mark in dict.fromkeys(later) if not any(gate in mark for gate in always)),
    )


def rules_by_gate(rules: Iterable[Rule]) -> dict[bytes, list[int]]:
    """For each gate the places in `rules` of those whose mark holds it: a line is tried on those alone."""
    found = defaultdict(list)
    for place, rule in enumerate(rules):
        for gate in (*GATES.always, *GATES.later):
            if gate in rule.mark.encode():
                found[gate].append(place)
    return found


GATES = _gates()
