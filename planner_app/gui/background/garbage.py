"""Python frees cycles of objects in whatever thread happens to allocate next. A widget among them that dies outside the
GUI's thread takes the process with it, so cycles are collected here, in that thread, and nowhere else."""

import gc

from PySide6.QtCore import QObject, QTimer

EVERY_MS = 200


class Garbage(QObject):
    """Collects as often as Python would, as long as it lives."""

    def __init__(self) -> None:
        super().__init__()
        gc.disable()
        self._timer = QTimer(self, interval=EVERY_MS)
        self._timer.timeout.connect(self._sweep)
        self._timer.start()

    def close(self) -> None:
        self._timer.stop()
        gc.enable()

    @staticmethod
    def _sweep() -> None:
        for generation in (2, 1, 0):
            if gc.get_count()[generation] > gc.get_threshold()[generation]:
                gc.collect(generation)
                return
