"""Shows the verdict of the chosen setup, and looks for the cheapest changes when it does not fit."""

from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from planner_app.core.advise import Advice
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.files.devices.catalogue import catalogue
from planner_app.gui.background.answers import LargestOf
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.headline.values import PLAN, HeadlineValues, Step, headline, waiting
from planner_app.gui.panels.headline.view import HeadlineView
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.session import Session
from planner_app.planner.advise import advice_request

REST_MS = 600  # a slider has come to rest
LOOKING = "Looking for the cheapest changes that make it fit …"
FURTHER = "Looking for more …"
NOTHING = "None of the changes tried makes it fit. The Advice panel shows what helps."


class HeadlinePresenter(QObject):
    plan_wanted = Signal()

    def __init__(self, session: Session, view: HeadlineView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self.slot = TaskSlot(session.start, self)
        self.values = HeadlineValues()
        self._advice: Advice | None = None
        self._held: Advice | None = None  # until the pointer has left the buttons
        self._asked: tuple[Setup, Device] | None = None  # for which the cheapest changes are looked for, or were found
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._look)
        for signal in (session.choice_changed, session.memories_changed, session.answers.answered):
            signal.connect(self._refresh)
        session.model_changed.connect(self._on_model_changed)
        session.progressed.connect(self._refresh_later)
        self.slot.partial.connect(self._on_advised)
        view.left.connect(self._on_left)
        self.slot.failed.connect(self._refresh_later)
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        view.step_clicked.connect(self._on_step_clicked)

    def _refresh_later(self, *_told: object) -> None:
        self._refresh()

    def _refresh(self) -> None:
        session, choice = self._session, self._session.choice
        if session.opened is None:
            return
        if self.slot.busy and self._asked != (choice.setup, choice.device):  # the workers have better things to do
            self._asked = None
            self.slot.drop()
        need = session.need(choice.setup)
        if need is None or not need.memory.points:
            trouble = session.trouble(choice.setup)
            self._put(waiting(choice, trouble))
            return
        most, sure = session.answers.ask("headline", [LargestOf(need), LargestOf(need, sure=True)])
        values = headline(choice, need, most, sure, self._advice)
        if values.verdict is not None and values.verdict is not Verdict.FITS:
            values = self._with_note(values, choice)
        self._put(values)

    def _with_note(self, values: HeadlineValues, choice: Choice) -> HeadlineValues:
        chosen = (choice.setup, choice.device)
        if self._asked != chosen:
            self._rest.start()
        if any(step.setup is not None for step in values.steps):
            return replace(values, note=FURTHER) if self.slot.busy else values
        return replace(values, note=LOOKING if self._asked != chosen or self.slot.busy else NOTHING)

    def _put(self, values: HeadlineValues) -> None:
        if values != self.values:
            self.values = values
            self._view.show_values(values, self._appearance.theme)

    def _look(self) -> None:
        """Once the chart's lines are there, since both need the workers."""
        session, choice = self._session, self._session.choice
        planner, description = session.planner, session.description
        if (
            planner is None
            or description is None
            or (choice.setup, choice.device) == self._asked
            or not self._view.isVisible()
        ):
            return
        if session.tracing:
            self._rest.start()
            return
        self._asked, self._held = (choice.setup, choice.device), None
        others = catalogue().devices if choice.device.cuda else ()
        request = advice_request(choice.setup, choice.device, description, others)

        def work(task: Task) -> Advice:
            return planner.advise(request, on_part=task.publish, cancelled=task.cancelled)

        self.slot.run(work, self._on_advised)
        self._refresh()

    def _on_advised(self, advice: Advice) -> None:
        """Buttons must not move away from under the pointer."""
        if self._view.underMouse() and any(step.setup is not None for step in self.values.steps):
            self._held = advice
        else:
            self._advice, self._held = advice, None
        self._refresh()

    def _on_left(self) -> None:
        if self._held is not None:
            self._on_advised(self._held)

    def _on_step_clicked(self, step: Step) -> None:
        if step == PLAN:
            self.plan_wanted.emit()
        elif step.setup is not None and step.device is not None:
            setup, device = step.setup, step.device
            self._session.choose(lambda choice: replace(choice, setup=setup, device=device))

    def _on_model_changed(self) -> None:
        self.slot.drop()
        self._advice = self._held = self._asked = None
        self._refresh()
