"""The parts that the window arranges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers for a CSV file, with bytes as integers."""

    header: tuple[str, ...]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of the window.

    Attributes:
        picture: What is saved or copied as a picture; None if there is none.
        figure: Makes that picture anew, for paper: light, without buttons, of any size.
        table: The numbers shown, for CSV; None if there are none.
        shortcut: Brings it to the front.
        open: Shows a file of its own kind.
        find: Goes to its search field.
    """

    title: str
    widget: QWidget
    area: Qt.DockWidgetArea = Qt.DockWidgetArea.BottomDockWidgetArea
    picture: QWidget | None = None
    table: Callable[[], Table] | None = None
    shortcut: str = ""
    open: Callable[[str], None] | None = None
    find: Callable[[], None] | None = None
    figure: Callable[[], QWidget] | None = None
