"""Finds what makes the chosen setup fit, on request; updates with the choice as long as that needs no new trace."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer

from planner_app.core.advise import Advice, AdviceRequest, advise
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.errors import PlannerError, SetupError
from planner_app.files.devices.catalogue import catalogue
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.advice.values import AdviceValues, Row, applied_row, asked_text, rows_of
from planner_app.gui.panels.advice.view import AdviceView
from planner_app.gui.state.session import Session
from planner_app.gui.state.status import verdict
from planner_app.jobs.protocol import Progress
from planner_app.planner.advise import advice_request

REST_MS = 400  # a slider has come to rest
NO_MODEL = "Open a model to see what would make it fit."
NOT_YET = "Each change is traced, which takes some seconds: press “Get advice”."
STALE = "This list is for a different setup: get advice again."
NOTHING = "None of the changes tried makes it fit."
TABLE = ("use", "change", "code", "before bytes", "after bytes", "limit bytes", "times as long")


class AdvicePresenter(QObject):
    def __init__(self, session: Session, view: AdviceView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self.slot = TaskSlot(session.start, self)
        self._advice: Advice | None = None
        self._asked_at: tuple[Setup, Device] | None = None  # the choice when the list was requested
        self._asking_at = self._chosen()  # the same, for the list in progress
        self._tried: tuple[Setup, Device] | None = None  # the choice at the last automatic update
        self.values = AdviceValues()
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._follow)
        session.model_changed.connect(self._on_model_changed)
        for signal in (session.choice_changed, session.memories_changed, view.shown):
            signal.connect(self._refresh)
        self.slot.progressed.connect(self._on_progressed)
        self.slot.partial.connect(self._on_partial)
        self.slot.failed.connect(self._on_failed)
        self.slot.stopped.connect(self._on_stopped)
        self.slot.ended.connect(lambda: view.show_working(False))
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        view.work_clicked.connect(self._on_work_clicked)
        view.cancel_clicked.connect(self._on_cancel_clicked)
        view.applied.connect(self._on_applied)
        self._on_model_changed()

    @property
    def busy(self) -> bool:
        return self.slot.busy

    def table(self) -> Table:
        if self._advice is None:
            return Table(TABLE, [])
        rows: list[tuple[object, ...]] = []
        for helps, options in ((False, self._advice.options), (True, self._advice.helpful)):
            for each in options:
                use = "helps" if helps else str(each.verdict)
                text = "; ".join(change.text for change in each.changes)
                code = "\n".join(line for change in each.changes for line in change.code)
                sizes = (each.before_bytes, each.after_bytes, each.limit_bytes)
                rows.append((use, text, code, *sizes, "" if each.slower is None else round(each.slower, 3)))
        return Table(TABLE, rows)

    # Showing

    def _refresh(self) -> None:
        session, choice = self._session, self._session.choice
        if not self._view.isVisible():
            return
        need = session.need(choice.setup)
        if need is not None and need.memory.points:
            self._view.show_verdict(*verdict(choice, need))
        else:
            waiting = session.trouble(choice.setup) or "Tracing the training step …"
            self._view.show_verdict(waiting if session.opened else NO_MODEL, None)
        self._view.show_batch(choice.setup.batch, choice.setup.shares)
        self._show()

    def _show(self) -> None:
        advice, chosen = self._advice, self._chosen()
        if advice is None:
            self._put(AdviceValues(note=NOT_YET if self._session.opened else ""))
            return
        rows = rows_of(advice)
        applied = applied_row(rows, *chosen)
        stale = chosen != self._asked_at and applied is None
        if stale and chosen != self._tried:
            self._rest.start()
        nothing = "" if advice.fits or advice.options or advice.missing else NOTHING
        self._put(
            AdviceValues(asked_text(advice), STALE if stale else nothing or advice.calibrated, rows, applied, stale)
        )

    def _put(self, values: AdviceValues) -> None:
        if values != self.values:
            self.values = values
            self._view.show_values(values, self._appearance.theme)

    def _chosen(self) -> tuple[Setup, Device]:
        return self._session.choice.setup, self._session.choice.device

    # Working

    def _request(self, setup: Setup) -> AdviceRequest:
        description, device = self._session.description, self._session.choice.device
        if description is None:
            raise SetupError(NO_MODEL)
        return advice_request(setup, device, description, catalogue().devices if device.cuda else ())

    def _on_work_clicked(self) -> None:
        planner = self._session.planner
        if planner is None:
            self._view.show_trouble(NO_MODEL)
            return
        try:
            request = self._request(replace(self._session.choice.setup, batch=self._view.batch.value()))
        except PlannerError as error:
            self._view.show_trouble(str(error))
            return

        def work(task: Task) -> Advice:
            return planner.advise(request, on_progress=task.report, on_part=task.publish, cancelled=task.cancelled)

        self._start(work)
        self._view.show_working(True)

    def _follow(self) -> None:
        """The advice for the current choice, if all its traces exist; otherwise nothing changes."""
        planner = self._session.planner
        if self.busy or planner is None or not self._view.isVisible():
            return
        self._tried = self._chosen()
        request = self._request(self._session.choice.setup)
        self._start(lambda _: advise(request, planner.needs))

    def _start(self, work: Callable[[Task], Advice]) -> None:
        self._asking_at = self._chosen()
        self.slot.run(work, self._on_finished)

    def _on_cancel_clicked(self) -> None:
        if self.slot.busy:
            self._view.say("Cancelling …")
            self.slot.cancel()

    def _on_progressed(self, event: Progress) -> None:
        ways = 0 if self._advice is None else len(self._advice.options)
        self._view.say(f"{event.text}{f' ({ways} found so far)' if ways else ''}")

    def _on_partial(self, advice: Advice) -> None:
        """Show partial results as they arrive."""
        if advice.options:
            self._advice, self._asked_at = advice, self._asking_at
            self._show()

    def _on_finished(self, advice: Advice) -> None:
        if not advice.missing:
            self._advice, self._asked_at = advice, self._asking_at
        self._show()

    def _on_failed(self, *why_and_detail: str) -> None:
        self._view.show_trouble(*why_and_detail)

    def _on_stopped(self) -> None:
        self._view.say("Cancelled." if self._advice is None else "Cancelled; the list shows what was found so far.")

    def _on_applied(self, row: Row) -> None:
        setup, device = row.setup, row.device
        if setup is not None and device is not None:
            self._session.choose(lambda choice: replace(choice, setup=setup, device=device))

    def _on_model_changed(self) -> None:
        self.slot.drop()
        self._advice = self._asked_at = self._tried = None
        self._view.set_open(self._session.opened is not None)
        self._refresh()


def make(session: Session, appearance: Appearance) -> Panel:
    view = AdviceView(appearance.theme)
    presenter = AdvicePresenter(session, view, appearance)
    return Panel("Advice", view, picture=view, table=presenter.table, shortcut="Alt+9")
