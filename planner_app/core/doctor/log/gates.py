"""Plain bytes of which a line must hold one to be looked at: what costs time in a long log is looking for them."""

import re
from collections import defaultdict
from collections.abc import Iterable

from planner_app.core.doctor.log.lines import Gates
from planner_app.core.doctor.log.matching import Rule
from planner_app.core.doctor.log.rules import RULES
from planner_app.core.doctor.signs import SIGNS

# Few and long parts of the marks: each is looked for in every byte.
_FAILURES = (
    "emory OUT_OF_ME lloc OOM oom handle cuDNN NCCL ALLOC_FAILED initialized illed xceed 已 ernel xit RAM "
    "ailed KILL died CUDA Ctx _STATUS_ TERM_ DUE".split()
)
_RUN = ("Epoch", "ETA", "/step", "%|", "tep", "Train on ", "retracing", "xhausted", "EXHAUSTED")
_FACTS = (
    "at node",
    "MiB",
    "% of ",
    "jax",
    "rror",
    "batch_size",
    "of the last",
    "torch.",
    "Free memory",
    " version",
    " GPU:",
)
_SHORT = tuple(gate.encode() for gate in (*_FAILURES, *_RUN, *_FACTS))
# Lines that matter only behind a failure.
_LATER = frozenset(
    (
        "kernel node device_of_node eager wrapped usage holder bin same_size stat occupancy suboptimal "
        "xla_part xla_buffer xla_operator xla_shape "
        "torch_older torch_newer torch_process torch_other torch_allocated torch_reserved"
    ).split()
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
    after_failures = tuple(mark for mark in dict.fromkeys(later) if not any(gate in mark for gate in always))
    known = dict.fromkeys((*marks, *later))
    bars = frozenset((b"ETA", b"/step", b"%|"))
    counts = frozenset((b"tep", b"iter", b"Iter", b"batch", b"Batch"))
    return Gates(
        always=always,
        failures=frozenset(failures),
        bars=bars,
        counts=counts,
        in_bars=bars | counts | {b"Epoch"},
        later=after_failures,
        plain=tuple(gate for gate in always if gate.isascii()),
        marks={gate: _marks_with(gate, known) for gate in (*always, *after_failures)},
    )


def _marks_with(gate: bytes, marks: Iterable[bytes]) -> re.Pattern[bytes]:
    """From the gate, which is looked for, to the end of a mark; then back to see that its beginning stands there."""
    ends = (
        b"%s(?<=%s)" % (re.escape(mark.partition(gate)[2]), re.escape(mark)) for mark in sorted(marks) if gate in mark
    )
    return re.compile(b"%s(?:%s)" % (re.escape(gate), b"|".join(ends)))


def rules_by_gate(rules: Iterable[Rule]) -> dict[bytes, list[int]]:
    """For each gate the places in `rules` of those whose mark holds it: a line is tried on those alone."""
    found = defaultdict(list)
    for place, rule in enumerate(rules):
        for gate in (*GATES.always, *GATES.later):
            if gate in rule.mark.encode():
                found[gate].append(place)
    return found


GATES = _gates()
