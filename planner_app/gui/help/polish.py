"""Room between lines and around tables: Qt lays Markdown out tightly."""

from PySide6.QtGui import QColor, QTextBlockFormat, QTextCursor, QTextDocument, QTextTable

LINE_PERCENT = 125.0
GAP = 8
BEFORE_HEADING = 20


def polish(document: QTextDocument, code_ground: QColor, lines: QColor) -> None:
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    block = document.begin()
    while block.isValid():
        form = block.blockFormat()
        cursor.setPosition(block.position())
        cursor.mergeBlockFormat(_format(form, cursor.currentTable() is not None, block.position() == 0, code_ground))
        block = block.next()
    cursor.endEditBlock()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            shape = frame.format()
            shape.setTopMargin(GAP / 2)
            shape.setBottomMargin(2 * GAP)
            shape.setCellPadding(5)
            shape.setBorderBrush(lines)
            frame.setFormat(shape)


def _format(form: QTextBlockFormat, in_table: bool, first: bool, code_ground: QColor) -> QTextBlockFormat:
    given = QTextBlockFormat()
    if form.nonBreakableLines():  # code: nothing between its lines
        given.setBackground(code_ground)
        given.setLineHeight(LINE_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        return given
    given.setLineHeight(LINE_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    if form.headingLevel() and not first:
        given.setTopMargin(BEFORE_HEADING)
    if not in_table and form.objectIndex() == -1:
        given.setBottomMargin(GAP)
    return given
