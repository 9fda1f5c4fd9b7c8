"""The devices panel: a search, the list, and a field for devices that are not listed."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QCursor, QHideEvent, QKeyEvent, QMouseEvent, QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QStyle,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.hardware.device import Device
from planner_app.gui.look.plain_label import PlainLabel, plain_tip
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.devices.delegate import DevicesDelegate
from planner_app.gui.panels.devices.model import NAME, SIZE, USE, DevicesModel
from planner_app.gui.panels.devices.values import ALSO, HERE, Kind, Row

HELP = (
    "A card by its memory: 24GiB, or with a compute capability 24GiB:8.9. TensorFlow's CPU device: "
    "cpu, or with a limit cpu:8GiB."
)


class DevicesList(QTreeView):
    """Space draws or hides a device; Enter, a double click or its radio mark chooses it."""

    chosen = Signal(Device)

    def __init__(self) -> None:
        super().__init__()
        self.rows_model = DevicesModel(self)
        self.setModel(self.rows_model)
        self.setItemDelegate(DevicesDelegate(self))
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setIndentation(0)
        self.setAllColumnsShowFocus(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setAccessibleName("Devices")
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionsMovable(False)
        for column, mode in ((USE, "ResizeToContents"), (NAME, "Stretch"), (SIZE, "ResizeToContents")):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode[mode])
        header.setMinimumSectionSize(24)
        self.clicked.connect(self._on_clicked)
        self.doubleClicked.connect(self._choose)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Keeps the row under the pointer, or else the current one, at its place when rows come, go and grow."""
        current, held = self._key(self.currentIndex()), self._under_pointer()
        key = self._key(held) or current
        before = self.visualRect(held if held.isValid() else self.currentIndex()).top()
        scrolled = self.verticalScrollBar().value()
        if self.rows_model.show_rows(rows):
            for number, row in enumerate(rows):
                if row.kind is not Kind.DEVICE:
                    self.setFirstColumnSpanned(number, QModelIndex(), True)
            self.setCurrentIndex(self._row_of(current))
        kept = self._row_of(key)
        moved = self.visualRect(kept).top() - before if kept.isValid() else 0
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() + moved if kept.isValid() else scrolled)

    def _under_pointer(self) -> QModelIndex:
        area = self.viewport()
        return self.indexAt(area.mapFromGlobal(QCursor.pos())) if area.underMouse() else QModelIndex()

    def _key(self, index: QModelIndex) -> tuple[str, str, str] | None:
        return self.rows_model.rows[index.row()].key if index.isValid() else None

    def _row_of(self, key: tuple[str, str, str] | None) -> QModelIndex:
        number = next((number for number, row in enumerate(self.rows_model.rows) if row.key == key), None)
        return QModelIndex() if number is None else self.rows_model.index(number, NAME)

    def to_chosen(self) -> None:
        """Show the device that setups run on."""
        number = next((number for number, row in enumerate(self.rows_model.rows) if row.chosen), None)
        if number is not None:
            self.scrollTo(self.rows_model.index(number, NAME), QAbstractItemView.ScrollHint.EnsureVisible)

    def to_first(self) -> None:
        """Scroll to the first search result, below this machine's devices."""
        groups = {ALSO, HERE}
        for number, row in enumerate(self.rows_model.rows):
            if row.kind is Kind.DEVICE and row.group not in groups:
                self.setCurrentIndex(self.rows_model.index(number, NAME))
                break
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(index)
        elif event.key() == Qt.Key.Key_Space and index.isValid():
            row = self.rows_model.rows[index.row()]
            state = Qt.CheckState.Unchecked if row.drawn else Qt.CheckState.Checked
            self.rows_model.setData(index, state, Qt.ItemDataRole.CheckStateRole)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()  # notes wrap

    def _on_clicked(self, index: QModelIndex) -> None:
        if index.column() == USE:
            self._choose(index)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Two quick clicks on a check box are two clicks on a check box."""
        index = self.indexAt(event.position().toPoint())
        box = self.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth) + 8
        on_box = index.column() == NAME and event.position().x() <= self.visualRect(index).left() + box
        if on_box:
            super().mousePressEvent(event)
        else:
            super().mouseDoubleClickEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        row = self.rows_model.rows[index.row()] if index.isValid() else None
        if row is not None and row.device is not None:
            self.chosen.emit(row.device)


class DevicesView(QWidget):
    toggled = Signal(Device, bool)  # and whether to draw its capacity
    chosen = Signal(Device)
    searched = Signal(str)
    only_toggled = Signal(bool)  # show only devices on the chart
    given = Signal(str)  # a device as typed
    shown = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search: a100 80gb, ada, workstation …")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search devices by name, architecture or segment")
        self.only = QToolButton()
        self.only.setAccessibleName("Show only the devices on the chart")
        self.only.setCheckable(True)
        self.only.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.only.toggled.connect(self.only_toggled)
        self.list = DevicesList()
        self.custom, self.add = QLineEdit(), QPushButton("Add")
        self.custom.setPlaceholderText("24GiB, 24GiB:8.9, cpu:8GiB")
        self.custom.setToolTip(HELP)
        self.custom.setAccessibleName("Add a device by its memory")
        self.custom.setAccessibleDescription(HELP)
        self.add.setEnabled(False)
        self.message = PlainLabel()
        self.message.setWordWrap(True)
        self.message.hide()
        self._lay_out()
        self.set_theme(theme)
        self.search.textChanged.connect(self.searched)
        self.search.returnPressed.connect(self.list.to_first)
        self.list.rows_model.toggled.connect(self.toggled)
        self.list.chosen.connect(self.chosen)
        self.custom.textChanged.connect(self._on_custom_changed)
        self.custom.returnPressed.connect(self._on_given)
        self.add.clicked.connect(self._on_given)

    def _lay_out(self) -> None:
        bottom = QHBoxLayout()
        bottom.addWidget(self.custom, 1)
        bottom.addWidget(self.add)
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 6)
        top = QHBoxLayout()
        top.addWidget(self.search, 1)
        top.addWidget(self.only)
        column.addLayout(top)
        column.addWidget(self.list, 1)
        column.addLayout(bottom)
        column.addWidget(self.message)

    def show_rows(self, rows: Sequence[Row]) -> None:
        self.list.show_rows(rows)

    def show_count(self, count: int, names: str) -> None:
        self.only.setText(f"{count} on the chart")
        tip = f"Show only the devices on the chart: {names}"
        self.only.setToolTip(plain_tip(tip))
        self.only.setAccessibleName(tip)

    def start_search(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def say(self, sentence: str) -> None:
        """Show an error below the field; an empty text removes it."""
        self.message.setText(sentence)
        self.message.setVisible(bool(sentence))

    def clear_custom(self) -> None:
        self.custom.clear()

    def set_theme(self, theme: Theme) -> None:
        palette = self.message.palette()
        palette.setColor(QPalette.ColorRole.WindowText, theme.bad)
        self.message.setPalette(palette)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down and self.search.hasFocus():
            self.list.to_first()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.shown.emit(False)

    def _on_custom_changed(self, text: str) -> None:
        self.add.setEnabled(bool(text.strip()))
        self.say("")

    def _on_given(self) -> None:
        if self.custom.text().strip():
            self.given.emit(self.custom.text())
