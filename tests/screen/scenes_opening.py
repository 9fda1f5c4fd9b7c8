"""Opening and losing nothing: what a person does, and what must be there afterwards."""

import os
from pathlib import Path

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QTabBar
from small_files import write_classes, write_model
from stage import Stage, play

from planner_app.gui.app import DEMO
from planner_app.gui.panels.chart.presenter import ChartPresenter
from planner_app.gui.panels.opening.function import FunctionDialog
from planner_app.gui.panels.setup.view import SetupView
from planner_app.units import format_bytes


def nothing_is_lost(stage: Stage, folder: Path) -> None:
    """A wrong file or a log dropped on the window leaves the open model as it is."""
    app, session = stage.app, stage.app.session
    stage.drop(stage.window, files=(DEMO,))
    stage.until_traced()
    session.choose_setup(batch=96)
    opened, planner, memories = session.opened, session.planner, dict(session.memories)
    broken = folder / "broken.keras"
    broken.write_bytes(b"not a model")
    stage.drop(app.centre, files=(broken,))
    stage.until(lambda: app.centre.notice.isVisible(), "the notice says why")
    assert "broken.keras" in app.centre.notice.text.text()
    assert (session.opened, session.planner, dict(session.memories)) == (opened, planner, memories)
    assert session.choice.setup.batch == 96 and app.centre.model.isVisible()
    stage.click(app.centre.notice.dismiss)
    stage.until(lambda: not app.centre.notice.isVisible(), "the notice is gone")
    photo = folder / "photo.jpg"
    photo.write_bytes(bytes(range(256)) * 64)
    stage.drop(app.centre, files=(photo,))
    stage.until(lambda: app.centre.notice.isVisible(), "a picture is neither a model nor a log")
    assert "photo.jpg" in app.centre.notice.text.text() and app.centre.model.isVisible()
    log = folder / "train.log"
    log.write_text("Epoch 1/5\nKilled\n")
    tabs_before, sizes = _tabs(stage), [app.panels[title].widget.size() for title in ("Setup", "Timeline")]
    assert [titles[0] for titles in tabs_before] == ["Setup", "Timeline"]
    stage.drop(app.centre, files=(log,))
    stage.until(lambda: app.log.values.found is not None, "the log is read")
    stage.until(lambda: app.centre.log.isVisible() and not app.panels["Setup"].widget.isVisible(), "its page is shown")
    assert session.opened is opened and not app.centre.notice.isVisible()
    tabs = app.centre.tabs
    assert [tabs.tabText(number) for number in range(tabs.count())] == ["demo.keras", "train.log"]
    stage.click(tabs, tabs.tabRect(0).center() - QPoint(15, 0))
    stage.until(lambda: app.panels["Setup"].widget.isVisible(), "the panels are back")
    stage.until(lambda: _tabs(stage) == tabs_before, "as they were")
    places = ("Setup", "Timeline")
    stage.until(lambda: [app.panels[title].widget.size() for title in places] == sizes, "of the same size")
    assert app.centre.model.isVisible() and session.choice.setup.batch == 96


def _tabs(stage: Stage) -> list[list[str]]:
    """The titles of docks that share a place, as the window shows them."""
    bars = [bar for bar in stage.window.findChildren(QTabBar) if bar.parent() is stage.window and bar.isVisible()]
    return sorted(([bar.tabText(number) for number in range(bar.count())] for bar in bars), key=len)


def several_models(stage: Stage, folder: Path) -> None:
    """Each keeps its own choice; closing a tab shows its neighbour; the next session brings them back."""
    app, session = stage.app, stage.app.session
    first, second = write_model(folder / "first.json"), write_model(folder / "second.json")
    stage.drop(stage.window, files=(first,))
    stage.until_traced()
    session.choose_setup(batch=48)
    stage.drop(app.centre, files=(second,))
    stage.until(lambda: len(session.models) == 2, "the second is open")
    stage.until_traced()
    session.choose_setup(batch=128)
    tabs = app.centre.tabs
    stage.click(tabs, tabs.tabRect(0).center() - QPoint(15, 0))
    stage.until(lambda: (session.path, session.choice.setup.batch) == (str(first), 48), "the first is shown again")
    stage.until_traced()
    assert stage.window.windowTitle().startswith("first.json")
    chart = app.panels["Chart"].widget
    shown = next(child for child in chart.children() if isinstance(child, ChartPresenter))
    stage.until(lambda: shown.picture.others, "the other model is on the chart")
    assert [(other.name, other.largest > 48) for other in shown.picture.others] == [("second.json", True)]
    named = chart.drawing.others.tags
    stage.until(lambda: [tag.text.partition(":")[0] for tag in named.shown] == ["second.json"], "its line has a name")
    stage.picture("tabs")
    stage.close()
    again = Stage(stage.qt, folder)
    again.app.reopen_last()
    again.until(lambda: len(again.app.session.models) == 2, "both models are back")
    again.until_traced()
    assert (again.app.session.path, again.app.session.choice.setup.batch) == (str(first), 48)
    now = again.app.session
    again.keys("ctrl+w")
    again.until(lambda: (now.path, now.choice.setup.batch) == (str(second), 128), "the second is shown")
    again.keys("ctrl+w")
    recent = again.app.centre.first.recent
    again.until(lambda: now.model is None and recent.isVisible(), "the first page is shown")
    assert recent.count() == 2
    again.picture("first_page")
    again.click(recent.viewport(), recent.visualItemRect(recent.item(0)).center())
    again.until(lambda: again.app.session.model is not None, "a recent model is open again")
    stage.window, stage.app = again.window, again.app


def code_of_the_user(stage: Stage, folder: Path) -> None:
    """A model with classes of its own, and a Python file with functions: neither is a dead end."""
    app, session = stage.app, stage.app.session
    model, classes = write_model(folder / "own.json", custom=True), write_classes(folder / "classes.py")
    stage.drop(stage.window, files=(model,))
    first = app.centre.first
    stage.until(lambda: first.remedy_button.isVisible(), "it says what is missing")
    assert "--custom" not in first.text and "Scale" in first.text
    stage.picture("needs_classes")
    stage.name_file(str(classes))
    stage.agree()
    stage.click(first.remedy_button)
    stage.until(lambda: session.opened is not None, "the model is open")
    assert session.model.source.custom == str(classes)
    _choose_function(stage, classes)
    stage.until(lambda: len(session.models) == 2, "the function's model is open")
    assert session.path == f"{classes}:build_wide"
    assert session.description.outputs[0].shape[-1] == 400


def _choose_function(stage: Stage, file: Path) -> None:
    def choose() -> None:
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, FunctionDialog):
            QTimer.singleShot(100, choose)
            return
        names = [dialog.list.item(row).text().split("(")[0] for row in range(dialog.list.count())]
        assert names == ["build_small", "build_wide"], names
        stage.click(dialog.list.viewport(), dialog.list.visualItemRect(dialog.list.item(1)).center())
        stage.click(dialog.take)

    QTimer.singleShot(300, choose)
    stage.drop(stage.app.centre, files=(file,))


def menus_and_mnemonics(stage: Stage, _folder: Path) -> None:
    """Alt+F is the File menu wherever the keyboard is, and Ctrl+K finds everything."""
    app = stage.app
    stage.drop(stage.window, files=(DEMO,))
    stage.until_traced()
    setup = app.panels["Setup"].widget
    assert isinstance(setup, SetupView)
    for key, title in (("alt+f", "&File"), ("alt+e", "&Edit"), ("alt+v", "&View"), ("alt+h", "&Help")):
        stage.click(setup.batch)
        stage.keys(key)
        stage.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu), f"{key} opens a menu")
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu) and menu.title() == title, (key, menu)
        stage.keys("Escape", "Escape")
        stage.until(lambda: QApplication.activePopupWidget() is None, "the menu is closed")
    stage.click(setup.batch)
    _find(stage, "h100 pc", picture="palette")
    stage.until(lambda: "H100 PC" in app.session.choice.device.name, "the device is chosen")
    _find(stage, "256")
    stage.until(lambda: app.session.choice.setup.batch == 256, "the batch is chosen")


def _find(stage: Stage, words: str, picture: str = "") -> None:
    """Type into the palette and take what comes first."""
    stage.keys("ctrl+k")
    stage.until(lambda: stage.app.actions.palette.view and stage.app.actions.palette.view.isVisible(), "the palette")
    view = stage.app.actions.palette.view
    assert view is not None
    field = view.findChild(QLineEdit)
    assert field is not None
    stage.until(field.hasFocus, "the palette has the keyboard")
    stage.fill(field, words)
    if picture:
        stage.picture(picture)
    stage.keys("Return")


def a_known_model_needs_no_tensorflow(stage: Stage, folder: Path) -> None:
    """Opened for the second time, it comes from disk: no process maps TensorFlow's library, and no plot is made up."""
    model = write_model(folder / "known.json")
    stage.drop(stage.window, files=(model,))
    stage.until_traced()
    stage.app.session.forget_history()
    stage.close()
    again = Stage(stage.qt, folder)
    seen: set[str] = set()
    watch = QTimer(interval=5)
    watch.timeout.connect(lambda: seen.update(_libraries_of_children()))
    watch.start()
    shown: list[bool] = []
    again.app.session.model_changed.connect(lambda: shown.append(again.app.centre.model.isVisible()))
    again.drop(again.window, files=(model,))
    again.until_traced()
    watch.stop()
    assert not [name for name in seen if "tensorflow" in name], seen
    assert shown[0] is False  # the chart comes with its first line, not before it
    assert again.app.centre.model.isVisible() and again.app.panels["Breakdown"].widget.isVisible()
    stage.window, stage.app = again.window, again.app


def an_unknown_model_shows_what_is_known(stage: Stage, _folder: Path) -> None:
    """Weights, gradients and optimizer state of the file, before anything is traced."""
    app = stage.app
    copy = _folder / "unknown.keras"
    copy.write_bytes(DEMO.read_bytes())
    said: list[str] = []
    app.session.checked.connect(lambda _: said.append(app.centre.first.at_once.text))
    stage.drop(stage.window, files=(copy,))
    stage.until(lambda: said and app.session.opened is not None, "the file is read")
    assert "weights" in said[0] and "gradients" in said[0] and "state of adam" in said[0], said
    size = sum(layer.weight_bytes for layer in app.session.description.layers)
    assert f"weights {format_bytes(size)}" in said[0]
    if app.centre.waiting.isVisible():
        stage.picture("waiting")
    stage.until_traced()


def _libraries_of_children() -> set[str]:
    """Shared libraries that our child processes have mapped."""
    found: set[str] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            parent = (maps.parent / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found |= {line.rpartition("/")[2] for line in maps.read_text().splitlines() if ".so" in line}
        except (OSError, ValueError, IndexError):
            continue
    return found


SCENES = {
    scene.__name__: scene
    for scene in (
        nothing_is_lost,
        several_models,
        code_of_the_user,
        menus_and_mnemonics,
        a_known_model_needs_no_tensorflow,
        an_unknown_model_shows_what_is_known,
    )
}

if __name__ == "__main__":
    play(SCENES)
