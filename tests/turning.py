"""Let Qt's event loop run as it does in the app: other threads go on meanwhile; `QTest.qWait` hardly lets them."""

from PySide6.QtCore import QEventLoop, QTimer


def turn(milliseconds: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()
