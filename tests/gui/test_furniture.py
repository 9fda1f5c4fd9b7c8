"""Panels are built while the window responds: one in each turn of the event loop."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from waiting import wait

from planner_app.gui.app import App
from planner_app.gui.state.settings import SettingsFile


@pytest.fixture
def app(qapp: QApplication, tmp_path: Path):
    app = App(qapp, SettingsFile(tmp_path / "settings.json"))
    app.window.show()
    yield app
    app.window.close()
    app.window.deleteLater()


def test_that_one_panel_is_built_in_a_turn_and_none_is_shown_before_it_is_needed(app: App):
    furniture = app._furniture
    built: list[int] = []
    furniture._turn.timeout.connect(lambda: built.append(len(furniture.panels)))
    app.prepare()
    assert not furniture.panels
    wait(lambda: furniture.is_complete)
    steps = [after - before for before, after in zip([0, *built], built, strict=False)]
    assert max(steps) == 1 and sum(steps) == len(furniture.panels) >= 11
    assert not app.panels and not app.centre.model.has_chart
    app.furnish()
    assert next(iter(app.panels)) == "Chart" and app.centre.model.has_chart


def test_that_what_is_needed_now_is_built_now(app: App):
    app.prepare()
    app.bring("Plan")
    assert app.panels["Plan"].widget.isVisible()
