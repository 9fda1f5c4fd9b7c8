"""The common style of tables: whole rows selected, no grid, no row numbers."""

from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QTableWidget, QTableWidgetItem


def make_plain(table: QTableView, row_height: int) -> None:
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setShowGrid(False)
    table.setAlternatingRowColors(True)
    table.setTabKeyNavigation(False)
    table.setWordWrap(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(row_height)
    table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    table.horizontalHeader().setHighlightSections(False)


def heading(table: QTableWidget, column: int) -> QTableWidgetItem:
    """The header item of a column. Qt creates it only once the label is set."""
    item = table.horizontalHeaderItem(column)
    if item is None:
        raise ValueError(f"column {column} has no label yet")
    return item
