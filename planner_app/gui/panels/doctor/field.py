"""Where a log is pasted, typed or dropped."""

from PySide6.QtCore import QMimeData, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QPlainTextEdit

# A text field takes seconds to lay out more than this; longer logs are still read.
LONGEST_SHOWN = 1_000_000


class LogField(QPlainTextEdit):
    file_given = Signal(str)
    long_text_given = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setPlaceholderText("Paste the end of a log here, or drop its file …")
        self.setAccessibleName("The log")
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(file_in(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Handles both pasted and dropped content."""
        if path := file_in(source):
            self.file_given.emit(path)
        elif len(text := source.text()) > LONGEST_SHOWN:
            self.long_text_given.emit(text)
        else:
            super().insertFromMimeData(source)


def file_in(data: QMimeData) -> str:
    """The first local file among the dropped items; empty if there is none."""
    return next((url.toLocalFile() for url in data.urls() if url.isLocalFile()), "")
