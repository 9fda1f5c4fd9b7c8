"""The app on a real X server, driven by keys, clicks and drops that come from the server."""

import gc
import itertools
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QEvent, QEventLoop, QMimeData, QObject, QPoint, Qt, QTimer, QUrl
from PySide6.QtGui import QDrag, QMouseEvent, QWindow
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QLineEdit, QMessageBox, QWidget

from planner_app.gui.app import App
from planner_app.gui.background.garbage import Garbage
from planner_app.gui.look.theme import Look
from planner_app.gui.state.settings import SettingsFile

PATIENCE_SECONDS = 1000  # for the busiest of machines
PICTURES = Path(__file__).parents[2] / "build" / "pictures"
Scene = Callable[["Stage", Path], None]


def turn(milliseconds: int = 30) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


class _Arrivals(QObject):
    """Counts what came from the server: on a busy machine a key arrives long after it was pressed."""

    def __init__(self, qt: QApplication) -> None:
        super().__init__(qt)
        self._counts: Counter[QEvent.Type] = Counter()
        qt.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QWindow) and (event.spontaneous() or event.type() is QEvent.Type.Drop):
            self._counts[event.type()] += 1
        return False

    def number(self, kind: QEvent.Type) -> int:
        return self._counts[kind]

    @contextmanager
    def awaited(self, kind: QEvent.Type, number: int = 1, seconds: float = 5) -> Iterator[None]:
        """Some never arrive: the release of a key whose press closed the last window that had the keyboard."""
        goal, end = self._counts[kind] + number, time.monotonic() + seconds
        yield
        while self._counts[kind] < goal and time.monotonic() < end:
            turn(10)


class Stage:
    """One app. Its settings lie in the scene's folder, so that the next app of a scene finds them."""

    def __init__(self, qt: QApplication, folder: Path, size: tuple[int, int] = (1280, 800)) -> None:
        self.qt, self.folder = qt, folder
        self.arrivals = _Arrivals(qt)
        self.app = App(qt, SettingsFile(folder / "settings.json"))
        self.app.appearance.choose(Look.LIGHT)
        self.window = self.app.window
        self.window.move(0, 0)
        self.window.resize(*size)
        self.window.show()
        self.app.prepare()
        self.focus()

    def focus(self) -> None:
        """There is no window manager to give the keyboard to the window."""
        self.window.activateWindow()
        self.until(lambda: self.window.isActiveWindow(), "the window has the keyboard")

    def close(self) -> None:
        self.window.close()
        self.window.deleteLater()
        turn(50)

    # Waiting

    def until(self, happened: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
        end = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < end, f"it did not happen: {what}"
            turn(20)
        turn(60)

    def until_pointing(self, widget: QWidget, happened: Callable[[], object], what: str) -> None:
        """Nobody holds the mouse still, and what was pointed at may move while the window settles."""
        nudges = itertools.cycle((QPoint(0, 0), QPoint(2, 1)))

        def nudged() -> object:
            self.point(widget, widget.rect().center() + next(nudges))
            return happened()

        self.until(nudged, what)

    def until_traced(self) -> None:
        session = self.app.session

        def complete() -> object:
            troubles = session.model.troubles if session.model is not None else {}
            assert not troubles, troubles
            there = session.opened is not None and all(step in session.memories for step in session.choice.steps())
            return there and session.answers.idle and self.app.panels

        self.until(complete, "the chart is complete")

    # What a person does

    def click(self, widget: QWidget | Callable[[], QWidget], at: QPoint | None = None) -> None:
        """Once it stands still under the pointer; a function finds what may be replaced meanwhile."""
        before = None
        while (place := _place(widget, at)) != before:
            _x("mousemove", place.x(), place.y())
            turn()
            before = place
        with self.arrivals.awaited(QEvent.Type.MouseButtonRelease):
            _x("click", 1)
        turn(80)

    def point(self, widget: QWidget, at: QPoint | None = None) -> None:
        place = _place(widget, at)
        with self.arrivals.awaited(QEvent.Type.MouseMove, seconds=1):
            _x("mousemove", place.x(), place.y())
        turn(60)

    def keys(self, *keys: str) -> None:
        """Names as X has them: `ctrl+k`, `alt+f`, `Return`."""
        for key in keys:
            with self.arrivals.awaited(QEvent.Type.KeyRelease, key.count("+") + 1):
                _x("key", key)
            turn(80)

    def write(self, text: str) -> None:
        with self.arrivals.awaited(QEvent.Type.KeyRelease, len(text)):
            _x("type", "--delay", 5, text)
        turn(80)

    def fill(self, field: QLineEdit, text: str) -> None:
        """Type into a field that has the keyboard, again if a key got lost on a busy machine."""
        for _ in range(5):
            self.keys("ctrl+a", "BackSpace")
            if text:
                self.write(text)
            if field.text() == text:
                break
        assert field.text() == text, field.text()

    def drop(self, target: QWidget, *, files: tuple[Path, ...] = (), text: str = "") -> None:
        """From another window, with the mouse; again if the drag did not begin or did not arrive."""
        before = self.arrivals.number(QEvent.Type.Drop)
        for _ in range(4):
            self._drag(_data(files, text), target)
            if self.arrivals.number(QEvent.Type.Drop) > before:
                break
        assert self.arrivals.number(QEvent.Type.Drop) == before + 1
        self.focus()

    def _drag(self, data: QMimeData, target: QWidget) -> None:
        source = _Source(data)
        source.setGeometry(self.window.width() + 20, 10, 120, 60)
        source.show()
        self.until(source.windowHandle().isExposed, "there is something to drag")
        start, end = source.mapToGlobal(QPoint(60, 30)), target.mapToGlobal(target.rect().center())
        moves = [
            *("mousemove", start.x(), start.y(), "sleep", 0.1, "mousedown", 1, "sleep", 0.1),
            *("mousemove", start.x() - 20, start.y() + 5, "sleep", 0.2, "mousemove", end.x(), end.y(), "sleep", 0.3),
            *("mousemove", end.x() + 3, end.y() + 3, "sleep", 0.3, "mouseup", 1),
        ]
        with self.arrivals.awaited(QEvent.Type.Drop):
            hand = subprocess.Popen(["xdotool", *map(str, moves)])
            self.until(lambda: hand.poll() is not None, "the mouse was moved")
        self.until(lambda: not source.dragging, "the drag is over")
        source.close()

    def name_file(self, path: str) -> None:
        """Type a path into the file dialog that opens next."""

        def answer() -> None:
            dialog = QApplication.activeModalWidget()
            if not isinstance(dialog, QFileDialog):
                QTimer.singleShot(100, answer)
                return
            dialog.activateWindow()
            turn(100)
            field = dialog.findChild(QLineEdit)
            assert field is not None
            self.fill(field, path)
            for _ in range(3):  # the first one may only close the list of completions
                if dialog.isVisible():
                    self.keys("Return")

        QTimer.singleShot(300, answer)

    def agree(self) -> None:
        """Say yes to the question that comes next."""

        def answer() -> None:
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, QMessageBox):
                self.click(dialog.button(QMessageBox.StandardButton.Yes))
            else:
                QTimer.singleShot(100, answer)

        QTimer.singleShot(300, answer)

    def picture(self, name: str) -> None:
        """Both looks, into build/pictures."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        for look in (Look.LIGHT, Look.DARK):
            self.app.appearance.choose(look)
            turn(150)
            assert self.window.grab().save(str(PICTURES / f"{name}_{look}.png"))
        self.app.appearance.choose(Look.LIGHT)


def _place(widget: QWidget | Callable[[], QWidget], at: QPoint | None) -> QPoint:
    found = widget if isinstance(widget, QWidget) else widget()
    return found.mapToGlobal(at if at is not None else found.rect().center())


def _data(files: tuple[Path, ...], text: str) -> QMimeData:
    data = QMimeData()
    if files:
        data.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    if text:
        data.setText(text)
    return data


class _Source(QLabel):
    """Something to drag from."""

    def __init__(self, data: QMimeData) -> None:
        super().__init__("drag me")
        self.setWindowFlags(Qt.WindowType.Tool)
        self._data: QMimeData | None = data
        self.dragging = False

    def mouseMoveEvent(self, _event: QMouseEvent) -> None:
        if self._data is not None:
            drag = QDrag(self)
            drag.setMimeData(self._data)
            self._data = None
            self.dragging = True
            drag.exec(Qt.DropAction.CopyAction)
            self.dragging = False


@contextmanager
def hold(widget: QWidget, at: QPoint) -> Iterator[None]:
    """The left button is down on a widget meanwhile."""
    place = _place(widget, at)
    _x("mousemove", place.x(), place.y())
    turn(60)
    _x("mousedown", 1)
    turn(60)
    yield
    _x("mouseup", 1)
    turn(80)


def _x(*arguments: object) -> None:
    subprocess.run(["xdotool", *map(str, arguments)], check=True)


def play(scenes: Mapping[str, Scene]) -> None:
    """`python scenes.py NAME FOLDER`."""
    qt = QApplication(["plimsoll"])
    failures: list[BaseException] = []

    def report(kind: type[BaseException], error: BaseException, at: object) -> None:
        failures.append(error)
        traceback.print_exception(error)

    sys.excepthook = report
    garbage = Garbage()
    stage = Stage(qt, Path(sys.argv[2]))
    try:
        scenes[sys.argv[1]](stage, Path(sys.argv[2]))
    finally:
        stage.close()
        garbage.close()
        gc.collect()
    assert not failures, failures
