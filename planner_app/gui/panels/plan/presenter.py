"""Shows the plan of the chosen setup; saves it, opens others, and copies their training scripts."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from planner_app.core.plan.ladder import needed_steps
from planner_app.core.plan.pipeline import host_warning
from planner_app.core.plan.plan import Plan
from planner_app.core.plan.script import script_of
from planner_app.errors import PlanError, PlannerError
from planner_app.files.host import available_bytes
from planner_app.files.plans import read_plan, write_plan
from planner_app.foreign_text import for_file_name
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.plan.values import PlanOf, PlanValues, opened_choice, request_of, rung_rows
from planner_app.gui.panels.plan.view import PlanView
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.session import Session

ASKER = "plan"
ENDING = ".plan.json"
NO_MODEL = "Open a model to plan its training, or open a saved plan."
TRACING = "Tracing the training step, plain and with accumulation …"
WORKING = "Calculating …"
FIELDS = ("device", "number", "at_a_time", "steps", "precision", "compiled", "peak_bytes", "low_bytes", "high_bytes",
          "capacity_bytes")  # fmt: skip


class PlanPresenter(QObject):
    def __init__(self, session: Session, view: PlanView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self._opened: tuple[Plan, str, Choice] | None = None  # a file's plan, and the resulting choice
        self._saved = ""
        self.values = PlanValues()
        signals = (session.model_changed, session.choice_changed, session.memories_changed, session.answers.answered)
        for signal in (*signals, view.terms_changed):
            signal.connect(self._refresh)
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        view.shown.connect(self._on_shown)
        view.save_clicked.connect(self._on_save_clicked)
        view.copy_clicked.connect(self._on_copy_clicked)
        view.open_clicked.connect(self._on_open_clicked)

    def table(self) -> Table:
        rows = rung_rows(self.values.plan) if self.values.plan is not None else []
        return Table(FIELDS, [[getattr(row, name) for name in FIELDS] for row in rows])

    def open_plan(self, path: str) -> None:
        """Show a plan file and choose its first rung, on the chosen device or the plan's own."""
        try:
            plan = read_plan(path)
            choice = opened_choice(self._session.choice, plan)
        except PlannerError as error:
            self._view.say(str(error), trouble=True)
            return
        self._opened = (plan, Path(path).name, choice)
        self._session.choose(lambda _: choice)
        self._view.say("Its setup and device are now chosen.")
        self._refresh()

    def save_plan(self, path: str) -> None:
        if self.values.plan is None:
            return
        written = path if path.endswith(".json") else f"{path}{ENDING}"
        try:
            write_plan(written, self.values.plan)
        except PlannerError as error:
            self._view.say(str(error), trouble=True)
            return
        self._saved = Path(written).name
        self._view.say(f'Saved. Load it in a script with load_plan("{self._saved}").')
        self._view.show_values(self.values, self._file(), self._appearance.theme)

    # Showing

    def _refresh(self) -> None:
        if not self._view.isVisible():
            return
        if self._opened is not None and self._opened[2] != self._session.choice:
            self._opened = None
            self._view.say("")
        self._put(self._live() if self._opened is None else self._of_file(*self._opened))

    def _of_file(self, plan: Plan, name: str, _: Choice) -> PlanValues:
        opened = self._session.opened
        if opened is None:
            return PlanValues(plan, name, f"Open {plan.model.file} to see its chart.")
        if opened.checked.sha256 != plan.model.sha256:
            return PlanValues(plan, name, f"This plan was made for {plan.model.file}; a different model is open.")
        return PlanValues(plan, name)

    def _live(self) -> PlanValues:
        session, choice = self._session, self._session.choice
        if session.planner is None:
            return PlanValues(note=NO_MODEL)
        try:
            request = request_of(choice, self._view.fields.terms())
        except PlanError as error:
            return PlanValues(note=str(error), bad=True)
        steps = needed_steps(request)
        session.trace_also(ASKER, steps)
        there = tuple((step, session.memories[step]) for step in steps if step in session.memories)
        if len(there) < len(steps):
            accumulating = replace(choice.setup, batch=2 * choice.setup.batch, accumulate=2)
            trouble = session.trouble(choice.setup) or session.trouble(accumulating)
            return PlanValues(note=trouble or TRACING, bad=bool(trouble))
        planner, lines = session.planner, session.planner.lines
        known = planner.calibrations, lines.known, lines.figures
        question = PlanOf(planner.model, planner.file, request, there, *known)
        found = session.answers.ask(ASKER, [question], passing=True)[0]
        self._view.set_current(found is not None)
        if found is None:  # the last plan stays visible until there is another
            return self.values if self.values.plan is not None and not self.values.file else PlanValues(note=WORKING)
        if isinstance(found, str):
            return PlanValues(note=found, bad=True)
        return self.values if found is self.values.plan else PlanValues(found, note=_host(found))

    def _put(self, values: PlanValues) -> None:
        if values != self.values:
            if values.plan != self.values.plan:
                self._saved = ""
            self.values = values
            self._view.show_values(values, self._file(), self._appearance.theme)

    def _file(self) -> str:
        """The file name under which a script looks for the plan."""
        if self.values.file or self._saved:
            return self.values.file or self._saved
        plan = self.values.plan
        return f"{for_file_name(Path(plan.model.file.partition(':')[0]).stem)}{ENDING}" if plan is not None else ""

    # Working

    def _on_shown(self, on: bool) -> None:
        if on:
            self._refresh()
        else:
            self._session.trace_also(ASKER, ())

    def _on_save_clicked(self) -> None:
        beside = Path(self._session.path).parent if self._session.path else Path()
        path, _ = QFileDialog.getSaveFileName(
            self._view, "Save the plan", str(beside / self._file()), f"Plans (*{ENDING})"
        )
        if path:
            self.save_plan(path)

    def _on_copy_clicked(self) -> None:
        if self.values.plan is not None:
            QGuiApplication.clipboard().setText(script_of(self.values.plan, self._file()))
            self._view.say(f"Copied a script that loads its plan from {self._file()}.")

    def _on_open_clicked(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._view, "Open a plan", "", f"Plans (*{ENDING} *.json)")
        if path:
            self.open_plan(path)


def _host(plan: Plan) -> str:
    free = available_bytes()
    return host_warning(plan.input, free) if free else ""


def make(session: Session, appearance: Appearance) -> Panel:
    view = PlanView(appearance.theme)
    presenter = PlanPresenter(session, view, appearance)
    return Panel(
        "Plan", view, picture=view.pages, table=presenter.table, shortcut="Ctrl+Shift+P", open=presenter.open_plan
    )
