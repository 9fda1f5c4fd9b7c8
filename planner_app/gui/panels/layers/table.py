"""The table of layers: numbers sort as numbers, a filter finds layers, and a row below shows totals."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QSortFilterProxyModel, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.table.bars import RIGHT, BarDelegate, percent
from planner_app.gui.look.table.index import ROOT, Index
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.layers.values import NO_LAYER_MEANING, LayerRow, totals
from planner_app.units import format_bytes

Role = Qt.ItemDataRole
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


TEXTS = frozenset(("name", "class_name", "shape"))


@dataclass(frozen=True, slots=True)
class Column:
    """`key` is the attribute of a row; everything but text is summed."""

    title: str
    key: str
    width: int
    meaning: str = ""

    @property
    def is_text(self) -> bool:
        return self.key in TEXTS

    def text(self, value: object) -> str:
        if isinstance(value, str):
            return value
        if not value:
            return ""
        if isinstance(value, float):
            return percent(value)
        return f"{value:,}" if self.key == "params" else format_bytes(int(value))  # type: ignore[call-overload]


COLUMNS = (
    Column("Layer", "name", 170),
    Column("At the peak", "peak_bytes", 92, "All its memory at the peak. The sum over all rows is the peak."),
    Column("Share", "share", 70, "Of the peak."),
    Column("Activations kept", "activation_bytes", 112, "Results of its forward pass that still exist at the peak."),
    Column("Weights", "weights_bytes", 72, "Its variables, trained or not."),
    Column("Gradients", "gradients_bytes", 74, "Of its trained weights; not all of them need exist at the peak."),
    Column("Optimizer", "optimizer_bytes", 74, "What the optimizer keeps for it from step to step."),
    Column("Parameters", "params", 84),
    Column("Class", "class_name", 110),
    Column("Output", "shape", 90, "The shape of its output, per sample."),
)
PEAK, SHARE = 1, 2


class LayerModel(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[LayerRow, ...] = ()
        self.largest_share = 0.0
        self._shown: list[list[str]] = []

    def show_rows(self, rows: Sequence[LayerRow]) -> None:
        if [row.path for row in rows] == [row.path for row in self.rows]:
            if rows != self.rows and rows:
                self._keep(rows)
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(COLUMNS) - 1))
            return
        self.beginResetModel()
        self._keep(rows)
        self.endResetModel()

    def _keep(self, rows: Sequence[LayerRow]) -> None:
        self.rows = tuple(rows)
        self._shown = [[column.text(getattr(row, column.key)) for column in COLUMNS] for row in rows]
        self.largest_share = max((row.share for row in rows), default=0.0)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        column = COLUMNS[section] if orientation is Qt.Orientation.Horizontal else None
        if column is None:
            return None
        if role == Role.DisplayRole:
            return column.title
        if role == Role.ToolTipRole:
            return column.meaning or None
        if role == Role.InitialSortOrderRole:  # largest numbers first
            return int((Qt.SortOrder.AscendingOrder if column.is_text else Qt.SortOrder.DescendingOrder).value)
        return (LEFT if column.is_text else RIGHT) if role == Role.TextAlignmentRole else None

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        """Called for every painted cell and a dozen roles: common roles come first."""
        place, number = index.row(), index.column()
        if role == Role.DisplayRole:
            return self._shown[place][number]
        if role == Role.TextAlignmentRole:
            return None if COLUMNS[number].is_text else RIGHT
        if role == Role.UserRole:
            value = getattr(self.rows[place], COLUMNS[number].key)
            return value.lower() if isinstance(value, str) else float(value)
        if role == Role.ToolTipRole:
            row = self.rows[place]
            return NO_LAYER_MEANING if not row.path else plain_tip(row.path) if COLUMNS[number].is_text else None
        return None


class Sorted(QSortFilterProxyModel):
    """In the model's order until a column is chosen; what belongs to no layer stays at the end."""

    def __init__(self, layers: LayerModel) -> None:
        super().__init__()
        self.layers, self._filter = layers, ""
        self.setSourceModel(layers)
        self.setSortRole(Role.UserRole)

    def set_filter(self, text: str) -> None:
        self._filter = text
        self.invalidate()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Qt would reverse the model's own order."""
        super().sort(column, order if column >= 0 else Qt.SortOrder.AscendingOrder)

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        return self.layers.rows[row].matches(self._filter)

    def lessThan(self, left: Index, right: Index) -> bool:
        rows = self.layers.rows
        for first, second, less in ((left, right, False), (right, left, True)):
            if not rows[first.row()].path and rows[second.row()].path:
                return less if self.sortOrder() is Qt.SortOrder.AscendingOrder else not less
        return super().lessThan(left, right)

    @property
    def shown(self) -> tuple[LayerRow, ...]:
        return tuple(self.row(place) for place in range(self.rowCount()))

    def row(self, place: int) -> LayerRow:
        return self.layers.rows[self.mapToSource(self.index(place, 0)).row()]

    def place(self, path: str) -> int | None:
        return next((place for place in range(self.rowCount()) if self.row(place).path == path), None)


class TotalsModel(QAbstractTableModel):
    """One row: the sums of what the table shows."""

    def __init__(self, of: Sorted) -> None:
        super().__init__()
        self._of = of
        self._texts = [""] * len(COLUMNS)

    def refresh(self) -> None:
        shown, every = self._of.shown, len(self._of.layers.rows)
        sums = totals(shown)
        count = sum(bool(row.path) for row in shown)
        whole = len(shown) == every
        first = f"all {count} layers" if whole else f"{count} of {every - 1} layers"
        self._texts = [column.text(sums[column.key]) if not column.is_text else "" for column in COLUMNS]
        self._texts[0] = first if every else ""
        self.dataChanged.emit(self.index(0, 0), self.index(0, len(COLUMNS) - 1))

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else 1

    def columnCount(self, parent: Index = ROOT) -> int:
        return len(COLUMNS)

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        if role == Role.DisplayRole:
            return self._texts[index.column()]
        return RIGHT if role == Role.TextAlignmentRole and not COLUMNS[index.column()].is_text else None


class ShareDelegate(BarDelegate):
    def __init__(self, sorted_rows: Sorted, theme: Theme) -> None:
        super().__init__()
        self._rows, self.theme = sorted_rows, theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = self._rows.row(index.row())
        largest = self._rows.layers.largest_share
        share = row.share / largest if largest else 0.0
        self.paint_share(painter, option, index, share, QColor(self.theme.term(row.main_term)))
