"""Shows the terms of the chosen setup, next to those of the pinned one."""

from PySide6.QtCore import QObject, Qt

from planner_app.core.estimate.estimate import Estimate
from planner_app.core.model.setup import Setup
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import LIGHT, Appearance
from planner_app.gui.panels.breakdown.values import BreakdownValues, TermsAt, areas, breakdown_values, shown_batches
from planner_app.gui.panels.breakdown.view import BreakdownView
from planner_app.gui.state.session import Session

ASKER = "breakdown"


class BreakdownPresenter(QObject):
    def __init__(self, session: Session, view: BreakdownView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self.values = BreakdownValues()
        signals = (session.model_changed, session.choice_changed, session.memories_changed, session.pinned_changed)
        for signal in (*signals, session.answers.answered, view.shown):
            signal.connect(self._refresh)
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        view.pin_clicked.connect(self._on_pin_clicked)
        self._refresh()

    def table(self) -> Table:
        """The areas, batch by batch, and the chosen and the pinned setup."""
        values = self.values
        found: list[tuple[str, int, str, int | None]] = []
        for place, batch in enumerate(values.areas.batches):
            found += [("over batch", batch, str(term), sizes[place]) for term, sizes in values.areas.terms]
        found += [(values.title, values.batch, row.name, row.now_bytes) for row in values.rows]
        if values.pinned and self._session.pinned:
            batch = self._session.pinned.setup.batch
            found += [(f"pinned: {values.pinned}", batch, row.name, row.pinned_bytes) for row in values.rows]
        return Table(("setup", "batch", "term", "bytes"), found)

    def _refresh(self) -> None:
        if not self._view.isVisible():
            return
        self.values = self._resolved()
        self._view.show_values(self.values)

    def _resolved(self) -> BreakdownValues:
        session, choice = self._session, self._session.choice
        setup = choice.setup
        need = session.need(setup)
        if session.opened is None:
            return BreakdownValues()
        if need is None or not (memory := need.memory).points:
            return BreakdownValues(batch=setup.batch, note=session.trouble(setup) or "Tracing the training step …")
        batches = shown_batches(memory, setup.per_gpu_batch, need.capacity_bytes)
        # The last question is answered first: the pinned setup can wait for the areas, and they for the chosen setup.
        pinned = self._pinned()
        terms = session.answers.ask(f"{ASKER}'s areas", [TermsAt(memory, batch) for batch in batches])
        chosen = session.answers.ask_one(ASKER, session.estimate_of(setup))
        drawn = areas(batches, terms, setup.shares)
        return breakdown_values(setup, need, drawn, chosen, pinned)

    def _pinned(self) -> tuple[Setup, Estimate | None] | None:
        session, pinned = self._session, self._session.pinned
        if pinned is None:
            return None
        question = session.estimate_of(pinned.setup, pinned.device)
        return pinned.setup, session.answers.ask_one(f"{ASKER}'s pinned setup", question)

    def _on_pin_clicked(self) -> None:
        self._session.pin(self._session.choice if self._session.pinned is None else None)


def make(session: Session, appearance: Appearance) -> Panel:
    view = BreakdownView(appearance.theme)
    presenter = BreakdownPresenter(session, view, appearance)
    area = Qt.DockWidgetArea.RightDockWidgetArea

    def figure() -> BreakdownView:
        drawn = BreakdownView(LIGHT)
        drawn.hide_controls()
        drawn.show_values(presenter.values)
        return drawn

    return Panel("Breakdown", view, area, picture=view, table=presenter.table, shortcut="Alt+3", figure=figure)
