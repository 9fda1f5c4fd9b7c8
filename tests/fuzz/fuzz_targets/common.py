"""What the targets share: files to start from, a folder to write into, what may be said to the user."""

import shutil
import tempfile
import unicodedata
from functools import cache
from pathlib import Path

from planner_app.errors import PlannerError

CORPUS = Path(__file__).parent.parent / "corpus"
MOST_LETTERS = 4000
READ, REFUSED = "read", "refused"


class Bad(Exception):
    """What must not happen, whatever comes in."""


@cache
def folder() -> Path:
    """The same one for every input of a process; in a worker it is the worker's own."""
    return Path(tempfile.mkdtemp(prefix="plimsoll-fuzz-"))


def emptied(name: str) -> Path:
    place = folder() / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return place


def written(data: bytes, name: str) -> Path:
    path = folder() / name
    path.write_bytes(data)
    return path


def corpus(*patterns: str) -> list[bytes]:
    return [path.read_bytes() for pattern in patterns for path in sorted(CORPUS.glob(pattern))]


def refused(error: PlannerError) -> str:
    """The sentence, if it is one that no terminal obeys and that can be read."""
    shown(" ".join(str(error).split()))
    if not str(error).strip() or len(str(error)) > MOST_LETTERS:
        raise Bad(f"a sentence of {len(str(error))} letters: {str(error)[:200]!r}")
    return str(error)


def shown(*texts: str) -> None:
    """What is shown to people: control characters steer terminals, halves of characters can't be written."""
    for text in texts:
        odd = [letter for letter in text if unicodedata.category(letter) in ("Cc", "Cs")]
        if odd:
            raise Bad(f"{odd[0]!r} would be shown in {text[:200]!r}")
