"""Shows every layer's memory; a layer chosen here is highlighted everywhere."""

from dataclasses import replace

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from planner_app.core.estimate.estimate import Estimate
from planner_app.core.model.wiring import Edge, edges
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import LIGHT, Appearance
from planner_app.gui.panels.breakdown.values import setup_text
from planner_app.gui.panels.layers.treemap import Treemap
from planner_app.gui.panels.layers.values import LayersValues, layer_rows
from planner_app.gui.panels.layers.view import LayersView
from planner_app.gui.state.session import Session
from planner_app.planner.opening import Opened

ASKER = "layers"


class LayersPresenter(QObject):
    def __init__(self, session: Session, view: LayersView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view = session, view
        self._shown: Estimate | None = None
        self._wiring: tuple[Opened | None, tuple[Edge, ...]] = (None, ())
        self.values = LayersValues()
        signals = (session.model_changed, session.choice_changed, session.memories_changed)
        for signal in (*signals, session.answers.answered, view.shown):
            signal.connect(self._refresh)
        session.layer_changed.connect(self._on_layer_changed)
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        view.layer_picked.connect(session.highlight)
        self._refresh()

    def table(self) -> Table:
        header = ("layer", "class", "output", "parameters", "weights_bytes", "gradients_bytes", "optimizer_bytes")
        rows = [
            (row.path, row.class_name, row.shape, row.params, row.weights_bytes, row.gradients_bytes,
             row.optimizer_bytes, row.activation_bytes, row.peak_bytes)
            for row in self._view.sorted.shown
        ]  # fmt: skip
        return Table((*header, "activation_bytes", "peak_bytes"), rows)

    def _refresh(self) -> None:
        if not self._view.isVisible():
            return
        values = self._resolved()
        if values != self.values:
            again = values.rows is not self.values.rows
            self.values = values
            self._view.show_values(values)
            if again:
                self._on_layer_changed()

    def _resolved(self) -> LayersValues:
        session, setup = self._session, self._session.choice.setup
        if session.description is None:
            return LayersValues()
        question = session.estimate_of(setup)
        if question is None or not question.need.memory.points:
            self._shown = None
            return LayersValues(note=session.trouble(setup) or "Tracing the training step …")
        estimate = session.answers.ask_one(ASKER, question)
        if estimate is None:
            return replace(self.values, note="Calculating …")
        if estimate is self._shown and not self.values.note:
            return self.values
        self._shown = estimate
        rows = layer_rows(estimate, session.description)
        return LayersValues(setup_text(setup), rows, estimate.peak_bytes, edges=self._wired())

    def _wired(self) -> tuple[Edge, ...]:
        """Read once for each model."""
        opened = self._session.opened
        if opened is not None and self._wiring[0] is not opened:
            self._wiring = (opened, edges(opened.checked.config))
        return self._wiring[1]

    def _on_layer_changed(self) -> None:
        self._view.select(self._session.layer)


def make(session: Session, appearance: Appearance) -> Panel:
    view = LayersView(appearance.theme)
    presenter = LayersPresenter(session, view, appearance)
    area = Qt.DockWidgetArea.BottomDockWidgetArea

    def figure() -> QWidget:
        if view.table_button.isChecked():
            drawn = LayersView(LIGHT)
            drawn.show_for_paper(presenter.values)
            return drawn
        treemap = Treemap(LIGHT)
        treemap.show_rows(presenter.values.rows)
        return treemap

    return Panel(
        "Layers", view, area, view.stack, presenter.table, shortcut="Alt+6", find=view.start_search, figure=figure
    )
