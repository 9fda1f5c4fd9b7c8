"""The Qt model of the heat map."""

from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.table.index import Index
from planner_app.gui.panels.chart.drawn.capacity import why_less
from planner_app.gui.panels.largest.values import Cell, HeatMap, State, place

Role = Qt.ItemDataRole


class LargestModel(QAbstractTableModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.values = HeatMap()

    def show_values(self, values: HeatMap) -> bool:
        """Returns whether rows or columns changed."""
        before = self.values
        if (values.columns, values.precisions) != (before.columns, before.precisions):
            self.beginResetModel()
            self.values = values
            self.endResetModel()
            return True
        self.values = values
        if values.cells:
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))
        return False

    def cell(self, index: Index) -> Cell | None:
        return self.values.cells[index.row()][index.column()] if index.isValid() else None

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.values.cells)

    def columnCount(self, parent: Index | None = None) -> int:
        return len(self.values.columns) if self.values.cells else 0

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        rows = orientation is Qt.Orientation.Vertical
        if section >= len(self.values.precisions if rows else self.values.columns):
            return None  # the other header does not know yet that the table has shrunk
        if rows:
            return str(self.values.precisions[section]) if role == Role.DisplayRole else None
        device, _ = self.values.columns[section]
        if role == Role.DisplayRole:
            return self.values.run(section)
        if role == Role.AccessibleTextRole:
            return f"{place(device)}, {self.values.run(section)}"
        if role == Role.ToolTipRole:
            return plain_tip(why_less(device))
        return None

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        cell = self.cell(index)
        if cell is None:
            return None
        if role == Role.DisplayRole:
            return cell.text
        if role == Role.ToolTipRole:
            return plain_tip(cell.tip)
        if role == Role.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignCenter
        if role == Role.AccessibleTextRole:
            return f"{cell.where}: {cell.text}{', ' + cell.below if cell.below else ''}"
        if role == Role.AccessibleDescriptionRole:
            return cell.tip
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        cell = self.cell(index)
        usable = cell is not None and cell.state is not State.FAILED
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable if usable else Qt.ItemFlag.ItemIsSelectable
