"""Text as it is: names in it come from files, and a name may look like markup."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


class PlainLabel(QLabel):
    def __init__(self, text: str = "", *, wordWrap: bool = False) -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wordWrap)
