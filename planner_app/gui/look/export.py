"""Exports pictures and numbers of a panel to a file or the clipboard."""

from pathlib import Path

from PySide6.QtCore import QByteArray, QSize
from PySide6.QtGui import QGuiApplication, QImage, QImageWriter, QPixmap
from PySide6.QtWidgets import QLabel, QWidget

from planner_app.errors import PlannerError
from planner_app.files.writing import reason, write_atomically
from planner_app.foreign_text import for_terminal
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.buffers import written
from planner_app.gui.look.plot.pens import at_scale
from planner_app.gui.look.sheet import Caption, pdf_sheet, png_sheet, scale_of, svg_sheet
from planner_app.gui.look.table.copying import put
from planner_app.reports.csv_rows import csv_text

WINDOW_SCALE = 2.0  # twice the pixels of the screen
UNSEEN = QSize(400, 300)  # of a panel that has never been in front
PICTURES = ("png", "svg", "pdf")


def png_of(widget: QWidget) -> bytes:
    """A widget as it is on the screen."""
    return _png(_image_of(widget))


def data_of(panel: Panel, kind: str, caption: Caption | None = None) -> bytes:
    """The panel's figure as "png", "svg" or "pdf", its numbers as "csv"."""
    if kind == "csv" and panel.table is not None:
        return csv_text([panel.table().header, *panel.table().rows]).encode()
    if kind in PICTURES and panel.picture is not None:
        about = caption or Caption()
        with at_scale(scale_of(kind)):
            if kind == "png":
                return _png(png_sheet(figure_of(panel), about))
            if kind == "pdf":
                return pdf_sheet(figure_of(panel), about)
            svg = svg_sheet(figure_of(panel), about)
        return for_terminal(svg.decode()).encode()  # XML forbids control characters, but Qt writes them
    raise PlannerError(f"The panel {panel.title!r} has nothing to save as {kind.upper()}.")


def figure_of(panel: Panel) -> QWidget:
    """The panel drawn anew for paper; one that can't be is photographed."""
    if panel.figure is not None:
        return panel.figure()
    if panel.picture is None:
        raise PlannerError(f"The panel {panel.title!r} has no picture.")
    photograph = QLabel()
    photograph.setPixmap(QPixmap.fromImage(_image_of(panel.picture)))
    return photograph


def save(path: str, data: bytes) -> None:
    try:
        write_atomically(Path(path), data)
    except OSError as error:
        raise PlannerError(f"{path} can't be written: {reason(error)}. Choose another folder.") from error


def copy_picture(panel: Panel, caption: Caption) -> None:
    with at_scale(scale_of("png")):
        QGuiApplication.clipboard().setImage(png_sheet(figure_of(panel), caption))


def copy_table(table: Table) -> None:
    """Tab-separated, so that spreadsheets paste it as cells."""
    put([table.header, *table.rows])


def _image_of(widget: QWidget, scale: float = WINDOW_SCALE) -> QImage:
    if widget.size().isEmpty():
        widget.resize(widget.sizeHint().expandedTo(UNSEEN))
    image = QImage(widget.size() * scale, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    widget.render(image)
    return image


def _png(image: QImage) -> bytes:
    return written(lambda device: QImageWriter(device, QByteArray(b"png")).write(image))
