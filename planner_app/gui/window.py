"""The main window: arranges panels and knows nothing about their contents."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QTabWidget, QVBoxLayout, QWidget

Area = Qt.DockWidgetArea


class Panel(Protocol):
    @property
    def title(self) -> str: ...
    @property
    def widget(self) -> QWidget: ...
    @property
    def area(self) -> Qt.DockWidgetArea: ...
    @property
    def shortcut(self) -> str: ...


class MainWindow(QMainWindow):
    """Docks around a central widget, and menus. Signals dropped files and its closing."""

    dropped = Signal(str)
    closed = Signal()

    def __init__(self, central: QWidget, menus: Mapping[str, Sequence[QAction | QMenu | None]]) -> None:
        super().__init__()
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self.setTabPosition(Area.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setCentralWidget(central)
        self._docks: dict[str, QDockWidget] = {}
        for title, entries in menus.items():
            self._fill(self.menuBar().addMenu(title), entries)

    def add(self, panels: Sequence[Panel], toggles: QMenu) -> None:
        """Add docks for panels, each with a menu entry."""
        self._docks |= {panel.title: self._dock(panel) for panel in panels}
        self._fill(toggles, [self._docks[panel.title].toggleViewAction() for panel in panels])

    def _dock(self, panel: Panel) -> QDockWidget:
        dock = QDockWidget(panel.title, self)
        dock.setObjectName(panel.title)  # saveState() finds docks by name
        dock.setWidget(_page(panel.widget))
        dock.visibilityChanged.connect(
            panel.widget.setVisible
        )  # Qt only moves a dock behind another tab off the screen
        neighbours = [other for other in self.findChildren(QDockWidget) if self.dockWidgetArea(other) == panel.area]
        self.addDockWidget(panel.area, dock)
        if neighbours:
            self.tabifyDockWidget(neighbours[-1], dock)
        if panel.shortcut:
            show = dock.toggleViewAction()
            show.setShortcut(QKeySequence(panel.shortcut))
            show.triggered.connect(lambda: self.bring(panel.title) if dock.isVisible() else None)
        return dock

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

    def arrange(self, widths: Mapping[str, int], heights: Mapping[str, int]) -> None:
        """Sizes of docks by title, for a window that the user has never arranged."""
        for sizes, orientation in ((widths, Qt.Orientation.Horizontal), (heights, Qt.Orientation.Vertical)):
            self.resizeDocks([self._docks[title] for title in sizes], list(sizes.values()), orientation)

    def layout_state(self) -> tuple[bytes, bytes]:
        return bytes(self.saveGeometry().data()), bytes(self.saveState().data())

    def restore_layout(self, geometry: bytes, state: bytes) -> bool:
        return self.restoreGeometry(QByteArray(geometry)) and self.restoreState(QByteArray(state))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls()[:1]:
            self.dropped.emit(url.toLocalFile())
        event.acceptProposedAction()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.closed.emit()
        event.accept()


def _page(widget: QWidget) -> QWidget:
    """Wraps a widget that may be hidden, because a hidden widget would not affect the width of the dock's tabs."""
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(widget)
    return page
