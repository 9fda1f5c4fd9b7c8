"""What Qt's layouts lack."""

from PySide6.QtWidgets import QLayout


def clear(layout: QLayout) -> None:
    """Remove everything from the layout and delete its widgets."""
    while (item := layout.takeAt(0)) is not None:
        if widget := item.widget():
            widget.deleteLater()
