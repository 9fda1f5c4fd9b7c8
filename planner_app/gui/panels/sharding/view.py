"""The sharding panel: what is asked on the left, meshes and layouts in the middle, two side by side on the right."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from planner_app.gui.look.paper import Paper, code, paragraph, tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.sharding.table import ShardingTable, SideBySideTable
from planner_app.gui.panels.sharding.values import Row, ShardingValues, SideBySide, partner

MOST_GPUS = 4096
LEFT = 220


class ShardingView(QWidget):
    work_clicked = Signal()
    cancel_clicked = Signal()
    pair_changed = Signal(int, int)  # the two rows side by side
    used = Signal(Row)
    keep_clicked = Signal(Row)
    shown = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values = theme, ShardingValues()
        self._trouble = self._open = False
        self._pair: tuple[int, int] | None = None
        self.table, self.beside, self.detail = ShardingTable(), SideBySideTable(), Paper("Rules of the layout")
        self._lay_out()
        self.table.row_chosen.connect(self._on_row_chosen)
        self.table.row_used.connect(self._use)
        self.work.clicked.connect(self.work_clicked)
        self.cancel.clicked.connect(self.cancel_clicked)
        self.use.clicked.connect(lambda: self._use(self.table.currentRow()))
        self.keep.clicked.connect(lambda: self.keep_clicked.emit(self.row()))
        self.set_open(False)
        self.show_working(False)
        self.show_values(self._values, theme)

    def _lay_out(self) -> None:
        middle, self.right = QWidget(), QWidget()
        self.note = PlainLabel(wordWrap=True)
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.note, 0, Qt.AlignmentFlag.AlignTop)
        column.addWidget(self.table, 1)
        self.use, self.keep = QPushButton("&Use this layout"), QPushButton("Save the &rules …")
        self.keep.setToolTip("As a file that you can edit and name in the Layout field of the Setup panel")
        buttons = QHBoxLayout()
        buttons.addWidget(self.use)
        buttons.addWidget(self.keep)
        buttons.addStretch(1)
        column = QVBoxLayout(self.right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.detail, 1)
        column.addLayout(buttons)
        self.split = QSplitter()
        for part, width in ((middle, 620), (self.beside, 330), (self.right, 240)):
            self.split.addWidget(part)
            if part is not self.right:  # its buttons need their room
                part.setMinimumWidth(width // 2)
        self.split.setSizes([620, 330, 240])
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 8, 6)
        row.setSpacing(10)
        row.addWidget(self._fields())
        row.addWidget(self.split, 1)

    def _fields(self) -> QWidget:
        self.what, self.doing = PlainLabel(wordWrap=True), PlainLabel(wordWrap=True)
        self.gpus = QSpinBox(minimum=2, maximum=MOST_GPUS, value=4)
        self.gpus.setAccessibleName("GPUs to share the model out over")
        label = QLabel("Share out over &GPUs")
        label.setBuddy(self.gpus)
        wanted = QHBoxLayout()
        wanted.addWidget(label)
        wanted.addWidget(self.gpus, 1)
        self.exact = QCheckBox("As&k the compiler (minutes)")
        self.exact.setToolTip("XLA compiles the largest batch of each layout, and the next larger one.")
        self.work, self.cancel = QPushButton("&Compare layouts"), QPushButton("Cance&l")
        self.work.setToolTip("Every mesh of so many GPUs with every layout, for Keras on JAX.")
        buttons = QHBoxLayout()
        buttons.addWidget(self.work)
        buttons.addWidget(self.cancel)
        self.bar = QProgressBar(textVisible=False)
        self.bar.setRange(0, 0)
        page = QWidget()
        page.setFixedWidth(LEFT)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.what)
        column.addLayout(wanted)
        column.addWidget(self.exact)
        column.addLayout(buttons)
        column.addWidget(self.bar)
        column.addWidget(self.doing)
        column.addStretch(1)
        return page

    # Showing

    def row(self) -> Row | None:
        place = self.table.currentRow()
        return self._values.rows[place] if 0 <= place < len(self._values.rows) else None

    def show_values(self, values: ShardingValues, theme: Theme) -> None:
        """The rows that are looked at stay so, wherever they come to stand."""
        names = [row.name for row in self._values.rows]
        looked_at = [names[place] for place in self._pair or ()]
        self._values, self._theme = values, theme
        self.note.setText(" ".join(filter(None, (values.asked, values.note))))
        self.note.setVisible(bool(self.note.text()))
        names = [row.name for row in values.rows]
        places = [names.index(name) for name in looked_at if name in names]
        current = places[0] if places else 0
        self.table.show_rows(values.rows, values.chosen, current, theme)
        for part in (self.table, self.beside, self.right):
            part.setVisible(bool(values.rows))
        self._pair = None
        if values.rows:
            self._look(current, places[1] if len(places) > 1 else None)
        self._paint()

    def show_side_by_side(self, values: SideBySide) -> None:
        self.beside.show_values(values)

    def show_what(self, sentence: str) -> None:
        self.what.setText(sentence)

    def show_working(self, working: bool) -> None:
        self.work.setEnabled(self._open and not working)
        self.cancel.setEnabled(working)
        self.bar.setVisible(working)
        self.say("")

    def set_open(self, on: bool) -> None:
        self._open = on
        for field in (self.work, self.gpus, self.exact):
            field.setEnabled(on)

    def say(self, sentence: str, detail: str = "", *, trouble: bool = False) -> None:
        self._trouble = trouble
        self.doing.setText(sentence)
        self.doing.setToolTip(detail)
        self._paint()

    def set_theme(self, theme: Theme) -> None:
        self.show_values(self._values, theme)

    def _paint(self) -> None:
        tint(self.doing, self._theme.bad if self._trouble else self._theme.muted)
        tint(self.note, self._theme.warn if self._values.stale else self._theme.muted)

    def _on_row_chosen(self, place: int) -> None:
        if 0 <= place < len(self._values.rows):
            self._look(place, self._pair[0] if self._pair else None)

    def _look(self, place: int, before: int | None) -> None:
        row, chosen = self._values.rows[place], self._values.chosen == place
        self._pair = place, partner(self._values.rows, place, before)
        self.use.setEnabled(row.rules is not None and not chosen)
        self.use.setText("In use" if chosen else "&Use this layout")
        self.keep.setEnabled(row.rules is not None and bool(row.rules.rules))
        self.detail.show_text(_in_full(row, self._theme))
        self.pair_changed.emit(*self._pair)

    def _use(self, place: int) -> None:
        if 0 <= place < len(self._values.rows) and self._values.rows[place].rules is not None:
            self.used.emit(self._values.rows[place])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


def _in_full(row: Row, theme: Theme) -> str:
    """Why it fails or what lies on every GPU, and the rules."""
    parts = [paragraph(row.name, bold=True)]
    if row.reason:
        parts.append(paragraph(row.reason, theme.bad))
    if row.stays:
        parts.append(paragraph(f"On every GPU: {row.stays}.", theme.muted))
    if row.rules is not None and row.rules.rules:
        parts.append(code([str(rule) for rule in row.rules.rules], theme))
    elif row.rules is not None:
        parts.append(paragraph("No rules: every variable lies on every GPU.", theme.muted))
    return "".join(parts)
