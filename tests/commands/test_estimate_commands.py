"""`plimsoll estimate`, `sweep` and `max-batch` as a user runs them, on the model that ships with the package."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import planner_app
from planner_app.cli import main

pytestmark = pytest.mark.usefixtures("same_workers")

PACKAGE = Path(planner_app.__file__).parent
DEMO = str(PACKAGE / "data" / "demo.keras")
MIB = 1 << 20
KEYS = (
    "peak_bytes low_bytes high_bytes live_bytes temp_bytes state_bytes device_bytes capacity_bytes fits breakdown "
    "layers batch per_gpu_batch precision optimizer gpus jit seconds"
)
LAYER_KEYS = "name class_name weights_bytes gradients_bytes optimizer_bytes activation_bytes peak_bytes"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        written = capsys.readouterr()
        return code, written.out, written.err

    return run


def answer(run: Run, command: str, *arguments: str, code: int = 0) -> dict:
    found, out, err = run(command, DEMO, *arguments, "--json")
    assert (found, err) == (code, "")
    return json.loads(out)


def test_that_json_has_every_key_and_the_parts_sum(run):
    found = answer(run, "estimate", "--batch", "32")
    assert set(KEYS.split()) <= found.keys()
    assert all(set(LAYER_KEYS.split()) <= layer.keys() for layer in found["layers"])
    assert found["low_bytes"] <= found["peak_bytes"] <= found["high_bytes"]
    assert 0 < found["state_bytes"] < found["live_bytes"] <= found["peak_bytes"]
    assert sum(found["breakdown"].values()) == found["peak_bytes"]
    assert sum(layer["peak_bytes"] for layer in found["layers"]) == found["peak_bytes"]
    assert (found["batch"], found["per_gpu_batch"], found["gpus"], found["precision"]) == (32, 32, 1, "float32")
    assert (found["optimizer"], found["jit"]) == ("own", False)  # the one the model was saved with


def test_that_without_a_limit_nothing_is_reported_about_fitting(run):
    found = answer(run, "estimate", "--batch", "32")
    assert (found["capacity_bytes"], found["fits"]) == (None, None)
    assert found["device_bytes"] == found["peak_bytes"]  # nothing lies outside the allocator on a CPU


def test_that_on_a_gpu_there_is_more_than_the_allocator_has(run):
    found = answer(run, "estimate", "--batch", "32", "--device", "NVIDIA L4")
    assert found["device_bytes"] > found["peak_bytes"]
    assert (found["fits"], found["jit"]) == (True, True)
    assert found["capacity_bytes"] < 23034 * MIB


def test_that_the_batch_is_divided_among_gpus_and_steps(run):
    found = answer(run, "estimate", "--batch", "64", "--gpus", "2", "--accumulate", "4", "--device", "NVIDIA L4")
    assert (found["per_gpu_batch"], found["accumulate"], found["jit"]) == (8, 4, False)


def test_that_what_does_not_fit_ends_with_3(run):
    assert answer(run, "estimate", "--batch", "4096", "--device", "cpu:64MiB", code=3)["fits"] is False
    code, out, _ = run("estimate", DEMO, "--batch", "4096", "--device", "cpu:64MiB")
    assert code == 3
    assert "does not fit, " in out


def test_that_the_table_is_readable(run):
    code, out, err = run("estimate", DEMO, "--batch", "32", "--device", "NVIDIA L4")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert " in use at the peak, " in lines[0]
    assert lines[1].startswith("fits, ")
    assert lines[1].endswith("of the NVIDIA L4")
    assert " ".join(" ".join(lines[2:4]).split()) == (
        "batch 32, float32, Adam (learning_rate 0.001) from the model, loss sparse_categorical_crossentropy from the "
        "model, compiled by XLA (fusion-aware estimate)"
    )
    assert any(line.startswith("what ") and line.split() == ["what", "bytes", "share"] for line in lines)
    assert any(line.startswith("the peak is reached in the ") for line in lines)
    assert any(line.split()[:3] == ["layer", "class", "weights"] for line in lines)
    assert max(map(len, lines)) <= 120


def test_that_the_largest_batch_fits_and_one_more_does_not(run):
    found = answer(run, "max-batch", "--limit", "200MiB")
    assert {"batch", "per_gpu_batch", "limit_bytes"} <= found.keys()
    assert found["limit_bytes"] == 200 * MIB
    assert found["peak_bytes"] <= 200 * MIB
    assert found["multiple_of_8"] % 8 == 0
    assert found["power_of_2"].bit_count() == 1
    assert found["power_of_2"] <= found["batch"] < 2 * found["power_of_2"]
    for more, fits in ((0, True), (1, False)):
        batch = str(found["batch"] + more)
        code = 0 if fits else 3
        assert answer(run, "estimate", "--batch", batch, "--device", "cpu:200MiB", code=code)["fits"] is fits


def test_that_the_largest_batch_counts_gpus_and_steps(run):
    found = answer(run, "max-batch", "--gpus", "2", "--accumulate", "3", "--device", "NVIDIA L4")
    assert found["batch"] == 6 * found["per_gpu_batch"]


def test_that_where_nothing_fits_the_answer_is_none_and_3(run):
    assert answer(run, "max-batch", "--limit", "100KiB", code=3)["batch"] == 0
    code, out, _ = run("max-batch", DEMO, "--limit", "100KiB")
    assert code == 3
    assert out.startswith("Not even one sample per GPU fits: it needs ")


def test_that_the_largest_batch_is_printed_as_text_too(run):
    code, out, _ = run("max-batch", DEMO, "--limit", "200MiB")
    assert code == 0
    assert " samples per update at most: " in out.splitlines()[0]
    assert "fits up to " in out and ", tight up to " in out
    assert "as a multiple of 8" in out
    assert "as a power of two" in out


def test_that_the_cpu_needs_a_limit(run):
    code, _, err = run("max-batch", DEMO)
    assert code == 1
    assert "set one with --limit 8GiB" in err


SWEEP = ("--batches", "1,8,12,16", "--gpus", "1,2", "--devices", "NVIDIA L4,24GiB")


def test_that_a_sweep_has_a_row_for_every_point_that_makes_sense(run):
    rows = answer(run, "sweep", *SWEEP)["rows"]
    assert len(rows) == 2 * (4 + 3)  # one sample can't feed two GPUs
    assert {(row["device"], row["gpus"], row["jit"]) for row in rows} >= {
        ("NVIDIA L4", 1, True),
        ("NVIDIA L4", 2, False),
    }
    for row in rows:
        assert row["low_bytes"] <= row["peak_bytes"] <= row["high_bytes"]
        assert row["per_gpu_batch"] * row["gpus"] >= row["batch"]
        assert row["fits"] is (row["peak_bytes"] <= row["capacity_bytes"])


def test_that_a_sweep_and_an_estimate_agree(run):
    (row,) = answer(run, "sweep", "--batches", "16", "--devices", "NVIDIA L4")["rows"]
    found = answer(run, "estimate", "--batch", "16", "--device", "NVIDIA L4")
    for key in ("peak_bytes", "low_bytes", "high_bytes", "capacity_bytes", "fits", "jit"):
        assert row[key] == found[key]


def test_that_a_sweep_is_for_spreadsheets(run):
    code, out, _ = run("sweep", DEMO, *SWEEP, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert len(rows) == 14
    assert all(int(row["peak_bytes"]) > 0 and row["fits"] in ("True", "False") for row in rows)


def test_that_a_sweep_is_a_table(run):
    code, out, _ = run("sweep", DEMO, *SWEEP)
    assert code == 0
    assert out.splitlines()[0].split() == "device precision GPUs batch on each GPU in use band".split()
    assert sum("NVIDIA L4" in line for line in out.splitlines()) == 7


@pytest.mark.parametrize("command", ["estimate", "sweep", "max-batch"])
def test_that_help_says_what_there_is(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert left.value.code == 0
    for option in ("--optimizer", "--accumulate", "--jit", "--loss", "--set", "--freeze", "--remat", "--json"):
        assert option in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--batch", "3", "--gpus", "4"), "A batch of 3 can't feed 4 GPUs: use at least 4."),
        (("--batch", "8", "--device", "Voodoo 2"), "Voodoo 2"),
        (("--batch", "8", "--optimizer", "adamm"), '"adamm" is not an optimizer of Keras'),
        (("--batch", "8", "--optimizer", "sgd:momentum"), '"momentum" in optimizer "sgd:momentum" is not an option'),
        (("--batch", "8", "--set", "x"), "--set x: expected an input and its size"),
        (("--batch", "8", "--set", "x=1,two"), "--set x=1,two: expected an input and its size"),
        (("--batch", "8", "--set", "x=²"), "--set x=²: expected an input and its size"),
        (("--batch", "8", "--set", "x=0"), "--set x=0: expected an input and its size"),
    ],
)
def test_that_nonsense_gets_one_sentence(run, arguments, said):
    code, out, err = run("estimate", DEMO, *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("plimsoll: ")
    assert said in err
    assert len(err.splitlines()) == 1
    assert "bug in plimsoll" not in err


@pytest.mark.parametrize(
    "arguments", [(), ("--batch", "0"), ("--batch", "many"), ("--batch", "8", "--precision", "float8")]
)
def test_that_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(["estimate", DEMO, *arguments])
    assert left.value.code == 2
    assert "usage: plimsoll estimate" in capsys.readouterr().err


def test_that_the_command_line_never_imports_tensorflow():
    code = (
        "import sys; from planner_app.cli import main; "
        f"code = main(['estimate', {DEMO!r}, '--batch', '32', '--json']); "
        "known = {name.partition('.')[0] for name in sys.modules}; "
        "found = known & {'tensorflow', 'keras', 'tf_keras', 'h5py', 'PySide6'}; "
        "sys.exit(code or (f'imported {found}' if found else 0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert (done.returncode, done.stderr) == (0, "")
