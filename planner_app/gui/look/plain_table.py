"""Tables as they look everywhere: whole rows, no grid, no numbers at the side."""

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
    """Of a column whose label has been set: Qt makes an item for it then."""
    item = table.horizontalHeaderItem(column)
    if item is None:
        raise ValueError(f"column {column} has no label yet")
    return item
