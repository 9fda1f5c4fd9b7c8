"""What several files of tests need and nobody changes, made by the first process of a run that asks for it."""

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def once_a_run(name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make` fills. Others wait meanwhile; where it fails, the next one tries again."""
    run = Path(os.environ["PLIMSOLL_TEST_RUN"])
    folder = run / name
    with (run / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = Path(tempfile.mkdtemp(dir=run))
            make(unfinished)
            unfinished.rename(folder)
    return folder
