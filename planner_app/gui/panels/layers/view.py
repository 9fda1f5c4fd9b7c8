"""The layers' panel: a table with the graph of layers beside it, or a treemap, and a filter for all of them."""

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QFont, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.estimate.breakdown import Term
from planner_app.foreign_text import for_html
from planner_app.gui.look.plot.ramp import ramp
from planner_app.gui.look.table.copying import copy_rows_of
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.layers.graph import graph
from planner_app.gui.panels.layers.graph_view import GraphView
from planner_app.gui.panels.layers.table import COLUMNS, PEAK, SHARE, LayerModel, ShareDelegate, Sorted, TotalsModel
from planner_app.gui.panels.layers.treemap import Treemap
from planner_app.gui.panels.layers.values import LayersValues
from planner_app.units import format_bytes

NOTHING = "No layer has all these words in its name or class."
PADDING = 3  # pixels: of a row, beside its text
SIZES = (1000, 250)  # pixels: of the table and of the graph


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
        self.treemap, self.graph = Treemap(theme), GraphView(theme)
        self._unfolded: frozenset[str] = frozenset()
        self._shares = ShareDelegate(self.sorted, theme)
        self._set_up_tables()
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Find by name or class (Ctrl+F)")
        self.filter.setAccessibleName("Filter layers by name or class")
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(220)
        self.filter.textChanged.connect(self._on_filter_changed)
        self.title = QLabel()
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._lay_out()
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.treemap.picked.connect(self.layer_picked)
        self.graph.canvas.picked.connect(self.layer_picked)
        self.graph.canvas.fold_toggled.connect(self._on_fold_toggled)

    def _set_up_tables(self) -> None:
        self.table.setModel(self.sorted)
        self.footer.setModel(self.totals)
        self.table.setAccessibleName("Layers and their memory")
        self.footer.setAccessibleName("Sums of the layers shown")
        self.table.setItemDelegateForColumn(SHARE, self._shares)
        header = self.table.horizontalHeader()
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(PEAK, Qt.SortOrder.DescendingOrder)
        self.table.setSortingEnabled(True)
        header.setHighlightSections(False)
        header.setMinimumSectionSize(60)
        header.setStretchLastSection(True)
        self.table.setAlternatingRowColors(True)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names of one model begin alike
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        copy_rows_of(self.table, [column.title for column in COLUMNS], self._texts)
        self.footer.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.footer.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        bold = QFont(self.font())
        bold.setBold(True)
        self.footer.setFont(bold)
        self.footer.horizontalHeader().hide()
        self.footer.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.footer.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        height = self.fontMetrics().height() + PADDING
        self.footer.setFixedHeight(height + 4)
        self.footer.horizontalHeader().setStretchLastSection(True)
        self.table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        for table in (self.table, self.footer):
            table.verticalHeader().hide()
            table.verticalHeader().setMinimumSectionSize(height)
            table.verticalHeader().setDefaultSectionSize(height)
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
        self.beside = QSplitter(Qt.Orientation.Horizontal)
        self.beside.addWidget(page)
        self.beside.addWidget(self.graph)
        self.beside.setSizes(list(SIZES))
        self.beside.setStretchFactor(0, 4)
        self.beside.setStretchFactor(1, 1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.beside)
        self.stack.addWidget(self.treemap)
        self.table_button, self.treemap_button = _toggle("Table"), _toggle("Treemap")
        self.table_button.setChecked(True)
        self.graph_button = _toggle("Graph")
        self.graph_button.setAccessibleName("Show the graph of layers beside the table")
        self.graph_button.setChecked(True)
        self.graph_button.toggled.connect(self.graph.setVisible)
        group = QButtonGroup(self)
        for number, button in enumerate((self.table_button, self.treemap_button)):
            group.addButton(button, number)
        group.idToggled.connect(self._on_page_toggled)
        top = QHBoxLayout()
        top.addWidget(self.title, 1)
        for widget in (self.filter, self.table_button, self.treemap_button, self.graph_button):
            top.addWidget(widget)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(6, 4, 6, 4)
        whole.setSpacing(4)
        whole.addLayout(top)
        whole.addWidget(self.stack, 1)

    # Showing

    def show_values(self, values: LayersValues) -> None:
        before, self._values = self._values, values
        if values.rows is before.rows:
            self._show_title()
            return
        with self._quietly():
            self.layers.show_rows(values.rows)
        self._show_title()
        self.treemap.show_rows(values.rows)
        self._show_graph()
        self.totals.refresh()

    def show_for_paper(self, values: LayersValues) -> None:
        self.show_values(values)
        for widget in (self.filter, self.table_button, self.treemap_button, self.graph_button, self.graph):
            widget.hide()
        self.table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def _show_graph(self) -> None:
        self.graph.canvas.show_graph(graph(self._values.rows, self._values.edges, self._unfolded))

    def start_search(self) -> None:
        self.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter.selectAll()

    def _show_title(self) -> None:
        """The title, and a legend for the colours of bars and tiles."""
        values = self._values
        parts = (
            [f"{for_html(values.title)}: <b>{format_bytes(values.peak_bytes)}</b> at the peak"] if values.rows else []
        )
        parts += [for_html(values.note)] if values.note else []
        if values.rows and not self.sorted.rowCount():
            parts.append(f'<span style="color:{self._theme.warn}">{NOTHING}</span>')
            self.title.setText(" &nbsp; ".join(parts))
            return
        parts += self._memory_legend() if self.treemap_button.isChecked() else self._term_legend()
        self.title.setText(" &nbsp; ".join(parts))

    def _term_legend(self) -> list[str]:
        there = {row.main_term for row in self._values.rows if row.path and row.peak_bytes}
        return [
            f'<span style="color:{self._theme.term(term)}">&#9632;</span>&nbsp;mostly {term}'.replace("y ", "y&nbsp;")
            for term in Term
            if term in there
        ]

    def _memory_legend(self) -> list[str]:
        most = max((row.peak_bytes for row in self._values.rows if row.path), default=0)
        steps = (ramp(self._theme, step / 6).name() for step in range(7))
        chips = "".join(f'<span style="color:{colour}">&#9608;</span>' for colour in steps)
        return [f"0 {chips} {format_bytes(most)}"] if most else []

    def select(self, layer: str) -> None:
        """Highlight a layer wherever it is shown."""
        self.treemap.select(layer)
        self.graph.select(layer)
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
        """Of several chosen rows, the one chosen last."""
        chosen, current = self.table.selectionModel().selectedRows(), self.table.currentIndex()
        if current.isValid() and any(index.row() == current.row() for index in chosen):
            return self.sorted.row(current.row()).path
        return self.sorted.row(chosen[0].row()).path if chosen else ""

    def set_theme(self, theme: Theme) -> None:
        self._theme = self._shares.theme = theme
        self._show_title()
        self.treemap.set_theme(theme)
        self.graph.canvas.set_theme(theme)
        self.table.viewport().update()

    # User input

    def _on_filter_changed(self, text: str) -> None:
        with self._quietly():
            self.sorted.set_filter(text)
        self.treemap.set_filter(text)
        self.graph.canvas.set_filter(text)
        self._show_title()
        self.totals.refresh()

    def _on_page_toggled(self, number: int, on: bool) -> None:
        if on:
            self.stack.setCurrentIndex(number)
            self.graph_button.setEnabled(number == 0)
            self._show_title()

    def _on_fold_toggled(self, block: str) -> None:
        self._unfolded ^= {block}
        self._show_graph()

    def _texts(self, places: list[int]) -> list[list[object]]:
        rows = (self.sorted.row(place) for place in places)
        return [[getattr(row, column.key) for column in COLUMNS] for row in rows]

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
    button.setAutoRaise(True)  # so that what is off does not look more active than what is on
    button.setAccessibleName(f"Show layers as a {text.lower()}")
    return button
