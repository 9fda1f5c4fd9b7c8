"""Queries this machine's GPUs every other second in its own thread, while the panel is visible."""

import threading
from collections.abc import Callable
from contextlib import suppress

from PySide6.QtCore import QObject, Signal

from planner_app.core.hardware.machine import Machine

EVERY_SECONDS = 2.0


class MachineWatch(QObject):
    looked = Signal(Machine)

    def __init__(self, look: Callable[[], Machine], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._stopped: threading.Event | None = None

    @property
    def running(self) -> bool:
        return self._stopped is not None

    def start(self) -> None:
        if self._stopped is None:
            self._stopped = threading.Event()
            threading.Thread(target=self._serve, args=(self._stopped,), name="machine", daemon=True).start()

    def stop(self) -> None:
        """Takes effect at once for the panel; the thread ends when the driver has answered."""
        if self._stopped is not None:
            self._stopped.set()
            self._stopped = None

    def _serve(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            machine = self._look()
            if not stopped.is_set():
                with suppress(RuntimeError):  # the panel was destroyed meanwhile
                    self.looked.emit(machine)
            stopped.wait(EVERY_SECONDS)
