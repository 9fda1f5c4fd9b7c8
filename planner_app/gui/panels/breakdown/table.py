"""The list of terms: each with its colour, bytes and share; with a pinned setup, both and the difference."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QHeaderView, QSizePolicy, QStyleOptionViewItem, QTreeView

from planner_app.core.estimate.breakdown import Term
from planner_app.gui.look.table.bars import RIGHT, BarDelegate, percent
from planner_app.gui.look.table.index import ROOT, Index
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.breakdown.values import Row
from planner_app.units import format_bytes

ALONE = ("Term", "Share", "Bytes", "")
COMPARED = ("Term", "Pinned", "Now", "Change")
CHIP = 10  # pixels of the colour beside a term
SHARP = 2  # twice the pixels, for high-resolution screens
ROW = 20
# The widest texts of all columns but the first, so that widths stay fixed while a slider moves.
WIDEST = {False: ("100.0 %", "99.9 MiB", ""), True: ("99,999", "99,999", "+9,999")}
PADDING = 9
UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20))

Role = Qt.ItemDataRole


class TermModel(QAbstractTableModel):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.rows: tuple[Row, ...] = ()
        self.compared = False
        self._shown: list[tuple[str, ...]] = []
        self._theme = theme
        self._chips = {term: _chip(theme.term(term)) for term in Term}
        self.bold = QFont()
        self.bold.setBold(True)

    def show_rows(self, rows: Sequence[Row], *, compared: bool) -> None:
        before = [row.name for row in self.rows]
        if before != [row.name for row in rows] or compared != self.compared:
            self.beginResetModel()
            self.rows, self.compared = tuple(rows), compared
            self._shown = [self.texts(row) for row in rows]
            self.endResetModel()
        elif rows != self.rows:
            self.rows, old = tuple(rows), self._shown
            self._shown = [self.texts(row) for row in rows]
            for place in (place for place, texts in enumerate(self._shown) if texts != old[place]):
                self.dataChanged.emit(self.index(place, 1), self.index(place, len(ALONE) - 1))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._chips = {term: _chip(theme.term(term)) for term in Term}
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(ALONE) - 1))

    def colour(self, row: Row) -> str | None:
        return None if row.term is None else self._theme.term(row.term)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return len(ALONE)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Role.DisplayRole:
            return (COMPARED if self.compared else ALONE)[section]
        if role == Role.ToolTipRole and self.compared and section:
            return f"In {self._unit()[0]}"
        return RIGHT if role == Role.TextAlignmentRole and section else None

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        """Called for every cell and a dozen roles in every frame of a moving slider: common roles come first."""
        place, column = index.row(), index.column()
        if role == Role.DisplayRole:
            return self._shown[place][column]
        if role == Role.TextAlignmentRole:
            return RIGHT if column else None
        row = self.rows[place]
        if role == Role.DecorationRole and not column:
            return self._chips.get(row.term) if row.term else None
        if role == Role.SizeHintRole:
            return QSize(1, ROW)
        if role == Role.FontRole:
            return self.bold if row.term is None else None
        if role == Role.ForegroundRole and column == 3 and row.difference_bytes:
            return QColor(self._theme.bad if row.difference_bytes > 0 else self._theme.good)
        if role == Role.ToolTipRole:
            return f"{row.name}: {row.meaning}"
        if role == Role.AccessibleTextRole:
            return f"{row.name}, {', '.join(filter(None, self._shown[place][1:]))}. {row.meaning}"
        return None

    def texts(self, row: Row) -> tuple[str, str, str, str]:
        if self.compared:  # one unit for all, so that numbers can be read down and across
            name, unit = self._unit()
            pinned, now = _in_unit(row.pinned_bytes, unit), _in_unit(row.now_bytes, unit)
            change = difference_text(row.difference_bytes, unit)
            label = f"{row.name}, {name}" if row.name == "in use" else row.name
            return label, pinned, now, change
        now = "…" if row.now_bytes is None else format_bytes(row.now_bytes)
        return row.name, percent(row.share) if row.term is not None else "", now, ""

    def _unit(self) -> tuple[str, int]:
        largest = max((max(row.now_bytes or 0, row.pinned_bytes or 0) for row in self.rows), default=0)
        return next((unit for unit in UNITS if largest >= 10 * unit[1]), UNITS[-1])


def difference_text(difference: int | None, unit: int) -> str:
    if difference is None:
        return "…"
    text = _in_unit(abs(difference), unit)
    sign = "+" if difference > 0 else "\N{MINUS SIGN}"
    return f"{sign}{text}" if difference else "0"


def _in_unit(size: int | None, unit: int) -> str:
    if size is None:
        return "…"
    amount = size / unit
    if 0 < amount < 0.01:
        return "<0.01"
    return f"{amount:,.0f}" if amount >= 99.95 else f"{amount:.1f}" if amount >= 9.995 else f"{amount:.2f}"


def _chip(colour: str) -> QIcon:
    pixmap = QPixmap(CHIP * SHARP, CHIP * SHARP)
    pixmap.fill(QColor(colour))
    return QIcon(pixmap)


class ShareDelegate(BarDelegate):
    def __init__(self, model: TermModel, view: QTreeView) -> None:
        super().__init__(view)
        self._model = model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = self._model.rows[index.row()]
        colour = self._model.colour(row)
        if colour is None or self._model.compared:
            super().paint(painter, option, index)
        else:
            self.paint_share(painter, option, index, row.share, QColor(colour))


class TermList(QTreeView):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.terms = TermModel(theme)
        self.setModel(self.terms)
        self.setItemDelegateForColumn(1, ShareDelegate(self.terms, self))
        self.setIconSize(QSize(CHIP, CHIP))
        self.setAccessibleName("Terms of memory at the peak")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAlternatingRowColors(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(20)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setMinimumHeight(80)
        self._set_widths()

    def _set_widths(self) -> None:
        bold = QFontMetrics(self.terms.bold)
        for column, widest in enumerate(WIDEST[self.terms.compared], 1):
            self.header().resizeSection(column, bold.horizontalAdvance(widest) + PADDING)
        self.setColumnHidden(3, not self.terms.compared)

    def show_rows(self, rows: Sequence[Row], *, compared: bool) -> None:
        current, before = self.currentIndex().row(), (len(self.terms.rows), self.terms.compared)
        self.terms.show_rows(rows, compared=compared)
        if (len(rows), compared) != before:
            self._set_widths()
            self.updateGeometry()
        if not self.currentIndex().isValid() and 0 <= current < len(rows):
            self.setCurrentIndex(self.terms.index(current, 0))

    def sizeHint(self) -> QSize:
        """The size that needs no scrolling."""
        height = self.header().sizeHint().height() + len(self.terms.rows) * ROW + 2 * self.frameWidth()
        return QSize(super().sizeHint().width(), height)

    def row(self) -> Row | None:
        """The row chosen by keyboard or pointer."""
        index = self.currentIndex()
        return self.terms.rows[index.row()] if index.isValid() else None
