"""Compares meshes and layouts on request, draws the best on the chart, and puts two of them side by side."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from planner_app.core.compile.check import capacity_of
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.core.sharding.layout import REPLICATED
from planner_app.core.sharding.mesh import ONE_GPU
from planner_app.core.sharding.options import ShardingOption
from planner_app.errors import PlannerError
from planner_app.files.layouts import write_layout
from planner_app.gui.background.answers import EstimateOf
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.sharding.values import (
    Row,
    ShardingValues,
    chosen_row,
    lines_of,
    row_of,
    side_by_side,
)
from planner_app.gui.panels.sharding.view import ShardingView
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.session import Session
from planner_app.jobs.protocol import Progress
from planner_app.planner.sharding import sharding_options
from planner_app.reports.sharding_table import sharding_dict

NO_MODEL = "Open a model to see how several GPUs can share it."
NOT_YET = "How Keras on JAX can share the model out: press “Compare layouts”."
STALE = "The table is for a different setup or device: compare again."
NO_LIMIT = "Nothing limits the CPU: choose a GPU."
TABLE = (
    *("mesh", "layout", "fits", "batch", "sure_batch", "state_bytes", "replicated_bytes", "peak_bytes"),
    *("travel_bytes", "reason"),
)


class ShardingPresenter(QObject):
    def __init__(self, session: Session, view: ShardingView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self.slot = TaskSlot(session.start, self)
        self._options: tuple[ShardingOption, ...] = ()
        self._asked: tuple[Setup, Device] | None = None  # what the table is for
        self._asking: tuple[Setup, Device] = self._question()
        self._pair: tuple[int, int] | None = None
        self.values = ShardingValues()
        session.model_changed.connect(self._on_model_changed)
        session.choice_changed.connect(self._refresh)
        session.answers.answered.connect(self._show_pair)
        session.memories_changed.connect(self._show_pair)
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        self.slot.progressed.connect(self._on_progressed)
        self.slot.partial.connect(self._on_found)
        self.slot.failed.connect(lambda why, detail: view.say(why, detail, trouble=True))
        self.slot.stopped.connect(lambda: view.say("Cancelled."))
        self.slot.ended.connect(lambda: view.show_working(False))
        view.shown.connect(self._refresh)
        view.work_clicked.connect(self._on_work_clicked)
        view.cancel_clicked.connect(self.slot.cancel)
        view.pair_changed.connect(self._on_pair_changed)
        view.used.connect(self._on_used)
        view.keep_clicked.connect(self._on_keep_clicked)
        self._on_model_changed()

    @property
    def busy(self) -> bool:
        return self.slot.busy

    def table(self) -> Table:
        written = [sharding_dict(option) for option in self._options]
        return Table(TABLE, [[row[name] for name in TABLE] for row in written])

    # Showing

    def _question(self) -> tuple[Setup, Device]:
        """What the answer depends on: how to train, wherever it lies and at whatever batch."""
        choice = self._session.choice
        return choice.setup.on_mesh(ONE_GPU, REPLICATED), choice.device

    def _refresh(self) -> None:
        session = self._session
        stale = self._asked is not None and self._asked != self._question()
        rows = self._rows()
        chosen = None if stale else chosen_row(rows, session.choice.setup)
        session.draw_layouts(() if stale else lines_of(rows, chosen))
        if not self._view.isVisible():
            return
        device = session.choice.device
        note = NOT_YET if session.opened is not None and not rows else STALE if stale else ""
        self._view.show_what(f"{device.name}, {session.choice.setup.precision}" if session.opened else NO_MODEL)
        values = ShardingValues(self._asked_text(), note, rows, chosen, stale)
        if values != self.values:
            self.values = values
            self._view.show_values(values, self._appearance.theme)
        self._show_pair()

    def _rows(self) -> tuple[Row, ...]:
        capacity = None if self._asked is None else capacity_of(self._asked[1])
        if self._asked is None or capacity is None:
            return ()
        return tuple(row_of(option, self._asked[0], capacity) for option in self._options)

    def _asked_text(self) -> str:
        if self._asked is None or not self._options:
            return ""
        setup, device = self._asked
        return f"{self._options[0].mesh.gpus} x {device.name}, {setup.precision}, Keras on JAX."

    def _show_pair(self) -> None:
        rows = self.values.rows
        if self._pair is None or max(self._pair) >= len(rows) or not self._view.isVisible() or self._asked is None:
            return
        pair = rows[self._pair[0]], rows[self._pair[1]]
        shares = [row.setup.shares for row in pair]
        batch = -(-max(self._session.choice.setup.batch, *shares) // max(shares)) * max(shares)
        estimates = [self._session.answers.ask_one(f"side {n}", self._at(row, batch)) for n, row in enumerate(pair)]
        self._view.show_side_by_side(side_by_side(pair, batch, estimates, capacity_of(self._asked[1])))

    def _at(self, row: Row, batch: int) -> EstimateOf | None:
        """None for what was never traced, or can't have this batch."""
        planner = self._session.planner
        if planner is None or self._asked is None or batch % row.setup.shares:
            return None
        setup, device, needs = row.setup.with_batch(batch), self._asked[1], planner.needs
        return EstimateOf(needs.of(setup, device), setup) if needs.has(setup, device) else None

    # Working

    def _on_work_clicked(self) -> None:
        planner, (setup, device) = self._session.planner, self._question()
        if planner is None:
            self._view.say(NO_MODEL, trouble=True)
            return
        if capacity_of(device) is None:
            self._view.say(NO_LIMIT, trouble=True)
            return
        gpus, exact = self._view.gpus.value(), self._view.exact.isChecked()

        def work(task: Task) -> tuple[ShardingOption, ...]:
            return sharding_options(
                planner, setup, gpus, device, exact=exact,
                on_progress=task.report, on_part=task.publish, cancelled=task.cancelled,
            )  # fmt: skip

        self._asking = setup, device
        self.slot.run(work, self._on_found)
        self._view.show_working(True)

    def _on_progressed(self, event: Progress) -> None:
        self._view.say(event.text)

    def _on_found(self, options: tuple[ShardingOption, ...]) -> None:
        self._options, self._asked = options, self._asking
        self._refresh()

    def _on_pair_changed(self, left: int, right: int) -> None:
        self._pair = left, right
        self._show_pair()

    def _on_used(self, row: Row) -> None:
        def change(choice: Choice) -> Choice:
            chosen = choice.with_setup(mesh=row.setup.mesh, layout=row.setup.layout)
            return replace(chosen, gpu_counts=tuple(sorted({1, row.setup.gpus})))

        try:
            self._session.choose(change)
        except PlannerError as error:
            self._view.say(str(error), trouble=True)

    def _on_keep_clicked(self, row: Row) -> None:
        name = f"{row.layout}-{row.mesh}.json"
        path, _ = QFileDialog.getSaveFileName(self._view, "Save the rules of this layout", name, "Layout (*.json)")
        if path and row.rules is not None:
            try:
                write_layout(row.rules, Path(path))
            except PlannerError as error:
                self._view.say(str(error), trouble=True)
            else:
                self._view.say(f"Saved {Path(path).name}: name it in the Layout field of the Setup panel.")

    def _on_model_changed(self) -> None:
        self.slot.drop()
        self._options, self._asked, self._pair = (), None, None
        self._view.set_open(self._session.opened is not None)
        self._refresh()


def make(session: Session, appearance: Appearance) -> Panel:
    view = ShardingView(appearance.theme)
    presenter = ShardingPresenter(session, view, appearance)
    return Panel("Sharding", view, picture=view, table=presenter.table)
