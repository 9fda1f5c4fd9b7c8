import ast
import gc
import os
import threading
from pathlib import Path

import pytest
from pictures import keep_picture
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QContextMenuEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLabel
from turning import turn
from waiting import traced, wait

import planner_app.gui
from planner_app.core.model.setup import Precision
from planner_app.errors import PlannerError
from planner_app.gui.app import DEMO, App
from planner_app.gui.look import export
from planner_app.gui.look.theme import Look
from planner_app.gui.state.settings import Settings, SettingsFile

GUI = Path(planner_app.gui.__file__).parent
SIZES = ((1280, 800), (1920, 1080))


@pytest.fixture
def app(qapp: QApplication, tmp_path: Path):
    app = App(qapp, SettingsFile(tmp_path / "settings.json"))
    app.appearance.choose(Look.LIGHT)
    app.window.show()
    yield app
    app.window.close()
    app.window.deleteLater()


def drop(app: App, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    modifiers = Qt.KeyboardModifier.NoModifier
    event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, modifiers)
    app.window.dropEvent(event)


def test_that_the_window_knows_nothing_of_ours_and_is_small():
    text = (GUI / "frame" / "window.py").read_text()
    modules = [node.module or "" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    assert not [module for module in modules if module.startswith("planner_app")]
    assert len(text.splitlines()) < 150


def test_that_no_widget_has_colours_of_its_own():
    for source in GUI.rglob("*.py"):
        assert "setStyleSheet" not in source.read_text(), source


def test_that_an_empty_window_says_what_to_do(app: App):
    text = app._centre.page.text
    assert "Drop a saved Keras model here" in text


def test_that_a_model_dropped_on_the_window_is_opened_and_judged(app: App):
    drop(app, DEMO)
    wait(lambda: app.session.opening == str(DEMO))
    wait(lambda: traced(app.session))
    assert app.window.windowTitle() == "demo.keras - Plimsoll"
    assert app.headline.values.sentence.startswith("Fits. A batch of 32 needs")
    app.session.choose_setup(batch=1 << 20)
    assert app.headline.values.word == "Does not fit"


def test_that_the_app_has_its_pictures(app: App):
    app.window.resize(*SIZES[0])
    turn(30)
    keep_picture(app.window, "empty_light", app.appearance.theme)
    app.open_demo()
    wait(lambda: traced(app.session))
    app.session.choose_setup(batch=8192)
    wait(lambda: app.session.answers.idle)
    for look in (Look.LIGHT, Look.DARK):
        app.appearance.choose(look)
        for width, height in SIZES:
            app.window.resize(width, height)
            turn(60)
            theme = app.appearance.theme
            lines = [theme.precision(each) for each in app.session.choice.precisions]
            keep_picture(app.window, f"app_{look}_{width}x{height}", theme, lines)


def test_that_every_panel_can_be_taken_away(app: App, tmp_path: Path):
    app.furnish()
    app.open_demo()
    wait(lambda: traced(app.session))
    hardware = app.panels["Hardware"]
    with pytest.raises(PlannerError, match="There is no offer to draw yet"):
        export.data_of(hardware, "png")
    app.bring("Hardware")
    wait(lambda: hardware.table is not None and hardware.table().rows)
    for panel in app.panels.values():
        if panel.picture is not None:
            assert export.data_of(panel, "png").startswith(b"\x89PNG")
            assert b"<svg" in export.data_of(panel, "svg")[:400]
        if panel.table is not None:
            assert export.data_of(panel, "csv").count(b"\n") >= 1
    export.save(str(tmp_path / "chart.csv"), export.data_of(app.panels["Chart"], "csv"))
    assert (tmp_path / "chart.csv").read_text().startswith("precision,gpus,batch")
    export.copy_table(app.panels["Chart"].table())
    assert QApplication.clipboard().text().startswith("precision\tgpus\tbatch")
    with pytest.raises(PlannerError, match="can't be written"):
        export.save(str(tmp_path / "no" / "chart.csv"), b"")


def test_that_panels_beside_one_another_in_tabs_have_room_and_keep_it_in_a_larger_window(app: App):
    app.furnish()
    sizes = []
    for size in SIZES:
        app.window.resize(*size)
        turn(10)
        sizes.append((app.panels["Setup"].widget.width(), app.panels["Timeline"].widget.height()))
    assert sizes == [sizes[0]] * 2
    assert sizes[0][0] == 300 and sizes[0][1] > 180


def test_that_no_window_is_so_small_that_the_setup_s_fields_are_cut(app: App):
    app.furnish()
    body = app.panels["Setup"].widget.widget()
    for size in ((600, 400), SIZES[0]):
        app.window.resize(*size)
        turn(10)
        assert body.width() >= body.minimumSizeHint().width()
    assert app.window.minimumSizeHint().width() < SIZES[0][0]


def test_that_a_dropped_file_is_asked_about_after_the_drop(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The program that it was dragged from waits until the drop is over."""
    code, asked = tmp_path / "train.py", []
    code.write_text("print('no function here')\n")
    monkeypatch.setattr("planner_app.gui.opener.warn", lambda _, why: asked.append(why))
    drop(app, code)
    assert not asked
    wait(lambda: asked)
    assert asked[0].startswith("train.py has no function")


def test_that_what_was_cancelled_says_how_to_go_on(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLIMSOLL_CACHE", str(tmp_path))  # so that its first line takes seconds
    session, page = app.session, app.centre.waiting
    session.model_changed.connect(lambda: QTimer.singleShot(0, session.cancel))
    app.open_demo()
    wait(lambda: page.resume.isVisible())
    assert session.stopped and app._centre.page is page and not page.cancel.isVisible()
    assert "F5" in session.trouble(session.choice.setup)
    page.resume.click()
    assert page.cancel.isVisible() and not session.trouble(session.choice.setup)
    wait(lambda: session.tracing)


def test_that_every_panel_has_a_key_of_its_own(app: App):
    app.furnish()
    keys = [panel.shortcut for panel in app.panels.values() if panel.shortcut]
    assert len(set(keys)) == len(keys) >= 8


def test_that_a_right_click_on_the_chart_offers_to_save_it(app: App):
    app.furnish()
    plot = app.panels["Chart"].widget.plot.viewport()
    at = QPoint(40, 40)
    QApplication.sendEvent(plot, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, plot.mapToGlobal(at)))
    menu = app.actions._context
    assert [action.text() for action in menu.actions()][:2] == ["Save as PNG …", "Save as SVG …"]
    menu.close()


def test_that_a_file_that_is_not_a_model_is_reported_where_the_user_looks(app: App, tmp_path: Path):
    broken = tmp_path / "broken.keras"
    broken.write_bytes(b"not a model")
    app.open(str(broken))
    wait(lambda: not app.session.opening)
    assert "can't be opened" in app._centre.page.text
    app.open_demo()
    wait(lambda: traced(app.session))
    assert app.session.description is not None


def test_that_a_name_is_text_and_never_markup(app: App, tmp_path: Path):
    app.open(str(tmp_path / "<i>plain<img src=x>.keras"))
    wait(lambda: not app.session.opening)
    shown = [label for label in app.window.findChildren(QLabel) if "<i>plain<img" in label.text()]
    assert shown and {label.textFormat() for label in shown} == {Qt.TextFormat.PlainText}


def test_that_a_worker_that_dies_is_a_sentence_and_the_rest_keeps_working(children, app: App):
    app.open_demo()
    wait(lambda: app.session.opened is not None)
    app.session.choose_setup(precision=Precision.FLOAT64)
    wait(lambda: bool(children()))
    killed = set()
    while not killed or not app.session.trouble(app.session.choice.setup):
        for child in children():
            if child.pid not in killed:
                killed.add(child.pid)
                child.kill()
        turn(20)
        if app.session.memory(app.session.choice.setup) is not None:
            pytest.skip("The worker was faster than its killer.")
    wait(lambda: "killed" in app.headline.values.note)
    app.session.choose_setup(precision=Precision.FLOAT32)
    wait(lambda: app.session.memory(app.session.choice.setup) is not None)


def test_that_closing_the_window_while_work_runs_leaves_no_process(children, app: App):
    app.open_demo()
    app.session.choose_setup(optimizer=app.session.choice.setup.optimizer, loss="huber")
    wait(lambda: bool(children()))
    app.window.close()
    assert children() == []


def test_that_opening_and_cancelling_a_hundred_times_leaves_nothing(children, app: App):
    def count() -> tuple[int, int, int, int]:
        gc.collect()
        files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        return threading.active_count(), len(children()), len(QApplication.allWidgets()), files

    def cycle(times: int) -> None:
        for number in range(times):
            app.open_demo()
            turn(number % 5)
            app.session.cancel()
        wait(lambda: app.session.idle)

    cycle(5)
    wait(lambda: app._furniture.is_complete)  # panels are built meanwhile
    before = count()
    cycle(95)
    assert count() == before
    app.open_demo()
    wait(lambda: app.session.opened is not None)


def test_that_layout_recent_files_and_choices_survive_a_restart(qapp: QApplication, tmp_path: Path):
    file = SettingsFile(tmp_path / "settings.json")
    model = tmp_path / "model.keras"
    model.write_bytes(DEMO.read_bytes())
    app = App(qapp, file)
    app.window.show()
    app.open(str(model))
    app.session.choose_setup(precision=Precision.BFLOAT16)
    app.appearance.choose(Look.DARK)
    wait(lambda: app.session.opened is not None)
    app.window.close()
    again = App(qapp, file)
    assert again.settings.recent == (str(model),)
    assert again.settings.look is Look.DARK
    assert Precision.BFLOAT16 in again.session.choice.precisions
    again.window.close()
    again.appearance.choose(Look.LIGHT)


def test_that_a_broken_settings_file_is_set_aside_and_said(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text('{"look": "purple"')
    settings, warning = SettingsFile(path).read()
    assert settings == Settings()
    assert "settings were broken" in warning
    assert (tmp_path / "settings.broken.json").exists()


def test_that_a_folder_that_can_t_be_written_is_a_notice(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert "can't be saved" in SettingsFile(tmp_path / "file" / "settings.json").write(Settings())


def test_that_recent_files_are_at_most_nine_and_none_twice():
    settings = Settings()
    for number in (*range(12), 11):
        settings = settings.with_recent(f"/models/{number}.keras")
    assert settings.recent[:2] == ("/models/11.keras", "/models/10.keras")
    assert len(settings.recent) == 9
