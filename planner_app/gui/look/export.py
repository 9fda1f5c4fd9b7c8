"""Exports pictures and numbers of a panel to a file or the clipboard."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect
from PySide6.QtGui import QGuiApplication, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from planner_app.errors import PlannerError
from planner_app.files.writing import reason, write_atomically
from planner_app.foreign_text import for_csv, for_terminal
from planner_app.gui.panel import Panel, Table
from planner_app.reports.csv_rows import csv_text

SHARP = 2.0  # twice the pixels of the screen, for papers and slides


def image_of(widget: QWidget, scale: float = SHARP) -> QImage:
    image = QImage(widget.size() * scale, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    widget.render(image)
    return image


def png_of(widget: QWidget) -> bytes:
    return _written(lambda device: QImageWriter(device, QByteArray(b"png")).write(image_of(widget)))


def svg_of(widget: QWidget) -> bytes:
    def paint(device: QIODevice) -> None:
        generator = QSvgGenerator()
        generator.setOutputDevice(device)
        generator.setSize(widget.size())
        generator.setViewBox(QRect(0, 0, widget.width(), widget.height()))
        painter = QPainter(generator)
        painter.fillRect(widget.rect(), widget.palette().window())
        widget.render(painter, QPoint())
        painter.end()

    return for_terminal(_written(paint).decode()).encode()  # XML forbids control characters, but Qt writes them


def csv_of(table: Table) -> str:
    return csv_text([table.header, *table.rows])


def data_of(panel: Panel, kind: str) -> bytes:
    """The panel's picture as "png" or "svg", its numbers as "csv"."""
    if kind == "csv" and panel.table is not None:
        return csv_of(panel.table()).encode()
    if kind != "csv" and panel.picture is not None:
        return svg_of(panel.picture) if kind == "svg" else png_of(panel.picture)
    raise PlannerError(f"The panel {panel.title!r} has nothing to save as {kind.upper()}.")


def save(path: str, data: bytes) -> None:
    try:
        write_atomically(Path(path), data)
    except OSError as error:
        raise PlannerError(f"{path} can't be written: {reason(error)}. Choose another folder.") from error


def copy_picture(widget: QWidget) -> None:
    QGuiApplication.clipboard().setImage(image_of(widget))


def copy_table(table: Table) -> None:
    """Tab-separated, so that spreadsheets paste it as cells."""
    rows = [table.header, *table.rows]
    QGuiApplication.clipboard().setText("\n".join("\t".join(str(for_csv(cell)) for cell in row) for row in rows))


def _written(write: Callable[[QIODevice], object]) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    write(buffer)
    buffer.close()
    return bytes(data.data())
