"""Python collects reference cycles in whichever thread allocates next. Destroying a widget outside the GUI thread
crashes the process, so cycles are collected here, in the GUI thread, and nowhere else."""

import gc

from PySide6.QtCore import QObject, QTimer

EVERY_MS = 200


class Garbage(QObject):
    """Collects as often as Python would, for as long as it exists."""

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
