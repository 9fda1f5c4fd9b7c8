"""The OOM doctor: from a log to what happened, which layer it was, and the lines that show it.

with open("train.log", "rb") as log:
    found = diagnose(pieces(log))
found.kind, found.verdict, found.layer, found.evidence
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from planner_app.core.doctor.diagnosis import Diagnosis, Finding, Framework, Holder, Kind, Other, Sure
from planner_app.core.doctor.log.reading import gather
from planner_app.core.doctor.log.seen import Evidence
from planner_app.core.doctor.verdict import judge

__all__ = [
    "Diagnosis",
    "Evidence",
    "Finding",
    "Framework",
    "Holder",
    "Kind",
    "Other",
    "Sure",
    "diagnose",
    "diagnose_text",
    "pieces",
]

PIECE_BYTES = 1 << 18


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def diagnose(
    log: Iterable[bytes], *, layers: Sequence[str] = (), capacity: Callable[[str], int | None] | None = None
) -> Diagnosis:
    """Reads a log, in pieces of any size, to its end.

    Args:
        layers: Paths of the model's layers, if it is known: then a layer is named as the model names it.
        capacity: What TensorFlow gets of an idle GPU of a name; None for one it does not know.
    """
    return judge(gather(log), layers, capacity)


def diagnose_text(text: str, layers: Sequence[str] = ()) -> Diagnosis:
    """Of a log that was pasted."""
    return diagnose([text.encode("utf-8", "replace")], layers=layers)


def pieces(log: Readable) -> Iterator[bytes]:
    while piece := log.read(PIECE_BYTES):
        yield piece
