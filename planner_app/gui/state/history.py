"""Undo and redo over frozen values."""

from typing import Generic, TypeVar

T = TypeVar("T")

MOST = 200


class History(Generic[T]):
    """Past, present and undone values.

    Changes that belong together (a moving slider) carry the same mark and are undone together.
    """

    def __init__(self, now: T) -> None:
        self.now = now
        self._past: list[T] = []
        self._future: list[T] = []
        self._mark = ""

    def go(self, to: T, mark: str = "") -> None:
        if to == self.now:
            return
        if not mark or mark != self._mark:
            self._past = [*self._past[-MOST:], self.now]
        self._mark = mark
        self._future.clear()
        self.now = to

    def rest(self) -> None:
        """The next change is undone separately."""
        self._mark = ""

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def undo(self) -> None:
        if self._past:
            self._future.append(self.now)
            self.now = self._past.pop()
            self.rest()

    def redo(self) -> None:
        if self._future:
            self._past.append(self.now)
            self.now = self._future.pop()
            self.rest()
