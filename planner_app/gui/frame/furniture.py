"""Builds the chart and the panels piece by piece, so that the window always responds."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from planner_app.gui.background.task import Task
from planner_app.gui.frame.panel import Panel
from planner_app.gui.look.theme import Appearance
from planner_app.gui.state.session import Session

Make = Callable[[], Panel]


class Furniture(QObject):
    """Attributes:
    panels: By title, the chart first; complete once `finished` has been emitted.
    """

    built = Signal(Panel)
    finished = Signal()

    def __init__(self, session: Session, appearance: Appearance, *, log_scale: bool) -> None:
        super().__init__()
        self._session, self._appearance, self._log_scale = session, appearance, log_scale
        self.panels: dict[str, Panel] = {}
        self._left: list[Make] | None = None
        self._started = False
        self._turn = QTimer(self, interval=0)
        self._turn.timeout.connect(self._build_next)

    @property
    def is_complete(self) -> bool:
        return self._left is not None and not self._left

    def start(self) -> None:
        """Import what panels need in a thread, then build one panel at a time."""
        if not self._started:
            self._started = True
            task = Task(lambda _: _makers())
            task.finished.connect(lambda _: self._begin())
            task.failed.connect(lambda _why, _detail: self.finish())  # again here, where a bug is reported
            self._session.start(task)

    def finish(self) -> None:
        """Build everything that is missing, at once."""
        self._started = True
        self._begin()
        while not self.is_complete:
            self._build_next()

    def stop(self) -> None:
        """The window is closing: nothing more is needed."""
        self._turn.stop()
        self._left = []

    def _begin(self) -> None:
        if self._left is None:
            self._left = [self._bound(make) for make in _makers()]
            self._turn.start()

    def _bound(self, make: Callable[..., Panel]) -> Make:
        if not self.panels and make.__module__.endswith("chart.presenter"):
            return lambda: make(self._session, self._appearance, log=self._log_scale)
        return lambda: make(self._session, self._appearance)

    def _build_next(self) -> None:
        if not self._left:
            self._turn.stop()
            return
        panel = self._left.pop(0)()
        self.panels[panel.title] = panel
        self.built.emit(panel)
        if not self._left:
            self._turn.stop()
            self.finished.emit()


def _makers() -> list[Callable[..., Panel]]:
    from planner_app.gui.frame.docks import PANELS
    from planner_app.gui.panels.chart.presenter import make as chart  # pyqtgraph and NumPy take half a second

    return [chart, *PANELS]
