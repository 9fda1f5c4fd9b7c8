"""A page of everything about the open model and setup: what is known is collected in the background, then drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from planner_app.core.estimate.estimate import Estimate, estimate
from planner_app.core.estimate.need import Need
from planner_app.core.model.setup import Setup
from planner_app.errors import PlannerError, SetupError
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.captions import caption_of
from planner_app.gui.frame.panel import Panel
from planner_app.gui.look import export
from planner_app.gui.look.plot.pens import at_scale
from planner_app.gui.look.sheet import Caption, scale_of, svg_sheet
from planner_app.gui.look.theme import LIGHT
from planner_app.gui.panels.layers.treemap import Treemap
from planner_app.gui.panels.layers.values import LayerRow, layer_rows
from planner_app.gui.panels.timeline.plot import TimelinePlot
from planner_app.gui.panels.timeline.values import Course, CourseOf, TimelineValues, spans
from planner_app.gui.state.session import Session
from planner_app.reports.html.answers import estimate_html
from planner_app.reports.html.whole_page import Section, whole_page

LAYERS = ("layer", "class", "weights_bytes", "gradients_bytes", "optimizer_bytes", "activation_bytes", "peak_bytes")
# Panels whose numbers are in the page already, or which are not about the result.
TOLD = ("Chart", "Breakdown", "Timeline", "Layers", "Devices", "Doctor")


@dataclass(frozen=True, slots=True)
class Known:
    estimate: Estimate
    course: Course


class ReportMaker(QObject):
    saved = Signal(str)
    failed = Signal(str)

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._slot = TaskSlot(session.start, self)
        self._slot.failed.connect(lambda why, _detail: self.failed.emit(why))

    def save(self, path: str, panels: Mapping[str, Panel]) -> None:
        """
        Raises:
            SetupError: There is nothing to report on yet.
        """
        setup, need = self._session.choice.setup, self._session.need(self._session.choice.setup)
        if need is None or not need.memory.points:
            raise SetupError(
                "The chosen setup is not traced yet: wait for its line on the chart, then save the report."
            )
        self._slot.run(lambda _task: collect(need, setup), lambda known: self._write(path, known, panels))

    def _write(self, path: str, known: Known, panels: Mapping[str, Panel]) -> None:
        try:
            export.save(path, self.page(known, panels).encode())
        except PlannerError as error:
            self.failed.emit(str(error))
        else:
            self.saved.emit(path)

    def page(self, known: Known, panels: Mapping[str, Panel]) -> str:
        session, caption = self._session, caption_of(self._session)
        description = session.description
        rows = layer_rows(known.estimate, description) if description else ()
        sections = [Section("The answer", html=estimate_html(known.estimate))]
        if "Chart" in panels:
            chart = panels["Chart"]
            sections.append(_numbered("Memory over the batch", _svg(lambda: export.figure_of(chart), caption), chart))
        layers = [
            (row.name, row.class_name, row.weights_bytes, row.gradients_bytes, row.optimizer_bytes,
             row.activation_bytes, row.peak_bytes)
            for row in sorted(rows, key=lambda row: -row.peak_bytes)
        ]  # fmt: skip
        sections.append(Section("Layers", _svg(lambda: _treemap(rows), caption), header=LAYERS, rows=layers))
        sections.append(Section("One training step", _svg(lambda: _step(known.course), caption)))
        others = (panel for title, panel in panels.items() if title not in TOLD and panel.table is not None)
        sections += [found for panel in others if (found := _numbered(panel.title, "", panel)).rows]
        facts = (caption.setup, caption.origin, *(description.warnings if description else ()))
        return whole_page(Path(session.path).name, facts, sections)


def collect(need: Need, setup: Setup) -> Known:
    """Takes seconds for a large model."""
    return Known(estimate(need, setup), CourseOf(need.memory, setup.per_gpu_batch).answer())


def _treemap(rows: Sequence[LayerRow]) -> QWidget:
    drawn = Treemap(LIGHT)
    drawn.show_rows(rows)
    return drawn


def _step(course: Course) -> QWidget:
    drawn = TimelinePlot(LIGHT)
    drawn.set_theme(LIGHT)
    drawn.show_values(TimelineValues(course=course, spans=spans(course)))
    return drawn


def _svg(make: Callable[[], QWidget], caption: Caption) -> str:
    """Made where its pens know that it is for paper."""
    with at_scale(scale_of("svg")):
        return svg_sheet(make(), caption).decode()


def _numbered(title: str, figure: str, panel: Panel) -> Section:
    table = panel.table() if panel.table is not None else None
    return Section(title, figure, header=table.header if table else (), rows=table.rows if table else ())
