"""A log, read line by line to its end."""

import re
from collections.abc import Callable, Iterable

from planner_app.core.doctor import of_allocator, of_machine, of_operations
from planner_app.core.doctor.gathering import Gathering
from planner_app.core.doctor.lines import Line, matching_lines
from planner_app.core.doctor.seen import Seen
from planner_app.core.doctor.signs import GATES, RULES, Rule

Handler = Callable[[Gathering, re.Match[str], Line], None]

# A terminal may have wrapped these: then the next line goes on where they stop.
_WRAPPED = frozenset({"oom", "ran_out", "xla", "pool", "driver_refused", "copy_of", "created", "killed"})
_HANDLERS: dict[str, Handler] = {**of_allocator.HANDLERS, **of_operations.HANDLERS, **of_machine.HANDLERS}
# Progress bars are the bulk of many logs; an error may stand on the line of one.
_BAR = re.compile(r"(?:^|\s|>)(?P<done>\d+)/(?P<of>\d+|Unknown) *[\[━]")
_NOT_ONLY_A_BAR = re.compile(r"emory|OOM|lloc|handle")


def gather(pieces: Iterable[bytes]) -> Seen:
    gathering = Gathering()
    seen = gathering.seen
    rules = [(rule, rule.mark.decode(), _HANDLERS.get(rule.name)) for rule in RULES]
    for line in matching_lines(pieces, GATES, lambda: bool(seen.reports)):
        if " of size " in line.text and " at " in line.text:
            of_allocator.chunks(gathering, line.text)
        elif (bar := _BAR.search(line.text)) and not _NOT_ONLY_A_BAR.search(line.text):
            of_machine.step(gathering, bar, line)
        else:
            for rule, mark, handler in rules:
                if mark in line.text and (found := _found(rule, line)):
                    if handler is None:  # what is only noted
                        seen.note(rule.name, line)
                    else:
                        handler(gathering, found, line)
    return seen


def _found(rule: Rule, line: Line) -> re.Match[str] | None:
    found = rule.pattern.search(line.text)
    if found is None and rule.name in _WRAPPED and line.following:
        found = rule.pattern.search(line.text + line.following)
    return found
