"""Adds space between lines and around tables, and a background to code: Qt sets Markdown tightly."""

from PySide6.QtGui import (
    QColor,
    QTextBlockFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextTable,
)

LINE_PERCENT = 125.0
GAP = 8
BEFORE_HEADING = 20
CODE_MARGIN = 12


def polish(document: QTextDocument, code_ground: QColor, lines: QColor) -> None:
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    block = document.begin()
    while block.isValid():
        cursor.setPosition(block.position())
        if _is_code(block.blockFormat()):
            code = QTextBlockFormat()
            code.setBackground(code_ground)
            code.setLeftMargin(CODE_MARGIN)
            code.setBottomMargin(0 if _is_code(block.next().blockFormat()) else GAP)
            cursor.mergeBlockFormat(code)
        elif cursor.currentTable() is None:
            cursor.mergeBlockFormat(_text(block.blockFormat(), block.position() == 0))
        block = block.next()
    cursor.endEditBlock()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            shape = frame.format()
            shape.setTopMargin(GAP / 2)
            shape.setBottomMargin(2 * GAP)
            shape.setCellPadding(5)
            shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
            shape.setBorderBrush(lines)
            frame.setFormat(shape)


def _is_code(form: QTextBlockFormat) -> bool:
    return form.hasProperty(QTextFormat.Property.BlockCodeLanguage)


def _text(form: QTextBlockFormat, first: bool) -> QTextBlockFormat:
    given = QTextBlockFormat()
    given.setLineHeight(LINE_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    given.setBottomMargin(GAP)
    if form.headingLevel() and not first:
        given.setTopMargin(BEFORE_HEADING)
    return given
