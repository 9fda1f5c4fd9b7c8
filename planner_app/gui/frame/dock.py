"""The dock of one panel."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDockWidget, QVBoxLayout, QWidget

from planner_app.gui.frame.panel import Panel

LEAST_WIDTH = 260  # pixels: narrower ones would cut the fields of the setup and the names of devices


class Dock(QDockWidget):
    """Not shown yet. Its panel is visible only in front: Qt moves a dock behind another tab merely off the screen."""

    def __init__(self, panel: Panel, window: QWidget) -> None:
        super().__init__(panel.title, window)
        self.hide()
        self.setObjectName(panel.title)  # saveState() finds docks by name
        self._panel = panel.widget
        self._held = False
        self._last: bool | None = None
        self.setWidget(_page(panel.widget))
        self._panel.hide()
        self.visibilityChanged.connect(self._on_visibility_changed)
        if panel.shortcut:
            self.toggleViewAction().setShortcut(QKeySequence(panel.shortcut))

    def hold(self, on: bool) -> None:
        """While docks are arranged they come and go: the panel is shown or hidden once, at the end."""
        self._held = on
        if self._last is not None and not on:
            self._panel.setVisible(self._last)
        self._last = None

    def _on_visibility_changed(self, on: bool) -> None:
        if self._held:
            self._last = on
        else:
            self._panel.setVisible(on)


@contextmanager
def held(docks: Iterable[Dock]) -> Iterator[None]:
    for dock in docks:
        dock.hold(True)
    try:
        yield
    finally:
        for dock in docks:
            dock.hold(False)


def _page(widget: QWidget) -> QWidget:
    """Wraps a widget that may be hidden, because a hidden widget would not affect the width of the dock's tabs."""
    page = QWidget()
    page.setMinimumWidth(LEAST_WIDTH)
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(widget)
    return page
