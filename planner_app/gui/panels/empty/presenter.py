"""Shows the empty state or the chart."""

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedWidget, QWidget

from planner_app.gui.panels.empty.view import EmptyView
from planner_app.gui.session import Session


class CentrePresenter(QObject):
    """The window's centre: one page before a model is open, another after."""

    def __init__(self, session: Session, empty: EmptyView) -> None:
        super().__init__()
        self._session, self._empty = session, empty
        self.centre = QStackedWidget()
        self.centre.addWidget(empty)
        session.model_changed.connect(self._on_model_changed)
        session.progressed.connect(self._on_progressed)
        session.failed.connect(self._on_failed)
        empty.cancel_clicked.connect(session.cancel)

    def add_chart(self, chart: QWidget) -> None:
        self.centre.addWidget(chart)
        self._on_model_changed()

    def _on_model_changed(self) -> None:
        if self._session.opening:
            self._empty.show_working(Path(self._session.opening).name, "starting a worker")
        elif self._session.opened is None and self.centre.currentWidget() is not self._empty:
            self._empty.show_welcome()
        self.centre.setCurrentIndex(1 if self._session.opened is not None else 0)

    def _on_progressed(self, _done: int, _of: int, text: str) -> None:
        if self._session.opening:
            self._empty.show_working(Path(self._session.opening).name, text)
        elif self._session.opened is None and not text:
            self._empty.show_welcome()

    def _on_failed(self, why: str, detail: str) -> None:
        self._empty.show_trouble(why, detail)
