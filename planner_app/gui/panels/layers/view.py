"""The layers' panel: a table or a treemap, and a filter for both."""

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QFont, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QStackedWidget,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.estimate.breakdown import Term
from planner_app.foreign_text import for_html
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.layers.table import COLUMNS, LayerModel, ShareDelegate, Sorted, TotalsModel
from planner_app.gui.panels.layers.treemap import Treemap
from planner_app.gui.panels.layers.values import LayersValues
from planner_app.units import format_bytes

ROW_HEIGHT = 20


class LayersView(QWidget):
    layer_picked = Signal(str)  # "": none
    shown = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values, self._quiet = theme, LayersValues(), False
        self.layers = LayerModel()
        self.sorted = Sorted(self.layers)
        self.totals = TotalsModel(self.sorted)
        self.table, self.footer = QTableView(), QTableView()
        self.treemap = Treemap(theme)
        self._shares = ShareDelegate(self.sorted, theme)
        self._set_up_tables()
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter by name or class")
        self.filter.setAccessibleName("Filter layers by name or class")
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(220)
        self.filter.textChanged.connect(self._on_filter_changed)
        self.title = QLabel()
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._lay_out()
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.treemap.picked.connect(self.layer_picked)

    def _set_up_tables(self) -> None:
        self.table.setModel(self.sorted)
        self.footer.setModel(self.totals)
        self.table.setAccessibleName("Layers and their memory")
        self.footer.setAccessibleName("Sums of the layers shown")
        share = len(COLUMNS) - 1
        self.table.setItemDelegateForColumn(share, self._shares)
        header = self.table.horizontalHeader()
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.table.setSortingEnabled(True)
        header.setHighlightSections(False)
        header.setMinimumSectionSize(60)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.setAlternatingRowColors(True)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.footer.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.footer.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        bold = QFont(self.font())
        bold.setBold(True)
        self.footer.setFont(bold)
        self.footer.horizontalHeader().hide()
        self.footer.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.footer.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.footer.setFixedHeight(ROW_HEIGHT + 4)
        self.table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        for table in (self.table, self.footer):
            table.verticalHeader().hide()
            table.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
            table.setShowGrid(False)
            table.setWordWrap(False)
            for number, column in enumerate(COLUMNS):
                table.setColumnWidth(number, column.width)
        header.sectionResized.connect(lambda number, _, width: self.footer.setColumnWidth(number, width))
        self.table.horizontalScrollBar().valueChanged.connect(self.footer.horizontalScrollBar().setValue)

    def _lay_out(self) -> None:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.table, 1)
        column.addWidget(self.footer)
        self.stack = QStackedWidget()
        self.stack.addWidget(page)
        self.stack.addWidget(self.treemap)
        self.table_button, self.treemap_button = _toggle("Table"), _toggle("Treemap")
        self.table_button.setChecked(True)
        group = QButtonGroup(self)
        for number, button in enumerate((self.table_button, self.treemap_button)):
            group.addButton(button, number)
        group.idToggled.connect(lambda number, on: self.stack.setCurrentIndex(number) if on else None)
        top = QHBoxLayout()
        top.addWidget(self.title, 1)
        for widget in (self.filter, self.table_button, self.treemap_button):
            top.addWidget(widget)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(6, 4, 6, 4)
        whole.setSpacing(4)
        whole.addLayout(top)
        whole.addWidget(self.stack, 1)

    # Showing

    def show_values(self, values: LayersValues) -> None:
        before, self._values = self._values, values
        self._show_title()
        if values.rows is before.rows:
            return
        with self._quietly():
            self.layers.show_rows(values.rows)
        self.treemap.show_rows(values.rows)
        self.totals.refresh()

    def _show_title(self) -> None:
        """The title, and a legend for the colours of bars and tiles."""
        values = self._values
        parts = (
            [f"{for_html(values.title)}: <b>{format_bytes(values.peak_bytes)}</b> at the peak"] if values.rows else []
        )
        parts += [for_html(values.note)] if values.note else []
        there = {row.main_term for row in values.rows if row.path and row.peak_bytes}
        for term in (term for term in Term if term in there):
            chip = f'<span style="color:{self._theme.term(term)}">&#9632;</span>'
            parts.append(f"{chip}&nbsp;mostly&nbsp;{term}".replace("optimizer ", "optimizer&nbsp;"))
        self.title.setText(" &nbsp; ".join(parts))

    def select(self, layer: str) -> None:
        """Highlight a layer wherever it is shown."""
        self.treemap.select(layer)
        with self._quietly():
            place = self.sorted.place(layer) if layer else None
            if place is None:
                self.table.clearSelection()
            elif self.selected != layer:
                index = self.sorted.index(place, 0)
                flags = QItemSelectionModel.SelectionFlag
                self.table.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
                self.table.scrollTo(index, QAbstractItemView.ScrollHint.EnsureVisible)

    @property
    def selected(self) -> str:
        chosen = self.table.selectionModel().selectedRows()
        return self.sorted.row(chosen[0].row()).path if chosen else ""

    def set_theme(self, theme: Theme) -> None:
        self._theme = self._shares.theme = theme
        self._show_title()
        self.treemap.set_theme(theme)
        self.table.viewport().update()

    # User input

    def _on_filter_changed(self, text: str) -> None:
        with self._quietly():
            self.sorted.set_filter(text)
        self.treemap.set_filter(text)
        self.totals.refresh()

    def _on_selection_changed(self) -> None:
        if not self._quiet:
            self.layer_picked.emit(self.selected)

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Selections made meanwhile are not the user's."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


def _toggle(text: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setCheckable(True)
    button.setAccessibleName(f"Show layers as a {text.lower()}")
    return button
