"""Ctrl+K finds everything: menus, panels and their fields, devices, batches."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from planner_app.gui.app import App
from planner_app.gui.panels.palette.view import PaletteView
from planner_app.gui.state.settings import SettingsFile


@pytest.fixture
def app(qapp: QApplication, tmp_path: Path):
    app = App(qapp, SettingsFile(tmp_path / "settings.json"))
    app.window.show()
    app.furnish()
    yield app
    app.window.close()
    app.window.deleteLater()


@pytest.fixture
def palette(app: App) -> PaletteView:
    app.actions.palette.open()
    assert app.actions.palette.view is not None
    return app.actions.palette.view


def typed(palette: PaletteView, words: str) -> list[str]:
    palette.field.setText(words)
    texts = [palette.list.item(row).data(Qt.ItemDataRole.UserRole) for row in range(palette.list.count())]
    return [f"{entry.where}: {entry.text}" for entry in texts]


def test_that_a_field_is_found_and_gone_to(app: App, palette: PaletteView):
    assert typed(palette, "lora")[0] == "Setup: LoRA"
    palette._choose(palette.list.item(0))
    assert app.window.focusWidget() is app.panels["Setup"].widget.lora


def test_that_a_button_of_a_panel_is_found(palette: PaletteView):
    assert "Sharding: Compare layouts" in typed(palette, "compare")


def test_that_nothing_found_is_said(palette: PaletteView):
    assert not typed(palette, "no such thing")
    assert palette.nothing.isVisible() and not palette.list.isVisible()
    typed(palette, "lora")
    assert palette.list.isVisible() and not palette.nothing.isVisible()
    palette.close()
