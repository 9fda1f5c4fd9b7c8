"""Requests the largest batches of all devices on the chart; clicking a cell chooses it."""

from dataclasses import replace

from PySide6.QtCore import QObject

from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import LIGHT, Appearance
from planner_app.gui.panels.largest.values import Cell, HeatMap, State, heat_map, questions
from planner_app.gui.panels.largest.view import LargestView
from planner_app.gui.state.choice import Choice, SetupChanges
from planner_app.gui.state.session import Session

NO_MODEL = "Open a model to see the largest batch that fits each device."
HEADER = "device precision gpus accumulate batch per_gpu_batch multiple_of_8_per_gpu power_of_2_per_gpu note".split()


class LargestPresenter(QObject):
    def __init__(self, session: Session, view: LargestView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self._looked_at: object = None
        self.values = HeatMap()
        session.model_changed.connect(self._refresh)
        session.memories_changed.connect(self._refresh)
        session.answers.answered.connect(self._refresh)
        session.choice_changed.connect(self._on_choice_changed)
        appearance.changed.connect(self._on_theme_changed)
        view.shown.connect(self._refresh)
        view.chosen.connect(self._on_chosen)

    def table(self) -> Table:
        rows = [_written(cell, self._session.choice.setup.accumulate) for row in self.values.cells for cell in row]
        return Table(tuple(HEADER), rows)

    def _refresh(self) -> None:
        if not self._view.isVisible():
            return
        session, choice = self._session, self._session.choice
        values = HeatMap()
        if session.opened is not None:
            asked = questions(choice, session.needs)
            both = [*(tight for tight, _ in asked.values()), *(sure for _, sure in asked.values())]
            answers = session.answers.ask("largest", both)
            half = len(asked)
            solved = dict(zip(asked, zip(answers[:half], answers[half:], strict=True), strict=True))
            values = heat_map(choice, session.needs, solved, session.trouble)
        self._looked_at = _without_batch(choice)
        if values != self.values or not values.cells:
            self.values = values
            self._view.show_values(values, "" if values.cells else NO_MODEL)

    def _on_choice_changed(self) -> None:
        if self._view.isVisible() and _without_batch(self._session.choice) != self._looked_at:
            self._refresh()

    def _on_theme_changed(self) -> None:
        self._view.set_theme(self._appearance.theme)

    def _on_chosen(self, cell: Cell) -> None:
        """Choose the cell's setup, device and batch; without a batch, keep the current one."""

        def change(choice: Choice) -> Choice:
            changes: SetupChanges = {"precision": cell.precision, "gpus": cell.gpus}
            if cell.batch and not cell.bound:
                changes["batch"] = cell.batch
            return replace(choice, device=cell.device).with_setup(**changes)

        self._session.choose(change)


def _written(cell: Cell, accumulate: int) -> tuple[object, ...]:
    where = (cell.device.name, str(cell.precision), cell.gpus, accumulate)
    if cell.state in (State.FITS, State.NEVER):
        each = cell.per_gpu_batch
        power = 1 << (each.bit_length() - 1) if each else 0
        note = "larger batches were not tried" if cell.bound else str(cell.state)
        return *where, cell.batch, each, each // 8 * 8, power, note
    return *where, "", "", "", "", str(cell.state)


def _without_batch(choice: Choice) -> Choice:
    """Everything the heat map depends on, so that it stays the same while the batch changes."""
    return replace(choice, setup=choice.setup.least())


def make(session: Session, appearance: Appearance) -> Panel:
    view = LargestView(appearance.theme)
    presenter = LargestPresenter(session, view, appearance)

    def figure() -> LargestView:
        drawn = LargestView(LIGHT)
        drawn.show_for_paper(presenter.values)
        return drawn

    return Panel("Largest batch", view, picture=view.table, table=presenter.table, shortcut="Alt+4", figure=figure)
