"""Text as it is: names in it come from files, and a name may look like markup."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


class PlainLabel(QLabel):
    def __init__(self, text: str = "", **options: bool) -> None:
        super().__init__(text, **options)
        self.setTextFormat(Qt.TextFormat.PlainText)
