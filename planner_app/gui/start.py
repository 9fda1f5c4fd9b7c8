"""Starts the app: Qt, the handler for unexpected errors, and the window."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType, TracebackType

from PySide6.QtCore import QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QMessageBox

from planner_app import data
from planner_app.foreign_text import for_terminal
from planner_app.gui.app import App
from planner_app.gui.background.garbage import Garbage
from planner_app.gui.portrait import Portrait

ICON = data.FOLDER / "icon.svg"


def start(path: str | None = None, picture: str | None = None) -> int:
    """Runs until the window is closed or, with `picture`, until it has been drawn to that file."""
    _on_signals(lambda number, _: os._exit(128 + number))  # Qt swallows exceptions, and nothing is there to clean up
    said: list[str] = []
    qInstallMessageHandler(lambda kind, _, text: _starting(kind, text, said))
    qt = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(qt, QApplication)
    qInstallMessageHandler(_without_hints if picture else None)
    qt.setApplicationName("plimsoll")
    qt.setApplicationDisplayName("Plimsoll")
    qt.setDesktopFileName("plimsoll")
    qt.setWindowIcon(QIcon(str(ICON)))
    sys.excepthook = _report
    garbage = Garbage()
    app = App(qt)
    ended: list[int] = []
    awake = _let_python_hear_signals(app, ended)
    app.window.show()
    app.look_for_python()
    QTimer.singleShot(0, app.prepare)
    if path is not None:
        QTimer.singleShot(0, lambda: app.open(path))
    elif picture is None:
        QTimer.singleShot(0, app.reopen_last)
    portrait = Portrait(app, picture) if picture else None
    if portrait is not None:
        sys.excepthook = portrait.give_up  # there is no user to show a dialog to
    code = qt.exec()
    awake.stop()
    garbage.close()
    if ended:
        return 128 + ended[0]
    return code if portrait is None else portrait.code


def _starting(kind: QtMsgType, text: str, said: list[str]) -> None:
    """Without a screen Qt aborts with ten lines and a core dump; one line is enough."""
    if kind is not QtMsgType.QtFatalMsg:
        said.append(text.strip().rstrip("."))
        return
    sys.stderr.write(
        f"plimsoll: The app can't use a screen here ({'; '.join(dict.fromkeys(said[:2]))}): `plimsoll --help` lists "
        "the commands that work in a terminal; `plimsoll MODEL --picture FILE.png` draws the window to a file.\n"
    )
    sys.stderr.flush()
    os._exit(1)


def _without_hints(_kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    """Hides a meaningless message that platforms without a screen print for every window."""
    if "propagateSizeHints" not in text:
        sys.stderr.write(f"{text}\n")


def _on_signals(handler: Callable[[int, FrameType | None], object]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, handler)


def _let_python_hear_signals(app: App, ended: list[int]) -> QTimer:
    """Python handles Ctrl-C only while Python code runs, and Qt's event loop is not Python. Whatever ends the app is
    added to `ended`."""

    def close(number: int, _frame: FrameType | None) -> None:
        ended.append(number)
        app.window.close()

    _on_signals(close)
    timer = QTimer()
    timer.start(300)
    timer.timeout.connect(lambda: None)
    return timer


def _report(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
    """Shows a bug to the user, writes it to standard error, and continues."""
    text = "".join(traceback.format_exception(kind, error, at))
    sys.stderr.write(for_terminal(text))
    if issubclass(kind, KeyboardInterrupt) or QApplication.instance() is None:
        return
    box = QMessageBox(
        QMessageBox.Icon.Critical,
        "Plimsoll",
        f"Something unexpected went wrong: {kind.__name__}. You can go on working.",
    )
    box.setInformativeText("Please report it with the details below.")
    box.setDetailedText(text)
    box.exec()
