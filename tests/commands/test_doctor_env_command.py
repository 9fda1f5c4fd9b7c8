"""`plimsoll doctor-env`, as typed, with real workers."""

import json
from pathlib import Path

import pytest

from planner_app.cli import main


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "SETTINGS", "CALIBRATIONS"):
        monkeypatch.setenv(f"PLIMSOLL_{name}", str(tmp_path / name.lower()))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")


def findings(capsys: pytest.CaptureFixture) -> dict[str, tuple[str, str]]:
    told = json.loads(capsys.readouterr().out)
    assert told["can_plan"] is all(each["state"] != "missing" for each in told["findings"])
    return {each["name"]: (each["state"], each["text"]) for each in told["findings"]}


def test_that_this_computer_can_plan_and_every_part_is_named(capsys: pytest.CaptureFixture, tmp_path: Path):
    assert main(["doctor-env", "--json"]) == 0
    told = findings(capsys)
    assert told["TensorFlow"] == ("fine", "2.21.0")
    assert told["Keras"][1].startswith("3.15.")
    assert told["Window"][1].endswith(" on offscreen")
    assert told["Cache"] == ("fine", str(tmp_path / "cache"))
    expected = "Python Sandbox Settings Calibrations CUDA"
    assert {*expected.split(), "Temporary folder", "Free disk", "NVIDIA driver", "Compile check"} <= set(told)
    assert list(tmp_path.iterdir()) == []


def test_that_a_missing_python_is_reported_with_exit_code_1(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PLIMSOLL_PYTHON", "/nowhere/python")
    assert main(["doctor-env"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "✗ Python" in told
    assert "/nowhere/python" in told
    assert "Planning does not work yet: Python, TensorFlow, Keras." in told


def test_that_a_tensorflow_that_fails_to_load_is_missing_and_the_rest_is_reported(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tensorflow.py").write_text("raise ImportError('libtensorflow_cc.so.2 is gone')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    monkeypatch.setenv("QT_QPA_PLATFORM", "no_such_platform")
    assert main(["doctor-env", "--json"]) == 1
    told = findings(capsys)
    assert told["TensorFlow"][0] == "missing"
    assert "libtensorflow_cc.so.2 is gone" in told["TensorFlow"][1]
    assert told["Python"][0] == "fine"
    assert "no_such_platform" in told["Window"][1]
