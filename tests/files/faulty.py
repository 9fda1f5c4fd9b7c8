"""Run with faults.c preloaded: every write of every kind of file, with every call that changes files failing once.

    faulty.py FOLDER [all]      says what was wrong, one line each, and last how many cases there were

Each case is a fork: 1 is in the file, 2 is to be written. After a fault it holds 1 and the user is told which file and
why, or it holds 2; nothing is left beside it. After a kill it holds 1 or 2, and the next write tidies up.
"""

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from written import KINDS, Kind, half_written

ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO, "stays full")
FAULTS = ctypes.CDLL(None)


def main(folder: Path, every: bool) -> None:
    """All errors and kills for every kind of file; or for one, and a full disk for the others."""
    cases = 0
    for index, (name, kind) in enumerate(KINDS.items()):
        calls = _calls(folder, kind)
        for at, call in enumerate(calls, 1):
            for what in (*ERRORS, "killed") if every or index == 0 else ERRORS[:1]:
                for before in (True, False) if every and what == errno.ENOSPC else (True,):
                    cases += 1
                    for wrong in _case(folder, kind, at, what, before=before):
                        sys.stdout.write(f"{name}, {what} at {at}, {call}: {wrong}\n")
    sys.stdout.write(f"{cases}\n")


def _calls(folder: Path, kind: Kind) -> list[str]:
    """Names of the calls that one write makes."""
    log = folder.with_suffix(".log")
    _fresh(folder, kind, before=True)
    log.unlink(missing_ok=True)
    _forked(lambda: kind.write(folder, 2), FAULTS_COUNT=str(log))
    assert kind.read(folder) == 2
    return log.read_text().split()


def _case(folder: Path, kind: Kind, at: int, what: int | str, *, before: bool) -> Iterator[str]:
    _fresh(folder, kind, before=before)
    asked = {"FAULTS_AT": str(at), "FAULTS_ERRNO": str(what if isinstance(what, int) else errno.ENOSPC)}
    asked |= {"FAULTS_ON": "1"} if what == "stays full" else {"FAULTS_KILL": "1"} if what == "killed" else {}
    told = _forked(lambda: kind.write(folder, 2), **asked)
    try:
        found = kind.read(folder)
    except Exception as error:
        yield f"can't be read any more: {error!r}"
        return
    if what == "killed":
        if found not in (1, 2):
            yield f"holds {found} after a kill"
        _forked(lambda: kind.write(folder, 3))
        if kind.read(folder) != 3:
            yield "could not be written after a kill"
    elif told:
        expected = os.strerror(what if isinstance(what, int) else errno.ENOSPC).lower()
        if str(folder) not in told or expected not in told.lower() or "\n" in told:
            yield f"told: {told}"
        if found != (1 if before else -1):
            yield f"holds {found} though an error was told: {told}"
    elif found != 2:
        yield f"holds {found}, and nothing was told"
    if left := half_written(folder):
        yield f"left: {left}"


def _fresh(folder: Path, kind: Kind, *, before: bool) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if before:
        _forked(lambda: kind.write(folder, 1))
        assert kind.read(folder) == 1


def _forked(call: Callable[[], str], **environment: str) -> str:
    """What the call says in a process of its own, which begins to count anew."""
    ours, theirs = os.pipe()
    if (process := os.fork()) == 0:
        os.close(ours)
        os.environ.update(environment)
        FAULTS.faults_reset()
        try:
            said = call()
        except BaseException as error:
            said = f"a bug: {error!r}"
        os.environ["FAULTS_AT"] = "0"
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
        said = file.read()
    os.waitpid(process, 0)
    return said


if __name__ == "__main__":
    main(Path(sys.argv[1]), every="all" in sys.argv[2:])
