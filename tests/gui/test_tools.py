"""The Tools menu: results of runs, calibrations and the self-test."""

import json
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from planner_app.core.measure.calibration import Sample
from planner_app.files.kept.calibrations import Calibrations
from planner_app.gui.app import App
from planner_app.gui.state.settings import SettingsFile

RUN = {
    "plan": "small.plan.json",
    "command": ["train.py", "--epochs", "3"],
    "seed": 7,
    "schema_version": 1,
    "finished": True,
    "code": 0,
    "tries": [
        {"rung": 0, "started": "2026-11-16T05:00:00Z", "ended": "2026-11-16T05:04:00Z", "reason": "memory ran out"},
        {"rung": 1, "started": "2026-11-16T05:04:02Z", "ended": "2026-11-16T06:00:00Z", "updates": 1200, "end": "done"},
    ],
}


@pytest.fixture
def app(qapp: QApplication, tmp_path: Path):
    app = App(qapp, SettingsFile(tmp_path / "settings.json"))
    app.window.show()
    yield app
    app.window.close()
    app.window.deleteLater()


def test_that_the_results_of_a_run_are_told_try_by_try(app: App, tmp_path: Path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(RUN))
    app.open(str(path))
    shown = app.actions.tools.run.paper.toPlainText()
    assert "The training came to its end." in shown and "2 tries" in shown
    assert "memory ran out" in shown and "1,200" in shown and "train.py --epochs 3" in shown


def test_that_calibrations_are_listed_moved_and_forgotten(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tools = app.actions.tools
    tools.show_calibrations()
    view = tools.calibrations
    assert view.list.count() == 0 and "no calibrations yet" in view.said.text()
    file = tmp_path / "calibrations.json"
    Calibrations(tmp_path / "elsewhere").add(
        sample(), device="NVIDIA L4", tensorflow="2.21.0", keras="3.15.0", driver=None, xla=False
    )
    Calibrations(tmp_path / "elsewhere").export(file)
    tools.import_calibrations(str(file))
    assert view.list.count() == 1 and "NVIDIA L4" in view.list.item(0).text()
    tools.export_calibrations(str(tmp_path / "again.json"))
    assert "NVIDIA L4" in (tmp_path / "again.json").read_text()
    monkeypatch.setattr("planner_app.gui.panels.tools.presenter.agreed", lambda *_: True)
    view.forget.click()
    assert view.list.count() == 0 and Calibrations().all() == ()


def sample() -> Sample:
    size = 1 << 30
    return Sample("small", "", "batch 8", "2026-11-16T05:00:00Z", size, (size + (size >> 4),))


def test_that_the_self_test_asks_where_and_for_how_long(app: App):
    tools = app.actions.tools
    tools.show_selftest()
    view = tools.selftest
    assert [view.place.itemText(row) for row in range(view.place.count())] == ["cpu", "gpu:0"]
    assert view.run.isEnabled() and not view.cancel.isEnabled() and not view.calibrate.isEnabled()
