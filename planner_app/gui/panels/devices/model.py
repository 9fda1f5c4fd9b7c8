"""The Qt model of the device list."""

from collections.abc import Callable, Sequence
from datetime import date

from PySide6.QtCore import QAbstractTableModel, QObject, Qt, Signal

from planner_app.core.hardware.device import Device
from planner_app.foreign_text import for_html
from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.table.index import Index
from planner_app.gui.panels.devices.facts import facts
from planner_app.gui.panels.devices.values import Kind, Row

Role = Qt.ItemDataRole
USE, NAME, SIZE = range(3)
TITLES = ("Use", "On the chart", "Usable")
TIPS = (
    "The device that setups run on: its limit decides what fits",
    "The capacity of checked devices is drawn on the chart",
    "What TensorFlow's allocator gets with default settings; ~ is derived, not confirmed",
)


class DevicesModel(QAbstractTableModel):
    toggled = Signal(Device, bool)  # and whether to draw it

    def __init__(self, parent: QObject | None = None, today: Callable[[], date] = date.today) -> None:
        super().__init__(parent)
        self.rows: Sequence[Row] = ()
        self._today = today

    def show_rows(self, rows: Sequence[Row]) -> bool:
        """Returns whether the rows changed, not just their state."""
        if [row.key for row in rows] != [row.key for row in self.rows]:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()
            return True
        changed = [number for number, (old, new) in enumerate(zip(self.rows, rows, strict=True)) if old != new]
        self.rows = rows
        for number in changed:
            self.dataChanged.emit(self.index(number, USE), self.index(number, SIZE))
        return False

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return len(TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Role.TextAlignmentRole and section == SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Role.DisplayRole:
            return TITLES[section]
        return TIPS[section] if role == Role.ToolTipRole else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.rows[index.row()]
        if row.kind is not Kind.DEVICE:
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        if row.device is None:
            return flags & ~Qt.ItemFlag.ItemIsEnabled
        return flags | Qt.ItemFlag.ItemIsUserCheckable if index.column() == NAME else flags

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        row = self.rows[index.row()]
        if role == Role.DisplayRole:
            return self._text(row, index.column())
        if role == Role.CheckStateRole and index.column() == NAME and row.device is not None:
            return Qt.CheckState.Checked if row.drawn else Qt.CheckState.Unchecked
        if role == Role.TextAlignmentRole and index.column() == SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Role.ToolTipRole:
            return self._tip(row)
        if role == Role.AccessibleTextRole:
            return row.spoken
        if role == Role.AccessibleDescriptionRole and row.device is not None:
            return " ".join(f"{word}: {text}" for word, text in facts(row.device, self._today()))
        return None

    def setData(self, index: Index, value: object, role: int = Role.EditRole) -> bool:
        row = self.rows[index.row()]
        if role != Role.CheckStateRole or row.device is None:
            return False
        self.toggled.emit(row.device, Qt.CheckState(value) is Qt.CheckState.Checked)
        return True

    @staticmethod
    def _text(row: Row, column: int) -> str:
        if row.kind is not Kind.DEVICE:
            return row.name if column == USE else ""
        return ("", row.name, row.size)[column]

    def _tip(self, row: Row) -> str | None:
        if row.kind is not Kind.DEVICE:
            return None
        if row.device is None:
            return plain_tip(f"{row.name}: {row.trouble}")
        lines = [f"<b>{for_html(row.device.name if row.device.cuda else row.name)}</b>"]
        lines += [f"<b>{for_html(word)}</b>: {for_html(text)}" for word, text in facts(row.device, self._today())]
        return "<br>".join(lines)
