"""Decides which page is shown: the first one, a model's, or a log's."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from planner_app.core.model.at_once import state_at_once
from planner_app.core.model.description import CheckedModel
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.centre.remedy import in_the_app, remedy_for
from planner_app.gui.panels.centre.view import CentreView
from planner_app.gui.panels.centre.waiting_page import TRACING
from planner_app.gui.state.session import Session
from planner_app.gui.state.source import ModelSource


class CentrePresenter(QObject):
    """Tabs are those of the open models, then that of the log, if there is one."""

    panels_wanted = Signal(bool)  # whether there is something for the panels around the centre to show
    log_closed = Signal()

    def __init__(self, session: Session, view: CentreView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view = session, view
        self._log = ""  # its name; empty if there is none
        self._on_log = self._asked = False
        self.has_panels = False
        session.model_changed.connect(self._on_model_changed)
        for signal in (session.models_changed, session.memories_changed):
            signal.connect(self._show)
        session.opening_changed.connect(self._on_opening_changed)
        session.checked.connect(self._on_checked)
        session.progressed.connect(self._on_progressed)
        session.failed.connect(self._on_failed)
        session.cancelled.connect(view.waiting.show_stopped)
        for page in (view.first, view.waiting):
            page.cancel_clicked.connect(session.cancel)
        view.waiting.resume_clicked.connect(self._on_resume_clicked)
        view.tab_chosen.connect(self._on_tab_chosen)
        view.tab_closed.connect(self._on_tab_closed)
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        self._show()

    @property
    def page(self) -> QWidget | None:
        return self._view.stack.currentWidget()

    @property
    def on_log(self) -> bool:
        return self._on_log

    def add_chart(self, chart: QWidget) -> None:
        self._view.model.add_chart(chart)

    def want_panels(self) -> None:
        """Panels are asked for, whatever they have to show."""
        self._asked = True
        self._turn(on_log=False)

    def show_log(self, name: str) -> None:
        self._log = name or "Log"
        self._view.notice.hide()
        self._turn(on_log=True)

    def show_model(self) -> None:
        """Leave the log, which keeps its tab."""
        self._turn(on_log=False)

    def close_log(self) -> None:
        self._log = ""
        self.log_closed.emit()
        self._turn(on_log=False)

    def _turn(self, *, on_log: bool) -> None:
        self._on_log = on_log
        self._show()

    def _show(self) -> None:
        session, view = self._session, self._view
        names = [model.source.name for model in session.models]
        current = session.models.index(session.model) if session.model in session.models else -1
        if self._log:
            names.append(self._log)
            current = len(names) - 1 if self._on_log else current
        elif not session.models and session.opening:
            names = []
        view.show_tabs(tuple(names), current)
        if self._on_log:
            view.show_page(view.log)
        elif session.model is None:
            view.show_page(view.first)
        else:
            view.show_page(view.model if self._has_line() else view.waiting)
        self._show_panels(not self._on_log and (self._asked or view.stack.currentWidget() is view.model))

    def _has_line(self) -> bool:
        """Whether there is anything to draw, or a reason why there is not."""
        model = self._session.model
        return model is not None and bool(model.troubles or any(each.points for each in model.memories.values()))

    def _show_panels(self, on: bool) -> None:
        if on is not self.has_panels:
            self.has_panels = on
            self.panels_wanted.emit(on)

    def _on_model_changed(self) -> None:
        model = self._session.model
        self._asked = self._asked and model is not None
        if model is None:
            self._view.first.show_welcome()
        else:
            self._view.waiting.show_model(model.source.name, state_at_once(model.opened.checked))
        self._turn(on_log=self._on_log and self._session.model is None)

    def _on_opening_changed(self) -> None:
        session = self._session
        if session.opening:
            self._view.notice.hide()
            self._view.first.show_working(ModelSource(session.opening).name, "reading the file")
        elif session.model is None and session.refused is None:
            self._view.first.show_welcome()
        self._show()

    def _on_checked(self, checked: CheckedModel) -> None:
        self._view.first.at_once.show_state(state_at_once(checked))

    def _on_progressed(self, _done: int, _of: int, text: str) -> None:
        self._view.waiting.show_activity(text)
        if self._session.opening and text:
            name = ModelSource(self._session.opening).name
            self._view.first.show_working(name, text.removeprefix(f"{name}: "))

    def _on_failed(self, why: str, detail: str) -> None:
        source = self._session.refused
        remedy = None if source is None else remedy_for(source, why)
        if self._session.model is None and not self._on_log:
            self._view.first.show_trouble(in_the_app(why), detail, remedy)
        else:
            self._view.notice.say(in_the_app(why), detail, remedy)

    def _on_resume_clicked(self) -> None:
        self._view.waiting.show_activity(TRACING)
        self._session.trace()

    def _on_tab_chosen(self, number: int) -> None:
        models = self._session.models
        if number < len(models):
            self._session.show_model(models[number])
            self._turn(on_log=False)
        elif self._log:
            self._turn(on_log=True)

    def _on_tab_closed(self, number: int) -> None:
        models = self._session.models
        if number < len(models):
            self._session.close_model(models[number])
        else:
            self.close_log()
