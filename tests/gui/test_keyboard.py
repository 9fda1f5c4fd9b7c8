"""The window without a mouse: mnemonics that never fight the menus, and the order in which a screen reader goes."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QGroupBox, QLabel, QWidget

from planner_app.gui.app import App
from planner_app.gui.state.settings import SettingsFile

MNEMONIC = re.compile(r"&([^&\s])")


@pytest.fixture
def app(qapp: QApplication, tmp_path: Path):
    app = App(qapp, SettingsFile(tmp_path / "settings.json"))
    app.window.show()
    app.furnish()
    yield app
    app.window.close()
    app.window.deleteLater()


def mnemonic(text: str) -> str:
    found = MNEMONIC.search(text.replace("&&", ""))
    return found[1].lower() if found else ""


def test_that_no_field_or_button_takes_a_menu_s_letter(app: App):
    menus = {mnemonic(action.text()) for action in app.window.menuBar().actions()}
    assert menus == {"f", "e", "v", "t", "h"}
    taken = []
    for widget in app.window.findChildren(QWidget):
        text = ""
        if isinstance(widget, QAbstractButton) or (isinstance(widget, QLabel) and widget.buddy() is not None):
            text = widget.text()
        elif isinstance(widget, QGroupBox):
            text = widget.title()
        if mnemonic(text) in menus:
            taken.append(text)
    assert not taken


def test_that_no_two_fields_of_the_setup_share_a_letter(app: App):
    setup = app.panels["Setup"].widget
    labels = [label.text() for label in setup.findChildren(QLabel) if label.buddy() is not None]
    buttons = [button.text() for button in setup.findChildren(QAbstractButton)]
    letters = [letter for text in (*labels, *buttons) if (letter := mnemonic(text))]
    assert len(letters) == len(set(letters)) >= 12


def test_that_a_menu_has_each_letter_once(app: App):
    for entry in app.window.menuBar().actions():
        letters = [letter for action in entry.menu().actions() if (letter := mnemonic(action.text()))]
        assert len(letters) == len(set(letters)), entry.text()


def test_that_the_tab_key_goes_through_the_setup_from_top_to_bottom(app: App):
    setup = app.panels["Setup"].widget
    fields = (
        *(setup.batch, setup.slider, setup.precision, setup.gpus, setup.accumulate, setup.optimizer),
        *(setup.loss, setup.jit, setup.freeze, setup.remat, setup.lora, setup.quantize),
    )
    order = _tab_order(setup.batch)
    places = [order.index(field) for field in fields]
    assert places == sorted(places)


def test_that_everything_that_takes_the_keyboard_has_a_name(app: App):
    """What a screen reader says."""
    nameless = [
        (title, type(widget).__name__, widget.objectName(), widget.toolTip())
        for title, panel in app.panels.items()
        for widget in panel.widget.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and type(widget).__module__ == "PySide6.QtWidgets"
        if not (widget.accessibleName() or getattr(widget, "text", str)() or widget.focusProxy())
        if widget.window() is app.window and not widget.objectName().startswith("qt_")
    ]
    assert not nameless


def _tab_order(first: QWidget) -> list[QWidget]:
    found, widget = [first], first.nextInFocusChain()
    while widget is not first:
        found.append(widget)
        widget = widget.nextInFocusChain()
    return found
