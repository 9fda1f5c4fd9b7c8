"""Connects the session with the capacity chart."""

from typing import Protocol

from PySide6.QtCore import QObject, QPoint, Qt, SignalInstance

from planner_app.core.compile.line import NO_LINE
from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.curve import anchors
from planner_app.core.estimate.estimate import Estimate
from planner_app.core.estimate.level import FROM, Source
from planner_app.core.model.setup import Precision, Setup, StepSetup
from planner_app.gui.background.answers import LargestOf
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import LIGHT, Appearance, Theme
from planner_app.gui.panels.chart.card import MOST_ROWS, CardRow, CardValues
from planner_app.gui.panels.chart.curve import GIB, ExactLine
from planner_app.gui.panels.chart.drawn.marks import marks_of
from planner_app.gui.panels.chart.others import others_of
from planner_app.gui.panels.chart.values import Picture, Solved, picture
from planner_app.gui.panels.chart.view import ChartView
from planner_app.gui.state.session import Session
from planner_app.reports.run_words import run_text
from planner_app.units import format_bytes

MOST_EXACT = 8  # lines: replaying more of them to the last kink would keep a small machine busy for a minute


class View(Protocol):
    picked: SignalInstance
    hovered: SignalInstance
    left: SignalInstance
    dragged: SignalInstance
    dropped: SignalInstance
    stepped: SignalInstance

    def show_picture(self, picture: Picture) -> None: ...
    def show_card(self, values: CardValues | None, at: QPoint) -> None: ...
    def set_theme(self, theme: Theme) -> None: ...


class ChartPresenter(QObject):
    def __init__(self, session: Session, view: View, appearance: Appearance) -> None:
        super().__init__(view if isinstance(view, QObject) else None)
        self._session, self._view, self._appearance = session, view, appearance
        self._hover: tuple[Setup, QPoint] | None = None
        self.picture = Picture()
        for signal in (
            *(session.model_changed, session.models_changed, session.choice_changed, session.memories_changed),
            *(session.measurements_changed, session.checks_changed, session.failed_run_changed),
        ):
            signal.connect(self._refresh)
        session.answers.answered.connect(self._on_answered)
        appearance.changed.connect(self._on_theme_changed)
        view.picked.connect(self._on_picked)
        view.hovered.connect(self._on_hovered)
        view.left.connect(self._on_left)
        view.dragged.connect(self._on_dragged)
        view.dropped.connect(session.rest)
        view.stepped.connect(self._on_stepped)
        self._refresh()

    def table(self) -> Table:
        header = ("precision", "gpus", "batch", "per_gpu_batch", "xla", "peak_gib", "low_gib", "high_gib")
        rows = [
            (precision, series.gpus, batch * series.share, batch, series.xla, *(round(value, 4) for value in figures))
            for series in self.picture.series
            for precision in series.precisions
            for batch, *figures in zip(
                series.curve.batches, series.curve.peak_gib, series.curve.low_gib, series.curve.high_gib, strict=True
            )
        ]
        return Table(header, rows)

    def _refresh(self) -> None:
        session = self._session
        need = session.need(session.choice.setup)
        line = NO_LINE if need is None else need.line
        marks = marks_of(session.measurements, session.checks, session.choice, line, session.failed_run)
        largest = self._largest()
        if largest and all(found for found, _ in largest.values()):
            self._refine()
        others = others_of(session.others)
        new = picture(session.choice, session.needs, largest, marks, self._note(), others)
        if new != self.picture:
            self.picture = new
            self._view.show_picture(new)

    def _refine(self) -> None:
        """After what everybody waits for: the chosen line without kinks, and the others if they are few."""
        session, choice = self._session, self._session.choice
        lines = (choice.setup, *choice.lines()) if len(choice.lines()) <= MOST_EXACT else (choice.setup,)
        needs = (session.need(line) for line in lines)
        exact = dict.fromkeys(ExactLine(need) for need in needs if need is not None and need.memory.points)
        session.answers.ask("chart's lines", list(exact))

    def _largest(self) -> dict[StepSetup, Solved]:
        """Solved for the chosen device; open answers come with `answered`."""
        session, device, needs = self._session, self._session.choice.device, self._session.needs
        found = {line.step(device.target): line for line in session.choice.lines() if needs.has(line, device)}
        asked = [LargestOf(needs.of(line, device), sure) for sure in (False, True) for line in found.values()]
        if not asked or asked[0].need.capacity_bytes is None:
            return {}
        answers = session.answers.ask("chart", asked)
        half = len(found)
        return dict(zip(found, zip(answers[:half], answers[half:], strict=True), strict=True))

    def _note(self) -> str:
        """Why there are no lines; empty if there are."""
        troubles = dict.fromkeys(filter(None, map(self._session.trouble, self._session.choice.lines())))
        return "\n".join(troubles)

    def _on_answered(self) -> None:
        self._refresh()
        if self._hover is not None:
            self._show_card(*self._hover)

    def _on_theme_changed(self) -> None:
        self._view.set_theme(self._appearance.theme)

    def _on_picked(self, key: tuple[Precision, int], batch: int) -> None:
        precision, gpus = key
        self._session.choose_setup(precision=self._same_memory(precision, gpus), gpus=gpus, batch=batch)

    def _on_dragged(self, batch: int) -> None:
        self._session.choose_setup(batch=batch, mark="drag")

    def _same_memory(self, precision: Precision, gpus: int) -> Precision:
        """The chosen precision, if it is one of the line's."""
        current = self._session.choice.setup.precision
        line = next(series for series in self.picture.series if series.key == (precision, gpus))
        return current if current in line.precisions else precision

    def _on_hovered(self, key: tuple[Precision, int], batch: int, at: QPoint) -> None:
        precision, gpus = key
        setup = self._session.choice.line(self._same_memory(precision, gpus), gpus).with_batch(batch)
        self._hover = (setup, at)
        self._show_card(setup, at)

    def _on_left(self) -> None:
        self._hover = None
        self._view.show_card(None, QPoint())

    def _on_stepped(self, right: int, up: int) -> None:
        """Arrow keys: to the next batch on the line, or to the next line above or below at this batch."""
        setup = self._session.choice.setup
        chosen = next((series for series in self.picture.series if series.chosen), None)
        if chosen is None:
            return
        if right:
            batches = [batch * chosen.share for batch in anchors(chosen.curve.batches[-1])]
            further = [batch for batch in batches if (batch > setup.batch if right > 0 else batch < setup.batch)]
            if further:
                self._session.choose_setup(batch=min(further) if right > 0 else max(further), mark="keys")
            return
        heights = sorted(
            (series.curve.at(max(1, setup.batch // series.share))[0], number)
            for number, series in enumerate(self.picture.series)
            if setup.batch >= series.share
        )
        place = next(n for n, (_, number) in enumerate(heights) if self.picture.series[number] is chosen)
        if 0 <= place + up < len(heights):
            series = self.picture.series[heights[place + up][1]]
            self._session.choose_setup(precision=series.precisions[0], gpus=series.gpus, mark="keys")

    def _show_card(self, setup: Setup, at: QPoint) -> None:
        session = self._session
        estimate = session.answers.ask_one("hover", session.estimate_of(setup))
        memory = session.memory(setup)
        if memory is not None:
            self._view.show_card(card_values(setup, memory.xla, estimate, self._appearance.theme), at)


def card_values(setup: Setup, xla: bool, estimate: Estimate | None, theme: Theme) -> CardValues:
    title = f"Batch {setup.batch:,}, {setup.precision}, {run_text(setup.gpus, xla)}"
    each = "" if setup.per_gpu_batch == setup.batch else f"{setup.per_gpu_batch:,} at a time on each GPU\n"
    if estimate is None:
        return CardValues(title, f"{each}calculating …", theme.muted)
    said = _in_band(estimate.low_bytes, estimate.peak_bytes, estimate.high_bytes)
    if estimate.headroom_bytes is not None:
        left = estimate.headroom_bytes
        said += f"\n{format_bytes(left)} left" if left >= 0 else f"\n{format_bytes(-left)} too much"
    if estimate.source is not Source.ESTIMATE:
        said += f", {FROM[estimate.source]}"
    if estimate.verdict is not None:
        said = f"{str(estimate.verdict).capitalize()}: {said}"
    terms = sorted(estimate.breakdown.items(), key=lambda pair: -pair[1])
    rows = [CardRow(theme.term(Term(term)), term, format_bytes(size)) for term, size in terms[:MOST_ROWS]]
    rest = sum(size for _, size in terms[MOST_ROWS:])
    more = f"and {len(terms) - MOST_ROWS} more, {format_bytes(rest)}" if len(terms) > MOST_ROWS else ""
    return CardValues(title, f"{each}{said}", theme.verdict(estimate.verdict), tuple(rows), more)


def _in_band(low_bytes: int, peak_bytes: int, high_bytes: int) -> str:
    """All three in one unit and with the same digits, so that the figure is seen to lie in its band."""
    unit, name, digits = (GIB, "GiB", 2) if peak_bytes >= GIB else (1 << 20, "MiB", 0)
    low, peak, high = (f"{size / unit:,.{digits}f}" for size in (low_bytes, peak_bytes, high_bytes))
    return f"{peak} {name} in use ({low} to {high})"


def make(session: Session, appearance: Appearance, *, log: bool = True) -> Panel:
    view = ChartView(appearance.theme)
    view.set_log(log)
    presenter = ChartPresenter(session, view, appearance)

    def figure() -> ChartView:
        drawn = ChartView(LIGHT)
        drawn.set_log(view.axis.log)
        drawn.show_picture(presenter.picture)
        drawn.show_grid(view.grid_button.isChecked())
        drawn.hide_controls()
        return drawn

    area = Qt.DockWidgetArea.NoDockWidgetArea
    return Panel("Chart", view, area, picture=view, table=presenter.table, figure=figure)
