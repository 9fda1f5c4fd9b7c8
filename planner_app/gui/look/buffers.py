"""What Qt writes to a device, as bytes."""

from collections.abc import Callable

from PySide6.QtCore import QBuffer, QByteArray, QIODevice


def written(write: Callable[[QIODevice], object]) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    write(buffer)
    buffer.close()
    return bytes(data.data())
