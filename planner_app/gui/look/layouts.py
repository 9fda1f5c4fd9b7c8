"""What Qt's layouts lack."""

from PySide6.QtWidgets import QLayout


def clear(layout: QLayout) -> None:
    """Take everything out of it; widgets go for good."""
    while (item := layout.takeAt(0)) is not None:
        if widget := item.widget():
            widget.deleteLater()
