"""Takes whatever the user hands over (a model, code, a plan, a log) to where it belongs, and asks what is missing."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from planner_app.errors import PlannerError
from planner_app.files.kinds import Kind, kind_of
from planner_app.files.python_functions import functions_in
from planner_app.gui.look.plain_label import agreed, warn
from planner_app.gui.panels.centre.remedy import Remedy
from planner_app.gui.state.session import Session
from planner_app.gui.state.source import ModelSource

MODELS = "Models, plans and logs (*.keras *.h5 *.hdf5 *.json *.py *.log *.txt *.out *.err *.ipynb);;All files (*)"
PYTHON = "Python files (*.py)"
WHICH = "Which function makes the model?"
WHICH_DATA = "Which function returns one batch of data?"


class Opener(QObject):
    plan_given = Signal(str)
    run_given = Signal(str)
    log_file_given = Signal(str)
    log_text_given = Signal(str)

    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._window = session, window
        self.last = ModelSource("")  # what was asked for, to try again
        self.agreed_to: set[ModelSource] = set()

    # What is handed over

    def open(self, path: str) -> None:
        """Any file or folder, or `file.py:function`."""
        kind = kind_of(path)
        if kind is Kind.PLAN:
            self.plan_given.emit(path)
        elif kind is Kind.RUN:
            self.run_given.emit(path)
        elif kind is Kind.LOG:
            self.log_file_given.emit(path)
        elif path.endswith(".py"):
            if target := self._function_of(path, WHICH):
                self._open(ModelSource(target))
        else:
            self.open_source(ModelSource(path))

    def open_source(self, source: ModelSource) -> None:
        """Ask first whether code may run."""
        if not source.path:
            return
        if source.runs_code and source not in self.agreed_to and not self._agreed(source):
            return
        self._open(source)

    def take(self, data: QMimeData) -> bool:
        """Dropped or pasted: a file, or the text of a log. Whether it was of use.

        The file is opened in a turn of its own: while a question is asked, the program that it was dragged from would
        wait for the answer.
        """
        if files := [url.toLocalFile() for url in data.urls() if url.isLocalFile()]:
            QTimer.singleShot(0, self, lambda: self.open(files[0]))
            return True
        if data.hasText() and "\n" in data.text().strip():
            self.log_text_given.emit(data.text())
            return True
        return False

    def again(self) -> None:
        """After what kept it from being opened has changed."""
        if self.last.path:
            self._open(self.last)

    # What is asked

    def ask_for_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._window, "Open a saved Keras model", "", MODELS)
        if path:
            self.open(path)

    def ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self._window, "Open a SavedModel folder")
        if path:
            self.open(path)

    def ask_with_code(self) -> None:
        from planner_app.gui.panels.opening.with_code import WithCodeDialog  # seldom needed

        model = self._session.model
        source = model.source if model is not None else self.last
        dialog = WithCodeDialog(self._window, source, lambda path: self._function_of(path, WHICH_DATA))
        if dialog.exec():
            self.agreed_to.add(dialog.source)  # the dialog has said what runs
            self.open_source(dialog.source)

    def cure(self, remedy: Remedy) -> None:
        """What a model lacked when it could not be opened."""
        source = remedy.source
        if remedy.asks == "function":
            self.open(source.path)
        elif remedy.asks == "custom":
            path, _ = QFileDialog.getOpenFileName(
                self._window,
                "The Python file that defines the model's own classes",
                str(Path(source.path).parent),
                PYTHON,
            )
            if path:
                self.open_source(replace(source, custom=path))
        else:
            self._open(source)  # the button has named the package

    def _function_of(self, path: str, question: str) -> str:
        """`file.py:function`, as the user chooses; "" if there is none or none is chosen."""
        from planner_app.gui.panels.opening.function import FunctionDialog  # seldom needed

        name = Path(path).name
        try:
            found = functions_in(path)
        except PlannerError as error:
            warn(self._window, str(error))
            return ""
        if not found:
            warn(self._window, f"{name} has no function that can be called without arguments and returns the model.")
            return ""
        dialog = FunctionDialog(self._window, name, found, question)
        if not dialog.exec():
            return ""
        target = f"{path}:{dialog.chosen}"
        self.agreed_to.add(ModelSource(target))
        return target

    def _open(self, source: ModelSource) -> None:
        self.last = source
        self._session.open(source.path, source.custom, source.trust, source.data)

    def _agreed(self, source: ModelSource) -> bool:
        code = source.path if source.is_function else source.custom or source.data or ""
        question = (
            f"{code} is a program: opening it runs it with your permissions, but without network access. Do "
            "you trust it?"
        )
        if not agreed(self._window, "Run this Python file?", question):
            return False
        self.agreed_to.add(source)
        return True
