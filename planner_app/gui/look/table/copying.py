"""Ctrl+C in a table copies the rows that are chosen, as cells that a spreadsheet takes."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView

from planner_app.foreign_text import for_csv

Row = Sequence[object]


def copy_rows_of(table: QAbstractItemView, header: Row, rows: Callable[[list[int]], Sequence[Row]]) -> None:
    """`rows` are the contents of rows by their places in the table."""
    table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
    keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), table)
    keys.setContext(Qt.ShortcutContext.WidgetShortcut)

    def copy() -> None:
        places = sorted({index.row() for index in table.selectionModel().selectedIndexes()})
        if places:
            put((header, *rows(places)))

    keys.activated.connect(copy)


def put(rows: Sequence[Row]) -> None:
    QGuiApplication.clipboard().setText("\n".join("\t".join(str(for_csv(cell)) for cell in row) for row in rows))
