"""Starts the app: Qt, one place for errors nobody foresaw, and the window."""

import os
import signal
import sys
import traceback
from types import TracebackType

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
    """Until the window is closed; with `picture`, until it has been drawn into that file."""
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
    app.window.show()
    app.look_for_python()
    if path is not None:
        QTimer.singleShot(0, lambda: app.open(path))
    portrait = Portrait(app, picture) if picture else None
    if portrait is not None:
        sys.excepthook = portrait.give_up  # nobody sits in front of a window that could tell them
    awake = _let_python_hear_signals(app)
    code = qt.exec()
    awake.stop()
    garbage.close()
    return code if portrait is None else portrait.code


def _starting(kind: QtMsgType, text: str, said: list[str]) -> None:
    """Where Qt can't reach a screen it ends the process, with ten lines and a core dump: one line will do."""
    if kind is not QtMsgType.QtFatalMsg:
        said.append(text.strip().rstrip("."))
        return
    sys.stderr.write(
        f"plimsoll: There is no screen that can be drawn on ({'; '.join(dict.fromkeys(said[:2]))}): `plimsoll --help` "
        "lists what works in a terminal, and `plimsoll MODEL --picture FILE.png` draws the window into a file.\n"
    )
    sys.stderr.flush()
    os._exit(1)


def _without_hints(_kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    """What a platform without a screen says of every window means nothing to anybody."""
    if "propagateSizeHints" not in text:
        sys.stderr.write(f"{text}\n")


def _let_python_hear_signals(app: App) -> QTimer:
    """Python acts on Ctrl-C only while it runs, and Qt's loop is not Python."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: app.window.close())
    timer = QTimer()
    timer.start(300)
    timer.timeout.connect(lambda: None)
    return timer


def _report(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
    """A bug: said, written to standard error, and survived."""
    text = "".join(traceback.format_exception(kind, error, at))
    sys.stderr.write(for_terminal(text))
    if issubclass(kind, KeyboardInterrupt) or QApplication.instance() is None:
        return
    box = QMessageBox(
        QMessageBox.Icon.Critical,
        "Plimsoll",
        f"Something went wrong that should not: {kind.__name__}. The rest goes on working.",
    )
    box.setInformativeText("Please report it together with the details.")
    box.setDetailedText(text)
    box.exec()
