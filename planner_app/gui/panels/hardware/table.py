"""The tables of the hardware panel: what fits the setup, and why the rest does not."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QFont

from planner_app.core.buying.run import Proposal
from planner_app.core.hardware.option import Option
from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.panels.hardware.cells import COLUMNS, Column, about, columns_of
from planner_app.gui.panels.hardware.values import Key, key_of_option

Role = Qt.ItemDataRole
Index = QModelIndex | QPersistentModelIndex
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class OptionsModel(QAbstractTableModel):
    """In ranking order until a header is clicked."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ranked: Sequence[Option] = ()
        self.rows: list[Option] = []
        self._front: set[int] = set()
        self._columns: tuple[Column, ...] = COLUMNS
        self._sorted: tuple[int, Qt.SortOrder] | None = None
        self._bold = QFont()
        self._bold.setBold(True)

    def show_options(
        self, options: Sequence[Option], front: Sequence[Option], proposals: Sequence[Proposal] = ()
    ) -> None:
        self.beginResetModel()
        self._columns = columns_of(proposals)
        if self._sorted is not None and self._sorted[0] >= len(self._columns):
            self._sorted = None
        self._ranked, self._front = options, {id(option) for option in front}
        self._order()
        self.endResetModel()

    def place_of(self, key: Key | None) -> int | None:
        return next((number for number, option in enumerate(self.rows) if key_of_option(option) == key), None)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.layoutAboutToBeChanged.emit()
        before = [(index, self.rows[index.row()]) for index in self.persistentIndexList()]
        self._sorted = (column, order) if column >= 0 else None
        self._order()
        places = {id(option): number for number, option in enumerate(self.rows)}
        for index, option in before:
            self.changePersistentIndex(index, self.index(places[id(option)], index.column()))
        self.layoutChanged.emit()

    def _order(self) -> None:
        self.rows = list(self._ranked)
        if self._sorted is not None:
            column, order = self._sorted
            figure = self._columns[column].figure
            known = [option for option in self.rows if figure(option) is not None]
            known.sort(key=figure, reverse=order is Qt.SortOrder.DescendingOrder)  # type: ignore[arg-type]
            self.rows = known + [option for option in self.rows if figure(option) is None]

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = self._columns[section]
        if role == Role.TextAlignmentRole:
            return LEFT if column.left else RIGHT
        return {Role.DisplayRole: column.title, Role.ToolTipRole: column.tip}.get(Role(role))

    def data(self, index: Index, role: int = Role.DisplayRole) -> Any:
        option, column = self.rows[index.row()], self._columns[index.column()]
        if role == Role.DisplayRole:
            return column.text(option)
        if role == Role.TextAlignmentRole and not column.left:
            return RIGHT
        if role == Role.FontRole and column.left and id(option) in self._front:
            return self._bold
        if role in (Role.ToolTipRole, Role.AccessibleDescriptionRole):
            return plain_tip(about(option)) if role == Role.ToolTipRole else about(option)
        if role == Role.AccessibleTextRole:
            return f"{column.title}: {column.text(option)}"
        return None


class ReasonsModel(QAbstractTableModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: Sequence[tuple[str, str]] = ()

    def show_reasons(self, reasons: Sequence[tuple[str, str]]) -> None:
        if reasons != self.rows:
            self.beginResetModel()
            self.rows = reasons
            self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return 2

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> Any:
        if orientation is Qt.Orientation.Horizontal and role == Role.DisplayRole:
            return ("Device", "Why it is not in the list")[section]
        return None

    def data(self, index: Index, role: int = Role.DisplayRole) -> Any:
        if role in (Role.DisplayRole, Role.ToolTipRole):
            text = self.rows[index.row()][index.column()]
            return plain_tip(text) if role == Role.ToolTipRole else text
        return None
