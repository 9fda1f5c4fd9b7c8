"""Where a user sees that no Python has TensorFlow, and chooses one that has."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pictures import keep_picture
from PySide6.QtWidgets import QApplication, QDialogButtonBox
from pytestqt.qtbot import QtBot
from pythons import GOOD, make_environment, make_launcher

from planner_app.files.chosen_python import chosen_python
from planner_app.gui.app import DEMO, App
from planner_app.gui.look.theme import Look
from planner_app.gui.panels.python.view import PythonView
from planner_app.gui.state.source import ModelSource
from planner_app.jobs import interpreter as python

PATIENCE_MS = 60_000


@pytest.fixture
def app(qapp: QApplication) -> Iterator[App]:
    app = App(qapp)
    app.appearance.choose(Look.LIGHT)
    app.window.show()
    yield app
    app.window.close()
    app.window.deleteLater()
    qapp.processEvents()
    gc.collect()


def dialog(app: App) -> PythonView:
    app.actions.python.trigger()
    (view,) = app.window.findChildren(PythonView)
    return view


def usable(view: PythonView) -> bool:
    return view.buttons.button(QDialogButtonBox.StandardButton.Ok).isEnabled()


def named(view: PythonView, path: Path) -> None:
    view.path.setText(str(path))
    view.path.textEdited.emit(str(path))


def test_that_the_empty_page_says_that_a_python_is_missing_and_what_to_do(app, qtbot: QtBot, monkeypatch, tmp_path):
    monkeypatch.setenv(python.VARIABLE, str(make_environment(tmp_path / "there", {})))
    app.look_for_python()
    qtbot.waitUntil(lambda: "no TensorFlow 2.21" in app.empty.text, timeout=PATIENCE_MS)
    assert app.empty.python_button.isVisible()
    app.open(str(DEMO))
    assert not app.empty.python_button.isVisible()
    qtbot.waitUntil(lambda: "This model can't be opened" in app.empty.text, timeout=PATIENCE_MS)
    assert "-m pip install" in app.empty.text and app.empty.python_button.isVisible()
    app.window.resize(1280, 800)
    keep_picture(app.window, "no_python", app.appearance.theme)


def test_that_nothing_is_reported_while_plimsolls_own_python_is_used(app, qtbot: QtBot):
    app.look_for_python()
    assert not app.session._tasks
    assert not app.empty.python_button.isVisible()


def test_that_a_python_is_checked_before_it_can_be_chosen_and_then_kept(app, qtbot: QtBot, tmp_path):
    make_launcher(tmp_path / "path" / "python3", {"keras": "3.15.1"})
    app.opener.last = ModelSource(str(DEMO))
    view = dialog(app)
    named(view, make_environment(tmp_path / "bad", {**GOOD, "tensorflow": "2.15.1"}))
    assert not usable(view)
    qtbot.waitUntil(
        lambda: "no TensorFlow 2.16 to 2.21 but 2.15.1: install it with" in view.answer.text(), timeout=PATIENCE_MS
    )
    assert not usable(view)
    qtbot.waitUntil(lambda: view.found.count() == 1, timeout=PATIENCE_MS)
    assert "Keras 3.15.1, no TensorFlow 2.21, no h5py, no msgspec" in view.found.item(0).text()
    for look in (Look.DARK, Look.LIGHT):
        app.appearance.choose(look)
        qtbot.wait(30)  # the palette goes from widget to widget
        keep_picture(view, f"python_dialog_{look}", app.appearance.theme)
    good = make_environment(tmp_path / "good", GOOD)
    named(view, good)
    qtbot.waitUntil(lambda: usable(view), timeout=PATIENCE_MS)
    assert view.answer.text().startswith(f"This one works: {good} has Python 3.")
    view.buttons.accepted.emit()
    assert chosen_python() == str(good) == app.settings.python
    assert app.session.opening == str(DEMO)  # which could not be opened before
    app.session.cancel()
    assert python.find().origin == "chosen in the app"


def test_that_a_python_that_was_found_is_chosen_by_a_click(app, qtbot: QtBot, tmp_path):
    make_launcher(tmp_path / "path" / "python3", GOOD)
    view = dialog(app)
    qtbot.waitUntil(lambda: view.found.count() == 1, timeout=PATIENCE_MS)
    view.found.itemClicked.emit(view.found.item(0))
    qtbot.waitUntil(lambda: usable(view) and "This one works" in view.answer.text(), timeout=PATIENCE_MS)
    assert view.chosen_path() == str(tmp_path / "path" / "python3 environment" / "bin" / "python")
    view.alone.setChecked(True)
    qtbot.waitUntil(lambda: f"This one works: {python.sys.executable} has" in view.answer.text(), timeout=PATIENCE_MS)
    view.buttons.accepted.emit()
    assert chosen_python() == ""
