"""What is known before TensorFlow has been asked: weights, gradients and optimizer state, as one bar."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from planner_app.core.estimate.breakdown import Term
from planner_app.core.model.at_once import StateAtOnce
from planner_app.gui.look.theme import Theme
from planner_app.units import format_bytes

HEIGHT, BAR, GAP = 104, 14, 2


class AtOnceView(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.state: StateAtOnce | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def text(self) -> str:
        """Also for screen readers."""
        if self.state is None:
            return ""
        parts = ", ".join(f"{name} {format_bytes(size)}" for _, name, size in _parts(self.state))
        return f"{_title(self.state)}: {parts}"

    def sizeHint(self) -> QSize:
        return QSize(480, HEIGHT)

    def show_state(self, state: StateAtOnce | None) -> None:
        self.state = state
        self.setVisible(state is not None)
        self.setAccessibleName(self.text)
        self.update()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        state, theme = self.state, self._theme
        if state is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = self.fontMetrics()
        large = QFont(self.font())
        large.setPointSizeF(large.pointSizeF() * 1.25)
        painter.setFont(large)
        painter.setPen(QColor(theme.text))
        painter.drawText(QRectF(0, 0, self.width(), 26), int(Qt.AlignmentFlag.AlignHCenter), _title(state))
        painter.setFont(self.font())
        left, width = 0.0, float(self.width())
        for term, name, size in _parts(state):
            share = width * size / max(state.total_bytes, 1)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.term(term)))
            painter.drawRoundedRect(QRectF(left, 34, max(share - GAP, 2), BAR), 3, 3)
            top = 34 + BAR + 6
            painter.setPen(QColor(theme.text))
            painter.drawText(QRectF(left, top, share, metrics.lineSpacing()), 0, format_bytes(size))
            painter.setPen(QColor(theme.muted))
            shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, int(share) - 4)
            painter.drawText(QRectF(left, top + metrics.lineSpacing(), share, metrics.lineSpacing()), 0, shown)
            left += share


def _title(state: StateAtOnce) -> str:
    return f"About {format_bytes(state.total_bytes)} on each GPU before activations, if everything is trained"


def _parts(state: StateAtOnce) -> list[tuple[Term, str, int]]:
    parts = [
        (Term.WEIGHTS, "weights", state.weights_bytes),
        (Term.GRADIENTS, "gradients", state.gradients_bytes),
    ]
    if state.optimizer_bytes:
        named = f"state of {state.optimizer}{', assumed' if state.assumed else ''}"
        parts.append((Term.OPTIMIZER, named, state.optimizer_bytes))
    return parts
