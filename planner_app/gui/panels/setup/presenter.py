"""Shows the chosen setup in the panel's fields, and applies changes to the session."""

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

from PySide6.QtCore import QObject, Qt

from planner_app.core.model.setup import OWN, Jit, Precision, parse_optimizer
from planner_app.errors import PlannerError
from planner_app.files.layouts import layout_named
from planner_app.gui.frame.panel import Panel
from planner_app.gui.look.paper import tint
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.setup.backend import with_mesh
from planner_app.gui.panels.setup.values import parse_counts, parse_patterns, parse_sizes, remat_of, setup_values
from planner_app.gui.panels.setup.view import SetupView
from planner_app.gui.state.choice import Choice, SetupChanges
from planner_app.gui.state.session import Session


class SetupPresenter(QObject):
    def __init__(self, session: Session, view: SetupView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        for signal in (session.model_changed, session.choice_changed, session.memories_changed):
            signal.connect(self._refresh)
        appearance.changed.connect(self._paint)
        self._connect(view)
        self._paint()
        self._refresh()

    def _refresh(self) -> None:
        session = self._session
        memory = session.memory(session.choice.setup)
        self._view.show_values(setup_values(session.choice, session.description, memory))
        self._view.show_trouble(session.trouble(session.choice.setup))

    def _connect(self, view: SetupView) -> None:
        set_up = self._set_up
        # Fields with a mark change in many small steps that are undone together.
        view.batch_changed.connect(lambda batch: set_up("batch", batch=batch))
        view.gpus_changed.connect(lambda gpus: set_up("gpus", gpus=gpus))
        view.accumulate_changed.connect(lambda steps: set_up("accumulate", accumulate=steps))
        view.settled.connect(self._session.rest)
        view.precision_changed.connect(lambda precision: set_up(precision=precision))
        view.jit_changed.connect(lambda jit: set_up(jit=jit))
        view.loss_changed.connect(lambda text: set_up(loss=text.strip()))
        view.freeze_changed.connect(lambda text: set_up(freeze=parse_patterns(text)))
        view.lora_changed.connect(lambda text: set_up(lora=text))
        view.quantize_changed.connect(lambda mode: set_up(quantize=mode))
        view.backend.backend_changed.connect(lambda backend: self._choose(lambda choice: choice.on_backend(backend)))
        view.backend.mesh_changed.connect(lambda text: self._choose(lambda choice: with_mesh(choice, text)))
        view.backend.layout_changed.connect(
            lambda text: self._choose(lambda choice: choice.with_setup(layout=layout_named(text)))
        )
        view.own_clicked.connect(lambda: set_up(optimizer=OWN, loss="", jit=Jit.AUTO))
        view.optimizer_changed.connect(self._on_optimizer_changed)
        view.remat_changed.connect(self._on_remat_changed)
        view.size_changed.connect(self._on_size_changed)
        view.precisions_changed.connect(self._on_precisions_changed)
        view.gpu_counts_changed.connect(self._on_gpu_counts_changed)

    def _set_up(self, mark: str = "", **changes: Unpack[SetupChanges]) -> None:
        self._choose(lambda choice: choice.with_setup(**changes), mark)

    def _choose(self, change: Callable[[Choice], Choice], mark: str = "") -> None:
        """What was typed may be invalid."""
        try:
            self._session.choose(change, mark)
        except PlannerError as error:
            self._view.show_trouble(str(error))

    def _on_optimizer_changed(self, text: str) -> None:
        self._choose(lambda choice: choice.with_setup(optimizer=parse_optimizer(text)))

    def _on_remat_changed(self, mode: str, argument: str) -> None:
        self._choose(lambda choice: choice.with_setup(remat=remat_of(mode, argument)))

    def _on_size_changed(self, name: str, text: str) -> None:
        self._choose(lambda choice: choice.with_setup(sizes=parse_sizes(choice.setup.sizes, name, text)))

    def _on_precisions_changed(self, precisions: tuple[Precision, ...]) -> None:
        self._choose(lambda choice: replace(choice, precisions=precisions))

    def _on_gpu_counts_changed(self, text: str) -> None:
        self._choose(lambda choice: replace(choice, gpu_counts=parse_counts(text)))

    def _paint(self) -> None:
        tint(self._view.trouble, self._appearance.theme.bad)
        tint(self._view.assumed, self._appearance.theme.warn)


def make(session: Session, appearance: Appearance) -> Panel:
    view = SetupView()
    SetupPresenter(session, view, appearance)
    return Panel("Setup", view, Qt.DockWidgetArea.LeftDockWidgetArea, shortcut="Alt+1")
