"""One question, asked everywhere: what is the largest batch on this GPU? One number, and one that is sure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from turning import turn

from planner_app import open_model
from planner_app.cli import main
from planner_app.core.model.setup import Jit
from planner_app.data import FOLDER
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.theme import Appearance, Look
from planner_app.gui.panels.chart.presenter import ChartPresenter
from planner_app.gui.panels.chart.view import ChartView
from planner_app.gui.state.session import Session

pytestmark = pytest.mark.usefixtures("same_workers")

DEVICE = "3GiB:8.6"
WAIT_MS, PAUSE_MS = 240_000, 50


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, Path(__file__).with_name("saved_models.py"), folder], check=True)
    return {"demo": str(FOLDER / "demo.keras")} | {path.stem: str(path) for path in folder.glob("*.keras")}


@pytest.mark.parametrize("name", ["demo", "perceptron", "text"])
def test_that_every_place_gives_the_same_largest_batch(name, files, tmp_path, capsys, qapp: QApplication):
    file = files[name]
    expected = command(capsys, "max-batch", file)
    numbers = expected["batch"], expected["sure_batch"]
    assert 0 < numbers[1] <= numbers[0]
    assert from_api(file) == numbers
    assert from_advice(file, capsys, too_many=2 * numbers[0]) == numbers
    plan = tmp_path / "the.plan.json"
    assert from_plan(file, capsys, plan) == numbers
    assert from_check(capsys, plan) == numbers
    assert from_shop(file, capsys) == numbers
    assert from_chart(file, qapp) == numbers


def test_that_the_largest_batch_fits_and_one_more_does_not(files, capsys):
    found = command(capsys, "max-batch", files["demo"])
    most, sure = found["batch"], found["sure_batch"]
    assert sure + 1 < most

    def verdict(batch: int) -> str:
        return command(capsys, "estimate", files["demo"], "--batch", str(batch), code=None)["verdict"]

    asked = (sure, sure + 1, most, most + 1)
    assert [verdict(batch) for batch in asked] == ["fits", "tight", "tight", "does not fit"]


def command(capsys, name: str, *arguments: str, code: int | None = 0) -> dict:
    found = main([name, *arguments, "--device", DEVICE, "--jit", "off", "--json"])
    assert code is None or found == code
    return json.loads(capsys.readouterr().out)


def from_api(file: str) -> tuple[int, int]:
    found = open_model(file, progress=False).max_batch(device=DEVICE, jit="off")
    return found.batch, found.sure_batch


def from_advice(file: str, capsys, too_many: int) -> tuple[int, int]:
    advice = command(capsys, "advise", file, "--batch", str(too_many))
    (smaller,) = (way for way in advice["options"] if [each["kind"] for each in way["changes"]] == ["batch"])
    return smaller["largest_batch"], smaller["setup"]["batch"]


def from_plan(file: str, capsys, plan: Path) -> tuple[int, int]:
    largest = command(capsys, "plan", file, "--batch", "64", "-o", str(plan))["devices"][0]["largest"]
    return largest["per_gpu_batch"], largest["sure_per_gpu_batch"]


def from_check(capsys, plan: Path) -> tuple[int, int]:
    assert main(["check", str(plan), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["devices"]
    return found["largest_batch"], found["sure_batch"]


def from_shop(file: str, capsys) -> tuple[int, int]:
    def largest(*more: str) -> int:
        asked = ["shop", file, "--batch", "64", "--devices", DEVICE, "--gpus", "1", "--jit", "off", "--json", *more]
        assert main(asked) == 0
        (option,) = json.loads(capsys.readouterr().out)["options"]
        return option["largest_batch"]

    return largest(), largest("--sure")


def from_chart(file: str, qapp: QApplication) -> tuple[int, int]:
    session, view, appearance = (
        Session(find_device(DEVICE)),
        ChartView(Appearance(qapp, Look.LIGHT).theme),
        Appearance(qapp, Look.LIGHT),
    )
    try:
        session.choose_setup(jit=Jit.OFF)
        chart = ChartPresenter(session, view, appearance)
        session.open(file)
        for _ in range(WAIT_MS // PAUSE_MS):
            turn(PAUSE_MS)
            chosen = next((series for series in chart.picture.series if series.chosen), None)
            if chosen is not None and chosen.sure is not None and session.answers.idle:
                return chosen.largest, chosen.sure
        raise AssertionError("The chart did not come.")
    finally:
        session.close()
