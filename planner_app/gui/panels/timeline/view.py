"""The timeline panel: the plot, its legend, and the list of what is alive at the peak."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPixmap, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.estimate.breakdown import MEANING
from planner_app.foreign_text import for_html
from planner_app.gui.look.plain_label import PlainLabel, plain_tip
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.timeline.plot import TimelinePlot
from planner_app.gui.panels.timeline.values import HeldRow, TimelineValues
from planner_app.units import format_bytes

CHIP = QSize(10, 10)
SIDE_WIDTH = 290
COMPILER = "The compiler says {}"
ROW = Qt.ItemDataRole.UserRole


class TimelineView(QWidget):
    layer_picked = Signal(str)
    shown = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values = theme, TimelineValues()
        self.plot = TimelinePlot(theme)
        self.plot.picked.connect(self.layer_picked)
        self.legend, self.peak = QLabel(), PlainLabel()
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setWordWrap(True)
        self.legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.peak.setAccessibleName("The peak of the step")
        self.held = QTreeWidget()
        self.held.setAccessibleName("What is alive at the peak, largest first")
        self.held.setHeaderLabels(["Alive at the peak", "Bytes"])
        self.held.setRootIsDecorated(False)
        self.held.setUniformRowHeights(True)
        self.held.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names of one model begin alike
        self.held.setIconSize(CHIP)
        self.held.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.held.header().setStretchLastSection(False)
        self.held.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.held.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.held.itemClicked.connect(self._on_item_chosen)
        self.held.itemActivated.connect(self._on_item_chosen)
        self._lay_out()
        self.set_theme(theme)

    def _lay_out(self) -> None:
        main = QVBoxLayout()
        main.setSpacing(2)
        main.addWidget(self.legend)
        main.addWidget(self.plot, 1)
        side = QVBoxLayout()
        side.setSpacing(4)
        side.addWidget(self.peak)
        side.addWidget(self.held, 1)
        beside = QWidget()
        beside.setFixedWidth(SIDE_WIDTH)
        beside.setLayout(side)
        side.setContentsMargins(0, 0, 0, 0)
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 4, 6, 4)
        row.addLayout(main, 1)
        row.addWidget(beside)
        self.setFocusProxy(self.plot)

    def show_values(self, values: TimelineValues) -> None:
        before, self._values = self._values, values
        self.plot.show_values(values)
        self._show_legend()
        metrics = self.peak.fontMetrics()
        lines = (values.peak, values.operation.rpartition("/")[2], COMPILER.format(values.compiler))
        there = lines if values.compiler else lines[:2]
        elided = (metrics.elidedText(line, Qt.TextElideMode.ElideMiddle, SIDE_WIDTH) for line in there)
        self.peak.setText("\n".join(elided))
        self.peak.setToolTip("\n".join((values.peak, values.operation, *there[2:])))
        if values.held != before.held:
            self._show_held()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.plot.set_theme(theme)
        self._show_legend()
        self._show_held()

    def _show_legend(self) -> None:
        values, theme = self._values, self._theme
        parts = [f"<b>{for_html(values.note or values.title)}</b>"]
        if values.layer is not None:
            parts.append(_sample(theme.accent, f"layer {values.layer.text}"))
        if values.measured is not None:
            parts.append(_sample(theme.text, values.measured.text, "&#9473;"))
        if values.course is not None:
            parts += [_sample(theme.term(term), str(term)) for term in values.course.terms]
        self.legend.setText(" &nbsp; ".join(parts))
        self.legend.setToolTip(
            "Each allocation or release takes the same width. Click: highlight the layer. Wheel: zoom. "
            "Arrow keys: move along the step. P: go to the peak."
        )

    def _show_held(self) -> None:
        self.held.clear()
        for row in self._values.held:
            item = QTreeWidgetItem([row.name, format_bytes(row.size_bytes)])
            chip = QPixmap(CHIP)
            chip.fill(QColor(self._theme.term(row.term)))
            item.setIcon(0, QIcon(chip))
            item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight)
            item.setToolTip(0, plain_tip(f"{row.operation or row.name}\n{row.term}: {MEANING[row.term]}"))
            item.setData(0, ROW, row)
            self.held.addTopLevelItem(item)

    def _on_item_chosen(self, item: QTreeWidgetItem) -> None:
        row: HeldRow = item.data(0, ROW)
        if row.layer:
            self.layer_picked.emit(row.layer)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


def _sample(colour: str, text: str, mark: str = "&#9632;") -> str:
    return f'<span style="color:{colour}">{mark}</span>&nbsp;{for_html(text).replace(" ", "&nbsp;")}'
