"""The Help menu: the offline guide, the current shortcuts, and the check of this computer."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QGuiApplication, QTextDocument
from PySide6.QtWidgets import QApplication
from turning import turn
from waiting import wait

from planner_app.core.checkup import Finding, State
from planner_app.gui.app import App
from planner_app.gui.look.theme import Appearance, Look
from planner_app.gui.panels.help.checkup import CheckupView
from planner_app.gui.panels.help.guide import GuideWindow
from planner_app.gui.panels.help.pages import FOLDER, KEYS, ORDER, pages
from planner_app.gui.state.settings import SettingsFile

LINK = re.compile(r"\]\(([^)#]+)")
NO_DRIVER = (
    "This machine has no NVIDIA driver: estimate for a GPU of the list, measure on the CPU, or measure on a machine "
    "with a GPU. Planning works without it."
)
NO_COMPILER = (
    "The compile check needs JAX's compiler for CUDA (jax is not installed): get it with pip install "
    '"plimsoll[xla-gpu]" (Linux only; no GPU is needed). Planning works without it.'
)
GUARDS = (
    "around the process that reads model files: reads only its libraries and the model, writes only its own folder "
    "(Landlock 7); no network (seccomp); no other programs, no signals (seccomp)"
)
FOUND = (
    Finding("Python", State.FINE, "3.11.7, /home/me/.venv/bin/python"),
    Finding("TensorFlow", State.FINE, "2.21.0"),
    Finding("Keras", State.FINE, "3.15.1; tf_keras 2.21.0 for Keras 2 models"),
    Finding("Sandbox", State.FINE, GUARDS),
    Finding("Temporary folder", State.FINE, "/tmp"),
    Finding("Cache", State.FINE, "/home/me/.cache/plimsoll/traces"),
    Finding("Settings", State.FINE, "/home/me/.config/plimsoll"),
    Finding("Calibrations", State.FINE, "/home/me/.local/share/plimsoll/calibrations"),
    Finding("Free disk", State.FINE, "74 GiB"),
    Finding("Window", State.FINE, "Qt 6.11.3 on xcb"),
    Finding("NVIDIA driver", State.NOTE, NO_DRIVER),
    Finding(
        "CUDA", State.FINE, "TensorFlow is built for CUDA 12.5.1 and cuDNN 9; this computer has no GPU to need them"
    ),
    Finding("Compile check", State.NOTE, NO_COMPILER),
)


@pytest.fixture
def app(qapp: QApplication, tmp_path: Path) -> Iterator[App]:
    app = App(qapp, SettingsFile(tmp_path / "settings.json"))
    app.appearance.choose(Look.LIGHT)
    app.window.show()
    yield app
    app.window.close()
    app.window.deleteLater()


def trigger(app: App, text: str) -> None:
    (menu,) = [entry.menu() for entry in app.window.menuBar().actions() if entry.text() == "&Help"]
    (action,) = [entry for entry in menu.actions() if entry.text().replace("&", "") == text]
    action.trigger()


def test_that_the_guide_has_a_page_for_everything_and_no_dead_link():
    assert {path.stem for path in FOLDER.glob("*.md")} == set(ORDER)
    pictures = set()
    for name in ORDER:
        for target in LINK.findall((FOLDER / f"{name}.md").read_text()):
            assert (FOLDER / target).is_file(), (name, target)
            pictures.add((FOLDER / target).name)
    assert {path.name for path in (FOLDER / "pictures").iterdir()} <= pictures
    assert all(path.stat().st_size < 150_000 for path in (FOLDER / "pictures").iterdir())


def test_that_the_guide_is_shown_page_by_page_without_a_complaint(app: App):
    trigger(app, "Guide")
    guide = app.actions.help.guide
    assert guide is not None
    assert guide.page == "start"
    for row, page in enumerate(pages()):
        guide.list.setCurrentRow(row)
        assert guide.page == page.name
        text = guide.browser.toPlainText()
        assert text.startswith(page.title)
        assert "|---" not in text
    guide.back.click()
    assert guide.page == pages()[-2].name
    guide.close()


def test_that_a_link_leads_to_its_page_and_the_list_follows(app: App):
    app.actions.help.show_guide()
    guide = app.actions.help.guide
    guide.browser.setSource(guide.browser.source().resolved(QUrl("tour.md")))
    assert guide.list.currentItem().text() == "A tour of the app"
    pictures = guide.browser.document().allFormats()
    names = [one.toImageFormat().name() for one in pictures if one.isImageFormat()]
    kind = QTextDocument.ResourceType.ImageResource
    assert names
    for name in names:
        picture = guide.browser.document().resource(kind, QUrl(name))
        assert 0 < picture.width() / picture.devicePixelRatio() <= guide.browser.viewport().width()
    guide.close()


def test_that_words_are_found_on_a_page_and_from_its_top_again(app: App):
    app.actions.help.show_guide("estimate")
    guide = app.actions.help.guide
    guide.search.setText("allocator overhead")
    for _ in range(2):
        guide.search.returnPressed.emit()
        assert guide.browser.textCursor().selectedText() == "allocator overhead"
    guide.close()


def test_that_the_keys_are_those_of_the_menus_now(app: App):
    trigger(app, "Keyboard shortcuts")
    guide = app.actions.help.guide
    assert guide.page == KEYS
    before = guide.browser.toPlainText()
    assert "Undo" in before and "Ctrl+Z" in before
    assert "Breakdown" not in before
    app.furnish()
    app.actions.help.show_keys()
    guide.browser.reload()
    after = guide.browser.toPlainText()
    assert "Breakdown" in after and "Alt+3" in after
    guide.close()


def test_that_this_computer_is_looked_at_in_the_background(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A TensorFlow that can't be loaded answers sooner than one that can; the command's test has the real one."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tensorflow.py").write_text("raise ImportError('libtensorflow_cc.so.2 is gone')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    trigger(app, "Check this computer …")
    view = app.actions.help.checkup
    assert view is not None
    assert not view.again.isEnabled()
    assert view.bar.isVisible()
    wait(lambda: view.again.isEnabled())
    text = view.paper.toPlainText()
    assert "libtensorflow_cc.so.2 is gone" in text and "offscreen" in text
    assert view.summary.text() == "Planning does not work yet: TensorFlow."
    view.copy.click()
    assert "✗ TensorFlow: 2.21.0 is installed but can't be used" in QGuiApplication.clipboard().text()
    view.close()


def test_that_a_look_that_is_closed_ends_its_worker(app: App):
    app.actions.help.check_computer()
    app.actions.help.checkup.close()
    assert not app.actions.help._slot.busy
    app.window.close()
    assert app.session.idle


def test_that_the_help_has_its_pictures(app: App, appearance: Appearance, take_pictures: Callable):
    view = CheckupView(None, appearance.theme)
    appearance.changed.connect(lambda: view.show_theme(appearance.theme))
    view.show()
    view.show_findings((Finding("Python", State.MISSING, "<b>no markup</b>"),))
    assert "<b>no markup</b>" in view.paper.toPlainText()
    view.show_findings(FOUND)
    take_pictures(view, "checkup", lambda theme: [theme.good])
    view.close()
    guide = GuideWindow(None, pages(), app.actions.help._keys_page)
    guide.show()
    for name in ("start", "tour", "training", KEYS):
        guide.show_page(name)
        turn(30)
        take_pictures(guide, f"guide_{name}")
    guide.close()
