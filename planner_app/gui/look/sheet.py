"""A sheet to publish: one figure of a fixed size on white, with the model, the setup, the versions and the date."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QIODevice, QMarginsF, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontInfo,
    QFontMetrics,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QRegion,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QApplication, QGraphicsView, QWidget

from planner_app.foreign_text import for_line
from planner_app.gui.look.buffers import written
from planner_app.gui.look.theme import LIGHT, palette_of

SIZE = QSize(1000, 640)  # points, whatever the size of the window
MARGIN = 16
SHARP = 3.0  # pixels of a picture to a point


@dataclass(frozen=True, slots=True)
class Caption:
    """Attributes:
    model: The file's name.
    setup: What the figure shows, in a line.
    origin: What made it: versions and date.
    """

    model: str = ""
    setup: str = ""
    origin: str = ""


def png_sheet(figure: QWidget, caption: Caption) -> QImage:
    image = QImage(SIZE * SHARP, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SHARP)
    image.fill(QColor(LIGHT.surface))
    painter = QPainter(image)
    _paint(painter, figure, caption)
    painter.end()
    return image


def svg_sheet(figure: QWidget, caption: Caption) -> bytes:
    """SVG 1.1: the smaller dialect has no clipping, and curves would run over the axes."""
    svg = written(lambda device: _paint_svg(QSvgGenerator(QSvgGenerator.SvgVersion.Svg11), device, figure, caption))
    font = QFontInfo(QApplication.font()).family()
    # Qt names the font as the desktop does ("Sans Serif"), which browsers don't know: they would take one with serifs.
    return re.sub(rb'font-family="[^"]*"', f'font-family="{escape(font)}, sans-serif"'.encode(), svg)


def _paint_svg(generator: QSvgGenerator, device: QIODevice, figure: QWidget, caption: Caption) -> None:
    generator.setOutputDevice(device)
    generator.setSize(SIZE)
    generator.setResolution(figure.logicalDpiX())
    generator.setViewBox(QRect(QPoint(), SIZE))
    generator.setTitle(for_line(f"{caption.model}: {caption.setup}"))
    generator.setDescription(for_line(caption.origin))
    painter = QPainter(generator)
    painter.fillRect(QRect(QPoint(), SIZE), QColor(LIGHT.surface))
    _paint(painter, figure, caption)
    painter.end()


def pdf_sheet(figure: QWidget, caption: Caption) -> bytes:
    def paint(device: QIODevice) -> None:
        writer = QPdfWriter(device)
        resolution = figure.logicalDpiX()  # what plots record their axes with
        inches = QSizeF(SIZE) / resolution
        writer.setPageSize(QPageSize(inches, QPageSize.Unit.Inch))
        writer.setPageMargins(QMarginsF(), QPageLayout.Unit.Point)
        writer.setResolution(resolution)
        writer.setColorModel(QPdfWriter.ColorModel.RGB)
        writer.setTitle(for_line(caption.model))
        writer.setCreator(for_line(caption.origin))
        painter = QPainter(writer)
        _paint(painter, figure, caption)
        painter.end()

    return written(paint)


def _paint(painter: QPainter, figure: QWidget, caption: Caption) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    bold, plain, small = _font(12, bold=True), _font(10), _font(8)
    top = _write(painter, MARGIN, bold, caption.model, LIGHT.text)
    top = _write(painter, top + 2, plain, caption.setup, LIGHT.muted)
    foot = QFontMetrics(small).height()
    room = QRect(MARGIN, top + 8, SIZE.width() - 2 * MARGIN, SIZE.height() - top - 8 - foot - MARGIN - 6)
    _paint_figure(painter, figure, room)
    _write(painter, SIZE.height() - MARGIN - foot + 4, small, caption.origin, LIGHT.muted)


def _paint_figure(painter: QPainter, figure: QWidget, room: QRect) -> None:
    """Plots are painted apart: as parts of a widget their clipping would be off by their place in it."""
    figure.setPalette(palette_of(LIGHT))
    with _laid_out(figure, room.size()):
        inside = QWidget.findChildren(figure, QGraphicsView)
        plots = [*([figure] if isinstance(figure, QGraphicsView) else []), *inside]
        shown = [plot for plot in plots if plot.isVisible()]
        for plot in shown:
            plot.setUpdatesEnabled(False)
        if figure not in shown:
            figure.render(painter, painter.transform().map(room.topLeft()), QRegion(), QWidget.RenderFlag.DrawChildren)
        for plot in shown:
            corner = room.topLeft() + (QPoint() if plot is figure else plot.mapTo(figure, QPoint()))
            place = QRectF(QPointF(corner), QSizeF(plot.viewport().size()))
            plot.setUpdatesEnabled(True)
            painter.fillRect(place, QColor(LIGHT.surface))
            plot.render(painter, place, plot.viewport().rect())


@contextmanager
def _laid_out(figure: QWidget, size: QSize) -> Iterator[None]:
    """As if it were on the screen, at this size."""
    figure.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
    figure.resize(size)
    figure.show()
    QApplication.sendPostedEvents()
    try:
        yield
    finally:
        figure.close()
        figure.deleteLater()


def _write(painter: QPainter, top: int, font: QFont, text: str, colour: str) -> int:
    """Returns where the line ends."""
    if not text:
        return top
    metrics = QFontMetrics(font)
    painter.setFont(font)
    painter.setPen(QColor(colour))
    width = SIZE.width() - 2 * MARGIN
    shown = metrics.elidedText(for_line(text), Qt.TextElideMode.ElideRight, width)
    painter.drawText(QRect(MARGIN, top, width, metrics.height()), int(Qt.AlignmentFlag.AlignLeft), shown)
    return top + metrics.height()


def _font(points: int, *, bold: bool = False) -> QFont:
    font = QFont(QApplication.font())
    font.setPointSize(points)
    font.setBold(bold)
    return font


def scale_of(kind: str) -> float:
    """How many of the device's units a line of one point is wide."""
    return SHARP if kind == "png" else 1.0
