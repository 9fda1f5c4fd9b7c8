"""Comma-separated values, for spreadsheets and programs."""

import csv
from collections.abc import Iterable
from io import StringIO

from planner_app.foreign_text import for_csv


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """The first row is the header. Cells from other files are never evaluated as formulas."""
    written = StringIO()
    csv.writer(written, lineterminator="\n").writerows([for_csv(cell) for cell in row] for row in rows)
    return written.getvalue()
