"""Brings the chosen setup into the panel's fields and what is changed there back to the session."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QPalette

from planner_app.core.model.setup import parse_optimizer
from planner_app.errors import PlannerError
from planner_app.gui.choice import Choice
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panel import Panel
from planner_app.gui.panels.setup.values import parse_counts, parse_patterns, parse_sizes, remat_of, setup_values
from planner_app.gui.panels.setup.view import SetupView
from planner_app.gui.session import Session

CONTINUOUS = ("batch", "gpus", "accumulate")  # come in many small changes that are undone as one

Change = Callable[[Choice, object], Choice]


def _sizes(choice: Choice, told: object) -> Choice:
    name, text = told  # type: ignore[misc]
    return choice.with_setup(sizes=parse_sizes(choice.setup.sizes, name, text))


CHANGES: dict[str, Change] = {
    "optimizer": lambda choice, told: choice.with_setup(optimizer=parse_optimizer(str(told))),
    "freeze": lambda choice, told: choice.with_setup(freeze=parse_patterns(str(told))),
    "remat": lambda choice, told: choice.with_setup(remat=remat_of(*told)),  # type: ignore[misc]
    "loss": lambda choice, told: choice.with_setup(loss=str(told).strip()),
    "sizes": _sizes,
    "precisions": lambda choice, told: replace(choice, precisions=told),  # type: ignore[arg-type]
    "gpu_counts": lambda choice, told: replace(choice, gpu_counts=parse_counts(str(told))),
}


class SetupPresenter(QObject):
    def __init__(self, session: Session, view: SetupView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        for signal in (session.model_changed, session.choice_changed, session.memories_changed):
            signal.connect(self._refresh)
        appearance.changed.connect(self._paint)
        view.changed.connect(self._on_changed)
        view.settled.connect(session.rest)
        self._paint()
        self._refresh()

    def _refresh(self) -> None:
        session = self._session
        memory = session.memory(session.choice.setup)
        self._view.show_values(setup_values(session.choice, session.description, memory))
        self._view.show_trouble(session.trouble(session.choice.setup))

    def _on_changed(self, name: str, told: object) -> None:
        change = CHANGES.get(name, lambda choice, value: choice.with_setup(**{name: value}))
        try:
            self._session.choose(lambda choice: change(choice, told), mark=name if name in CONTINUOUS else "")
        except PlannerError as error:
            self._view.show_trouble(str(error))

    def _paint(self) -> None:
        palette = self._view.trouble.palette()
        palette.setColor(QPalette.ColorRole.WindowText, self._appearance.theme.bad)
        self._view.trouble.setPalette(palette)


def make(session: Session, appearance: Appearance) -> Panel:
    view = SetupView()
    SetupPresenter(session, view, appearance)
    return Panel("Setup", view, Qt.DockWidgetArea.LeftDockWidgetArea, shortcut="Alt+1")
