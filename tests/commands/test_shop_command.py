"""`plimsoll shop` and `plimsoll max-input` as a user runs them, on the model that ships with the package."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

import planner_app
from planner_app.cli import main
from planner_app.commands.ask import shop as command
from planner_app.files.devices import catalogue as devices

DEMO = str(Path(planner_app.__file__).parent / "data" / "demo.keras")
KEYS = (
    "device segment gpus batch per_gpu_batch accumulate precision jit peak_bytes low_bytes high_bytes limit_bytes "
    "headroom_bytes verdict largest_batch usd_per_hour usd_per_hour_old usd_per_hour_source usd_per_hour_date "
    "usd usd_old watts seconds_per_update samples_per_second speed_source usd_per_million_samples front notes"
)

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.usefixtures("same_workers")


class Day(date):
    """The day on which the catalogue's prices were looked at: on a later one they would all be old."""

    @classmethod
    def today(cls) -> date:
        return date(2026, 9, 1)


@pytest.fixture(scope="module", autouse=True)
def one_day() -> Iterator[None]:
    """Our own devices alone, and the day stands still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "user_file", lambda: Path("no such file"))
        patch.setattr(command, "date", Day)
        devices.catalogue.cache_clear()
        yield
    devices.catalogue.cache_clear()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        written = capsys.readouterr()
        return code, written.out, written.err

    return run


def answer(run: Run, *arguments: str, code: int = 0) -> dict:
    found, out, err = run("shop", DEMO, *arguments, "--json")
    assert (found, err) == (code, "")
    return json.loads(out)


def test_that_every_device_is_answered_for_and_the_best_comes_first(run):
    found = answer(run, "--batch", "65536")
    assert set(KEYS.split()) <= found["options"][0].keys()
    named = {row["device"] for row in (*found["options"], *found["why_not"])}
    assert named == {device.name for device in devices.catalogue().devices if device.whole}
    prices = [row["usd_per_hour"] for row in found["options"]]
    known = [price for price in prices if price is not None]
    assert prices == sorted(known) + [None] * (len(prices) - len(known))  # what is not known comes last
    assert 0 not in prices


def test_that_offers_fit_and_refusals_do_not(run):
    found = answer(run, "--batch", "65536", "--every-count")
    asked = [(row["device"], row["gpus"]) for row in (*found["options"], *found["refused"])]
    assert len(asked) == len(set(asked))
    assert {number for _, number in asked} == set(range(1, 17))
    for row in found["options"]:
        assert row["peak_bytes"] <= row["limit_bytes"]
        assert row["per_gpu_batch"] == -(-65536 // row["gpus"])
        assert row["jit"] is (row["gpus"] == 1 or row["backend"] == "jax")
    reason = next(row["reason"] for row in found["refused"] if (row["device"], row["gpus"]) == ("NVIDIA L4", 1))
    assert reason.startswith("needs ")
    assert reason.endswith("L4 gives 20.4 GiB")


def test_that_it_agrees_with_estimate(run):
    shopped = answer(run, "--batch", "8192", "--devices", "NVIDIA L4", "--gpus", "1")["options"][0]
    _, out, _ = run("estimate", DEMO, "--batch", "8192", "--device", "NVIDIA L4", "--json")
    estimated = json.loads(out)
    assert shopped["peak_bytes"] == estimated["peak_bytes"]
    assert shopped["limit_bytes"] == estimated["capacity_bytes"]


def test_that_half_precision_needs_less_and_not_more(run):
    full, half = (
        answer(run, "--batch", "8192", "--devices", "H100 SXM", "--gpus", "2", "--precisions", precision)["options"][0]
        for precision in ("float32", "mixed_bfloat16")
    )
    assert 0.4 * full["peak_bytes"] < half["peak_bytes"] < full["peak_bytes"]
    assert half["samples_per_second"] > full["samples_per_second"]


def test_that_gradients_are_accumulated_only_if_allowed(run):
    setup = ("--batch", "65536", "--devices", "NVIDIA L4", "--gpus", "1")
    assert answer(run, *setup, code=3)["options"] == []
    (row,) = answer(run, *setup, "--accumulate-up-to", "8")["options"]
    assert (row["accumulate"], row["per_gpu_batch"]) == (2, 32768)


def test_that_limits_and_order_are_kept(run):
    found = answer(
        run, "--batch", "8192", "--sort", "speed", "--budget", "3", "--watts", "400", "--segment", "datacenter"
    )["options"]
    assert all(row["usd_per_hour"] <= 3 and row["watts"] <= 400 and row["segment"] == "datacenter" for row in found)
    speeds = [row["samples_per_second"] for row in found if row["samples_per_second"] is not None]
    assert speeds == sorted(speeds, reverse=True)
    bought = answer(run, "--batch", "8192", "--pay", "buy", "--budget", "3000")["options"]
    assert bought
    assert all(0 < row["usd"] <= 3000 for row in bought)


def test_that_slices_come_when_asked_for(run):
    found = answer(run, "--batch", "64", "--variants")["options"]
    sliced = [row for row in found if " MIG " in row["device"]]
    assert sliced
    assert {(row["gpus"], row["usd_per_hour"]) for row in sliced} == {(1, None)}


def test_that_the_table_says_what_people_ask(run):
    code, out, err = run("shop", DEMO, "--batch", "65536", "--gpus", "1")
    assert (code, err) == (0, "")
    assert "unknown" in out
    assert "samples/s: expected (~), from data sheets and what published trainings reached" in " ".join(out.split())
    assert "don't fit it in any number" in out
    assert "GiB per GPU (float32, 65,536 each), " in out


def test_that_a_spreadsheet_and_a_report_are_written(run, tmp_path):
    path = tmp_path / "report.html"
    code, out, _ = run("shop", DEMO, "--batch", "8192", "--csv", "--html", str(path))
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) > 80
    assert "" not in {row["usd_per_hour"] for row in rows}
    page = path.read_text()
    assert page.startswith("<!doctype html>")
    assert "GPUs to train demo_resnet" in page
    assert "http" not in page


def test_that_twice_the_resolution_is_shopped_for_too(run, tmp_path):
    setup = ("--batch", "8192", "--gpus", "1", "--devices", "NVIDIA L4", "--twice")
    (later,) = answer(run, *setup, "--html", str(tmp_path / "report.html"))["later"]
    assert (later["what"], later["inputs"]) == ("resolution", {"pictures": [64, 64, 3]})
    now = answer(run, *setup[:-1])["options"][0]
    assert 3 < later["best"]["peak_bytes"] / now["peak_bytes"] <= 4
    assert "resolution 2 times: pictures 64,64,3" in (tmp_path / "report.html").read_text()


def test_that_nothing_within_the_limits_is_exit_code_3(run):
    code, out, err = run("shop", DEMO, "--batch", "8192", "--budget", "0.0001")
    assert (code, err) == (3, "")
    assert out.startswith("None of ")


def test_that_a_missing_batch_is_reported(capsys):
    assert main(["shop", DEMO]) != 0
    assert "add --batch N, or --again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--batch", "0"], "is not a positive integer"),
        (["--batch", "8", "--precisions", "int8"], "'int8' is not a precision"),
        (["--batch", "8", "--precisions", ","], "at least one precision"),
        (["--batch", "8", "--gpus", "0-4"], "is not a positive integer"),
        (["--batch", "8", "--gpus", "4-2"], "as in 1,2,4 or 1-16"),
        (["--batch", "8", "--gpus", "1-999999999"], "as in 1,2,4 or 1-16"),
        (["--batch", "8", "--gpus", ","], "expected GPU counts"),
        (["--batch", "8", "--budget", "cheap"], "not a positive amount of dollars"),
        (["--batch", "8", "--budget", "inf"], "not a positive amount of dollars"),
        (["--batch", "8", "--segment", "toaster"], "invalid choice"),
    ],
)
def test_that_wrong_usage_is_reported(capsys, arguments, why):
    with pytest.raises(SystemExit) as ended:
        main(["shop", DEMO, *arguments])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--devices", "L5"], "No device is called 'L5'"),
        (["--devices", "cpu"], "shop compares GPUs only"),
        (["--devices", "NVIDIA L4", "--html", "/no/such/folder/report.html"], "can't be written"),
    ],
)
def test_that_what_cannot_be_done_is_a_sentence(run, arguments, why):
    code, _, err = run("shop", DEMO, "--batch", "8192", "--gpus", "1", *arguments)
    assert code == 1
    assert why in err


def test_that_a_size_can_be_shopped_with(run):
    (row,) = answer(run, "--batch", "8192", "--gpus", "1", "--devices", "24GiB:8.9")["options"]
    assert (row["device"], row["usd"], row["samples_per_second"]) == ("24GiB:8.9", None, None)


def test_that_the_largest_picture_is_found(run):
    code, out, err = run("max-input", DEMO, "--batch", "65536", "--gpus", "16", "--device", "RTX 4060", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    (way,) = found["ways"]
    assert found["per_gpu_batch"] == 4096
    assert way["now"]["inputs"] == {"pictures": [32, 32, 3]}
    assert way["largest"]["peak_bytes"] <= way["limit_bytes"]
    assert way["twice"]["peak_bytes"] > way["limit_bytes"]
    assert way["largest"]["size"] == 32  # in steps of 32


def test_that_max_input_needs_a_limit(run):
    code, _, err = run("max-input", DEMO, "--batch", "8")
    assert (code, "has no memory limit of its own" in err) == (1, True)


def test_that_a_scenario_asks_its_own_question_again(run, tmp_path):
    kept = str(tmp_path / "question.json")
    asked = ("--samples", "1000", "--devices", "L4,Tesla T4", "--gpus", "1", "--pay", "cloud", "--scenario", kept)
    assert run("shop", DEMO, "--batch", "64", *asked)[0] == 0
    code, out, err = run("shop", DEMO, "--again", kept, "--json")
    found = json.loads(out)
    assert (code, err, found["run"]["pay"]) == (0, "", "cloud")
    assert {each["device"] for each in found["proposals"]} == {"NVIDIA L4", "NVIDIA Tesla T4"}
    assert [each["changes"] for each in found["changes"]] == [[], []]
