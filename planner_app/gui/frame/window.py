"""The main window: arranges panels and knows nothing about their contents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QByteArray, QChildEvent, QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QStyle, QTabBar, QTabWidget, QWidget

Area = Qt.DockWidgetArea


@dataclass(frozen=True, slots=True)
class _Away:
    """Docks as they were when they were hidden: `front` are those that are not behind another tab."""

    state: QByteArray
    shown: list[QDockWidget]
    front: list[QDockWidget]


class MainWindow(QMainWindow):
    """Docks around a central widget, and menus. Signals dropped files and its closing."""

    dropped = Signal(QMimeData)
    closed = Signal()

    def __init__(
        self, central: QWidget, menus: Mapping[str, Sequence[QAction | QMenu | None]], tab_style: QStyle
    ) -> None:
        super().__init__()
        self._tab_style = tab_style
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self.setTabPosition(Area.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self._central = central
        self.setCentralWidget(central)
        self._docks: dict[str, QDockWidget] = {}
        self._away: _Away | None = None  # docks that are hidden for a while
        for title, entries in menus.items():
            self._fill(self.menuBar().addMenu(title), entries)

    def add(self, docks: Sequence[tuple[QDockWidget, Area]], toggles: QMenu) -> None:
        """Show docks where they belong, each with a menu entry."""
        for dock, area in docks:
            self._docks[dock.objectName()] = dock
            self._add(dock, area)
        for dock, _ in docks:  # all at once: each would lay the window out anew
            dock.show()
        self._fill(toggles, [dock.toggleViewAction() for dock, _ in docks])

    def _add(self, dock: QDockWidget, area: Area) -> None:
        neighbours = [other for other in self.findChildren(QDockWidget) if self.dockWidgetArea(other) == area]
        self.addDockWidget(area, dock)
        if neighbours:
            self.tabifyDockWidget(neighbours[-1], dock)
        toggle = dock.toggleViewAction()
        toggle.triggered.connect(lambda: self.bring(dock.objectName()) if dock.isVisible() else None)

    def childEvent(self, event: QChildEvent) -> None:
        """Qt makes the tabs of docks that share a place."""
        child = event.child()
        if event.type() is QEvent.Type.ChildPolished and isinstance(child, QTabBar):
            child.setStyle(self._tab_style)
        super().childEvent(event)

    @staticmethod
    def _fill(menu: QMenu, entries: Sequence[QAction | QMenu | None]) -> None:
        for entry in entries:
            if entry is None:
                menu.addSeparator()
            elif isinstance(entry, QMenu):
                menu.addMenu(entry)
            else:
                menu.addAction(entry)

    def bring(self, title: str) -> None:
        """Bring a panel to the front, wherever the user has put it."""
        dock = self._docks[title]
        dock.show()
        dock.raise_()

    def show_docks(self, on: bool) -> None:
        """Hide all docks for a while, and bring back those that were there, as they were."""
        if not on and self._away is None:
            shown = [dock for dock in self._docks.values() if not dock.isHidden()]
            front = [dock for dock in shown if not dock.visibleRegion().isEmpty()]
            self._away = _Away(self.saveState(), shown, front)
            for dock in self._docks.values():
                dock.hide()
        elif on and self._away is not None:
            self._central.show()
            away, self._away = self._away, None
            self.restoreState(away.state)
            for dock in away.shown:
                dock.show()
            for dock in away.front:
                dock.raise_()

    def toggle_alone(self, title: str) -> None:
        """Give one panel the whole window, or with no dock's title the middle; again: bring the others back."""
        if self._away is not None:
            self.show_docks(True)
            return
        self.show_docks(False)
        if title in self._docks:
            self.bring(title)
            self._central.hide()

    def arrange(self, widths: Mapping[str, int], heights: Mapping[str, int]) -> None:
        """Sizes of docks by title, for a window that the user has never arranged."""
        for sizes, orientation in ((widths, Qt.Orientation.Horizontal), (heights, Qt.Orientation.Vertical)):
            self.resizeDocks([self._docks[title] for title in sizes], list(sizes.values()), orientation)

    def layout_state(self) -> tuple[bytes, bytes]:
        return bytes(self.saveGeometry().data()), bytes((self._away.state if self._away else self.saveState()).data())

    def restore_layout(self, geometry: bytes, state: bytes) -> bool:
        return self.restoreGeometry(QByteArray(geometry)) and self.restoreState(QByteArray(state))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        data = event.mimeData()
        if data.hasText() or any(url.isLocalFile() for url in data.urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.dropped.emit(event.mimeData())
        event.acceptProposedAction()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.closed.emit()
        event.accept()
