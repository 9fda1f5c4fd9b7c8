"""Shows the chosen setup's step on the timeline; a layer chosen here is highlighted everywhere."""

from dataclasses import replace
from operator import is_

from PySide6.QtCore import QObject, Qt

from planner_app.core.estimate.estimate import Estimate
from planner_app.core.estimate.level import Level, Source
from planner_app.core.estimate.need import Need
from planner_app.core.replay.memory import Memory
from planner_app.gui.background.answers import EstimateOf
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import LIGHT, Appearance
from planner_app.gui.panels.breakdown.values import setup_text
from planner_app.gui.panels.timeline.values import (
    Course,
    CourseOf,
    LayerOf,
    Span,
    TimelineValues,
    held_rows,
    layer_line,
    measured_line,
    spans,
)
from planner_app.gui.panels.timeline.view import TimelineView
from planner_app.gui.state.session import Session
from planner_app.units import format_bytes

ASKER = "timeline"


class TimelinePresenter(QObject):
    def __init__(self, session: Session, view: TimelineView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view = session, view
        self._memory: Memory | None = None
        self._key: tuple[object, ...] = ()
        self._spans: tuple[Course | None, tuple[Span, ...]] = (None, ())
        self.values = TimelineValues()
        session.model_changed.connect(self._forget)
        signals = (session.model_changed, session.choice_changed, session.memories_changed, session.layer_changed)
        for signal in (*signals, session.measurements_changed, session.answers.answered, view.shown):
            signal.connect(self._refresh)
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        view.layer_picked.connect(self._on_layer_picked)
        self._refresh()

    def table(self) -> Table:
        course = self.values.course
        if course is None:
            return Table(("operation",), [])
        shown = course.stack
        rows = []
        for place in range(len(shown.moves)):
            source = shown.source(place)
            sizes = (int(size[place]) for size in shown.terms.values())
            rows.append((source.name, source.layer, str(source.phase), *sizes, int(shown.in_use[place])))
        header = ("operation", "layer", "phase", *(f"{term} bytes" for term in shown.terms), "in use bytes")
        return Table(header, rows)

    def _forget(self) -> None:
        """Forget the closed model, whose steps take memory, visible or not."""
        self._memory, self._key, self._spans, self.values = None, (), (None, ()), TimelineValues()
        self._view.show_values(self.values)

    def _refresh(self) -> None:
        if self._view.isVisible() and (values := self._resolved()) is not None:
            self.values = values
            self._view.show_values(values)

    def _resolved(self) -> TimelineValues | None:
        """None if nothing has changed: this is called after every answer to any asker."""
        session, choice = self._session, self._session.choice
        setup, batch = choice.setup, choice.setup.per_gpu_batch
        memory = session.memory(setup)
        if memory is None or not memory.points:
            self._memory, self._key = None, ()
            waiting = session.trouble(setup) or "Tracing the training step …"
            return TimelineValues(note=waiting if session.opened else "")
        layer = [LayerOf(memory, batch, session.layer)] if session.layer else []
        estimate = session.answers.ask_one(f"{ASKER}'s peak", EstimateOf(Need(memory, choice.device), setup))
        layers = session.answers.ask(f"{ASKER}'s layer", layer, passing=True)
        (course,) = session.answers.ask(ASKER, [CourseOf(memory, batch)], passing=True)
        if course is None:  # the last picture stays if it shows the same line
            kept = self.values if memory is self._memory else TimelineValues()
            self._memory, self._key = memory, ()
            return None if kept.note else replace(kept, note="Calculating …")
        level = (session.need(setup) or Need(memory, choice.device)).level(batch)
        key = (memory, setup, session.layer, level, course, estimate, *layers, session.measurements)
        if key[:4] == self._key[:4] and len(key) == len(self._key) and all(map(is_, key[4:], self._key[4:])):
            return None
        self._memory, self._key = memory, key
        return TimelineValues(
            title=setup_text(setup),
            course=course,
            spans=self._spans_of(course),
            peak=_peak(estimate) if estimate else "",
            operation=estimate.peak_operation if estimate else "",
            compiler=_compiler(level),
            held=held_rows(estimate) if estimate else (),
            layer=layer_line(course, session.layer, layers[0]) if layers and layers[0] else None,
            measured=measured_line(session.measurements, setup),
        )

    def _spans_of(self, course: Course) -> tuple[Span, ...]:
        """Computed once for each course: devices share it."""
        if course is not self._spans[0]:
            self._spans = (course, spans(course))
        return self._spans[1]

    def _on_layer_picked(self, layer: str) -> None:
        """Choosing the same layer again removes the highlight."""
        self._session.highlight("" if layer == self._session.layer else layer)


def _peak(estimate: Estimate) -> str:
    where = f" in {estimate.peak_layer}" if estimate.peak_layer else ""
    phase = f", {estimate.peak_phase}" if estimate.peak_phase else ""
    return f"Peak {format_bytes(estimate.peak_bytes)}{where}{phase}"


def _compiler(level: Level) -> str:
    """Its program is not replayed: the timeline is the estimate's."""
    return "" if level.source is Source.ESTIMATE else format_bytes(level.peak_bytes)


def make(session: Session, appearance: Appearance) -> Panel:
    view = TimelineView(appearance.theme)
    presenter = TimelinePresenter(session, view, appearance)
    area = Qt.DockWidgetArea.BottomDockWidgetArea

    def figure() -> TimelineView:
        drawn = TimelineView(LIGHT)
        drawn.show_values(presenter.values)
        return drawn

    return Panel("Timeline", view, area, picture=view, table=presenter.table, shortcut="Alt+5", figure=figure)
