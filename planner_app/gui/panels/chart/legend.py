"""The chart's legend, which shows and hides lines: one button per precision and per GPU count."""

from collections.abc import Mapping

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from planner_app.gui.look.layouts import clear
from planner_app.gui.look.plain_label import plain_tip

SAMPLE = QSize(26, 12)


class Legend(QWidget):
    toggled = Signal(object, bool)  # the key of an entry, a precision or a GPU count, and whether it is on

    def __init__(self) -> None:
        super().__init__()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(8, 2, 8, 0)
        self._row.setSpacing(2)
        self._buttons: dict[object, QToolButton] = {}
        self._shown: object = None
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_entries(self, entries: Mapping[object, tuple[str, QPen]], ratio: float) -> None:
        """A line sample and a text for each key. Hidden lines stay hidden."""
        described = [(key, text, pen.color().name(), pen.style()) for key, (text, pen) in entries.items()]
        if described == self._shown:
            return
        self._shown = described
        off = {key for key, button in self._buttons.items() if not button.isChecked()}
        clear(self._row)
        self._buttons.clear()
        for key, (text, pen) in entries.items():
            button = QToolButton()
            button.setAutoRaise(True)
            button.setCheckable(True)
            button.setChecked(key not in off)
            button.setIcon(QIcon(_sample(pen, ratio)))
            button.setIconSize(SAMPLE)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setText(text)
            button.setToolTip(plain_tip(f"Show or hide the lines of {text}"))
            button.setAccessibleName(f"Lines of {text}")
            button.toggled.connect(lambda on, key=key: self.toggled.emit(key, on))
            self._row.addWidget(button)
            self._buttons[key] = button
        self._row.addStretch(1)
        self._row.addWidget(QLabel())

    def is_on(self, key: object) -> bool:
        return key not in self._buttons or self._buttons[key].isChecked()


def _sample(pen: QPen, ratio: float) -> QPixmap:
    pixmap = QPixmap(SAMPLE * ratio)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(QColor(Qt.GlobalColor.transparent))
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    middle = SAMPLE.height() / 2
    painter.drawLine(QPointF(1, middle), QPointF(SAMPLE.width() - 1, middle))
    painter.end()
    return pixmap
