"""Connects the session with the capacity chart."""

from typing import Protocol

from PySide6.QtCore import QObject, QPoint, Qt, SignalInstance

from planner_app.core.compile.line import NO_LINE
from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.estimate import Estimate
from planner_app.core.estimate.level import FROM, Source
from planner_app.core.model.setup import Precision, Setup, StepSetup
from planner_app.gui.background.answers import LargestOf
from planner_app.gui.look.theme import Appearance, Theme
from planner_app.gui.panel import Panel, Table
from planner_app.gui.panels.chart.card import CardRow, CardValues
from planner_app.gui.panels.chart.marks import marks_of
from planner_app.gui.panels.chart.values import GIB, Picture, Solved, gpus_text, picture
from planner_app.gui.panels.chart.view import ChartView
from planner_app.gui.session import Session
from planner_app.units import format_bytes


class View(Protocol):
    picked: SignalInstance
    hovered: SignalInstance
    left: SignalInstance
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
            *(session.model_changed, session.choice_changed, session.memories_changed),
            *(session.measurements_changed, session.checks_changed),
        ):
            signal.connect(self._refresh)
        session.answers.answered.connect(self._on_answered)
        appearance.changed.connect(self._on_theme_changed)
        view.picked.connect(self._on_picked)
        view.hovered.connect(self._on_hovered)
        view.left.connect(self._on_left)
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
        marks = marks_of(session.measurements, session.checks, session.choice, line)
        new = picture(session.choice, session.needs, self._largest(), marks, self._note())
        if new != self.picture:
            self.picture = new
            self._view.show_picture(new)

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

    def _on_picked(self, key: tuple[Precision, int], batch: float) -> None:
        precision, gpus = key
        share = gpus * self._session.choice.setup.accumulate
        rounded = max(1, round(batch / share)) * share
        self._session.choose_setup(precision=self._same_memory(precision, gpus), gpus=gpus, batch=rounded)

    def _same_memory(self, precision: Precision, gpus: int) -> Precision:
        """The chosen precision, if it is one of the line's."""
        current = self._session.choice.setup.precision
        line = next(series for series in self.picture.series if series.key == (precision, gpus))
        return current if current in line.precisions else precision

    def _on_hovered(self, key: tuple[Precision, int], batch: float, at: QPoint) -> None:
        precision, gpus = key
        setup = self._session.choice.line(precision, gpus).with_batch(round(batch))
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
            batches = [batch * chosen.share for batch in chosen.curve.batches]
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
            self._view.show_card(card_values(setup, estimate, self._appearance.theme), at)


def card_values(setup: Setup, estimate: Estimate | None, theme: Theme) -> CardValues:
    each = "" if setup.per_gpu_batch == setup.batch else f" ({setup.per_gpu_batch:,} at a time on each GPU)"
    title = f"{setup.precision}, {gpus_text(setup.gpus)}, batch {setup.batch:,}{each}"
    if estimate is None:
        return CardValues(title, "calculating …", theme.muted)
    band = f"{estimate.low_bytes / GIB:.2f} to {estimate.high_bytes / GIB:.2f}"
    said = f"{format_bytes(estimate.peak_bytes)} in use ({band} GiB)"
    if estimate.headroom_bytes is not None:
        left = estimate.headroom_bytes
        said += f", {format_bytes(left)} left" if left >= 0 else f", {format_bytes(-left)} too much"
    if estimate.source is not Source.ESTIMATE:
        said += f", {FROM[estimate.source]}"
    if estimate.verdict is not None:
        said = f"{str(estimate.verdict).capitalize()}: {said}"
    colour = theme.verdict(estimate.verdict)
    rows = tuple(
        CardRow(theme.term(Term(term)), term, format_bytes(size))
        for term, size in sorted(estimate.breakdown.items(), key=lambda pair: -pair[1])
    )
    return CardValues(title, said, colour, rows)


def make(session: Session, appearance: Appearance, *, log: bool = True) -> Panel:
    view = ChartView(appearance.theme)
    view.set_log(log)
    presenter = ChartPresenter(session, view, appearance)
    return Panel("Chart", view, Qt.DockWidgetArea.NoDockWidgetArea, picture=view, table=presenter.table)
