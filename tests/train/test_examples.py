"""The Python of README and guide, run as it stands."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from children import QUIET, SECONDS, clean
from planning import cpu_entry, plan

from planner_app.files.plans import write_plan

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "planner_app" / "data" / "guide"
TRAINING = {"README": ROOT / "README.md", "guide": GUIDE / "training.md"}
ASKING = {"README": ROOT / "README.md", "guide": GUIDE / "api.md"}
DEMO = ROOT / "planner_app" / "data" / "demo.keras"
BATCH = 16
OURS = ("from planner_app", "import ", "plan.", "with plan.")  # how a line of Python that uses us starts
NOT_RUN = ("model.measure(", "model.compile_check(")  # minutes, and tested elsewhere
# What the examples take for granted: data, a function that builds a model, and the plan's GPU is this CPU.
BEFORE = """
import os, warnings
warnings.simplefilter("ignore")
import numpy as np
x = np.random.default_rng(0).normal(size=(40, 8)).astype("float32")
y = x[:, :2]

def build():
    import keras
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(2)])

def build_trial(hp):
    model = build()
    model.compile("adam", "mse")
    return model
"""


def blocks(page: Path) -> list[str]:
    """Code blocks, without their indentation."""
    found = re.findall(r"(?:^(?:    .*|)\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    return ["\n".join(line[4:] for line in block.strip("\n").splitlines()) for block in found if block.strip()]


def examples(page: Path) -> list[str]:
    """Blocks that import from us to train, the first with those that go on with what it has made."""
    found: list[str] = []
    for block in blocks(page):
        if "from planner_app.train" in block:
            found.append(block)
        elif block.startswith("plan.fit("):
            found[0] += f"\n{block}"
    return found


def asked(page: Path) -> list[str]:
    """Blocks that ask about a model, and the calls of the table."""
    table = re.findall(r"^\|.*\| `(model\..*)` \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    calls = [call for call in table if not call.startswith(NOT_RUN)]
    return [*(block for block in blocks(page) if "from planner_app import" in block), *calls]


def run(folder: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=clean() | QUIET | environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def with_plans(folder: Path, text: str) -> None:
    """Every plan that a text names."""
    for name in set(re.findall(r"\b([a-z]+\.plan\.json)", text)):
        write_plan(folder / name, plan(BATCH, cpu_entry(BATCH, 1, 1, 2), sizes=[32, 4, 8, 2]))


def test_that_no_block_of_python_is_left_out():
    left = [
        block
        for page in (*GUIDE.glob("*.md"), ROOT / "README.md")
        for block in blocks(page)
        if any(line.lstrip().startswith(OURS) for line in block.splitlines())
        and not any(block in text for text in (*examples(page), *asked(page)))
    ]
    assert left == []


@pytest.mark.parametrize("page", TRAINING)
def test_that_the_training_examples_run_as_they_stand(page, tmp_path):
    text = examples(TRAINING[page])
    assert text
    with_plans(tmp_path, "\n".join(text))
    parts = [BEFORE]
    for block in text:
        needs = [name for name in ("keras_tuner", "optuna") if re.search(rf"\b{name}\.", block)]
        parts += [f"import {name}" for name in needs]
        parts.append("model = build()" if "fits(model, batch=256" in block else "")
        parts.append(block)
    (tmp_path / "example.py").write_text("\n\n".join(parts))
    said = run(tmp_path, "example.py", **({"PLIMSOLL_DEVICE": "cpu"} if page == "guide" else {}))
    if page == "guide":
        assert (tmp_path / "memory.json").exists()
        assert (tmp_path / "memory.csv").read_text().startswith("update,epoch,rung,peak_bytes")
        assert list((tmp_path / "logs").glob("events.*"))
        assert "memory in epoch 1:" in said
        assert "memory by term: weights" in said


def test_that_the_supervised_examples_run_as_they_stand(tmp_path):
    page = TRAINING["guide"].read_text(encoding="utf-8")
    (command,) = re.findall(r"^    (plimsoll run .*)$", page, re.MULTILINE)[:1]
    (call,) = re.findall(r"`(planner_app\.train\.supervise\(.*\))`", page)
    with_plans(tmp_path, command)
    script = next(block for block in blocks(TRAINING["guide"]) if "from planner_app.train" in block)
    (tmp_path / "train.py").write_text(f"{BEFORE}\n\n{script}")
    run(tmp_path, "-m", "planner_app", *shlex.split(command)[1:])
    run(tmp_path, "-c", f"import planner_app.train; assert {call}.finished")
    assert (tmp_path / "demo.plan.run" / "run.json").exists()


@pytest.mark.parametrize("page", ASKING)
def test_that_the_questions_run_as_they_stand(page, tmp_path):
    text = asked(ASKING[page])
    assert text
    for name in set(re.findall(r'"([a-z0-9]+\.keras)"', "\n".join(text))):
        shutil.copy(DEMO, tmp_path / name)
    (tmp_path / "example.py").write_text("\n".join(text))
    run(tmp_path, "example.py", PLIMSOLL_COMPILER="never")
    if page == "README":
        assert (tmp_path / "resnet.plan.json").exists()
