"""A log, read line by line to its end."""

import re
from collections.abc import Callable, Iterable, Mapping

from planner_app.core.doctor.log import of_allocator, of_machine, of_operations, of_pytorch
from planner_app.core.doctor.log.gates import GATES, rules_by_gate
from planner_app.core.doctor.log.gathering import Gathering
from planner_app.core.doctor.log.lines import Line, matching_lines
from planner_app.core.doctor.log.matching import Found, Rule
from planner_app.core.doctor.log.ranks import MOST_RANKS, Ranks
from planner_app.core.doctor.log.rules import RULES
from planner_app.core.doctor.log.seen import Seen
from planner_app.core.doctor.signs import SIGNS, Sign

Handler = Callable[[Gathering, Found, Line], bool | None]

# A terminal may have wrapped these: then the next line goes on where they stop.
_WRAPPED = frozenset({"oom", "ran_out", "xla", "pool", "refused", "copy_of", "created", "kernel_killed", "torch_newer"})
# These say all there is to say about their line: no sign is looked for.
_WHOLE = frozenset(
    "ran_out dump pool stat oom xla xla_part async_failed cuda_free torch refused copy copy_of profiling hbm unshaped "
    "suboptimal workspace usage".split()
)
_HANDLERS: Mapping[str, Handler] = {
    **of_allocator.HANDLERS,
    **of_operations.HANDLERS,
    **of_machine.HANDLERS,
    **of_pytorch.HANDLERS,
}
# Progress bars are the bulk of many logs; an error may stand on the line of one.
_BAR = re.compile(r"(?:^|[\s>])(?P<done>\d{1,12})/(?P<of>\d{1,12}|Unknown) {0,8}[\[━]")
_ENDED = re.compile(r"(?:^|[\s>])(?P<done>\d{1,12})/(?P<of>\d{1,12}|Unknown) {0,8}-")
_TQDM = re.compile(r"(?P<done>\d{1,12})/(?P<of>\d{1,12}) \[[\d:]{1,12}<")
_NOT_ONLY_A_BAR = re.compile(r"emory|OOM|lloc|handle|illed|rror|xhausted|EXHAUSTED|[\d\].]\s?[^\W\d_]{3,}$")
_CHUNK, _AT = " of size ", " at "
MOST_KEPT = 4096
_SIGN_OF = tuple(sign for sign in SIGNS for _ in sign.rules)
_ALL: tuple[Rule, ...] = (*RULES, *(rule for sign in SIGNS for rule in sign.rules))
_BY_GATE = rules_by_gate(_ALL)


def gather(pieces: Iterable[bytes]) -> Seen:
    return _Reading().of(pieces)


class _Reading:
    def __init__(self) -> None:
        self.seen = Seen()
        self.ranks = Ranks()
        self.gatherings: dict[str, Gathering] = {}
        self.candidates: dict[tuple[bytes, ...], list[int]] = {}

    def of(self, pieces: Iterable[bytes]) -> Seen:
        for line in matching_lines(pieces, GATES, lambda: bool(self.seen.reports)):
            if _CHUNK in line.text and _AT in line.text:
                self._chunks(line)
                continue
            rank, text = self.ranks.split(line.text)
            self._line(self._gathering(rank), line._replace(text=text) if rank else line)
        return self.seen

    def _gathering(self, rank: str) -> Gathering:
        found = self.gatherings.get(rank)
        if found is None:
            if len(self.gatherings) >= MOST_RANKS:
                rank = ""
            found = self.gatherings.setdefault(rank, Gathering(self.seen, rank))
        return found

    def _chunks(self, line: Line) -> None:
        """Lines of a dump come many at once; those of several ranks are taken apart."""
        if not self.ranks.split(line.text)[0]:
            of_allocator.chunks(self._gathering(""), line.text)
            return
        for text in line.text.split("\n"):
            rank, rest = self.ranks.split(text)
            of_allocator.chunks(self._gathering(rank), rest)

    def _line(self, gathering: Gathering, line: Line) -> None:
        text = line.text
        if (bar := _bar(text)) is not None:
            of_machine.step(gathering, bar.groupdict(), line)
            if not _NOT_ONLY_A_BAR.search(text):
                return
        whole = False
        places = self.candidates.get(line.gates) or self._candidates(line.gates)
        for place in places:
            rule = _ALL[place]
            if rule.mark in text and (found := _found(rule, line)) is not None:
                if place >= len(RULES):
                    if not whole:
                        _sign(gathering, _SIGN_OF[place - len(RULES)], found, line)
                    return
                handler = _HANDLERS.get(rule.name)
                left = False
                if handler is None:  # what is only noted
                    self.seen.note(rule.name, line)
                else:
                    left = bool(handler(gathering, found, line))
                whole = whole or (rule.name in _WHOLE and not left)

    def _candidates(self, gates: tuple[bytes, ...]) -> list[int]:
        places = sorted({place for gate in gates for place in _BY_GATE.get(gate, ())})
        if len(self.candidates) < MOST_KEPT:
            self.candidates[gates] = places
        return places


def _bar(text: str) -> re.Match[str] | None:
    """How far a progress bar says that the run is: Keras' own, what it writes at the end of an epoch, or tqdm's."""
    if "/" not in text:
        return None
    return (
        _BAR.search(text) or ("/step" in text and _ENDED.search(text)) or ("%|" in text and _TQDM.search(text)) or None
    )


def _sign(gathering: Gathering, sign: Sign, found: Found, line: Line) -> None:
    """The first row of the table that knows the line."""
    report = gathering.once(sign.name, line)
    for name, value in found.items():
        if value:
            report.told.setdefault(name, value)
            if f"{name}_unit" in found:  # bytes, where none is written
                report.told.setdefault(f"{name}_unit", found[f"{name}_unit"] or "")


def _found(rule: Rule, line: Line) -> Found | None:
    found = rule.find(line.text)
    if found is None and rule.name in _WRAPPED and line.following:
        found = rule.find(line.text + line.following)
    return found
