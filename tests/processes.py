"""The processes that a test itself has started: those of fixtures that outlive it are not counted."""

import psutil


class Children:
    def __init__(self) -> None:
        self._before = set(psutil.Process().children(recursive=True))

    def __call__(self) -> list[psutil.Process]:
        return [child for child in psutil.Process().children(recursive=True) if child not in self._before]
