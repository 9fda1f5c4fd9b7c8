"""The training examples of README and guide, run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from children import QUIET, SECONDS, clean
from planning import cpu_entry, plan

from planner_app.files.plans import write_plan

ROOT = Path(__file__).parents[2]
PAGES = {"README": ROOT / "README.md", "guide": ROOT / "planner_app" / "data" / "guide" / "training.md"}
BATCH = 16
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


def examples(page: str) -> list[str]:
    """Code blocks that import from us, each with those that go on with what it has made."""
    blocks = re.findall(r"(?:^(?:    .*|)\n)+", PAGES[page].read_text(), re.MULTILINE)
    code = ["\n".join(line[4:] for line in block.strip("\n").splitlines()) for block in blocks]
    found: list[str] = []
    for block in code:
        if "from planner_app.train" in block:
            found.append(block)
        elif block.startswith("plan.fit("):
            found[0] += f"\n{block}"
    return found


@pytest.mark.parametrize("page", PAGES)
def test_that_the_examples_run_as_they_stand(page, tmp_path):
    text = examples(page)
    assert text
    for name in set(re.findall(r'"([a-z]+\.plan\.json)"', "\n".join(text))):
        write_plan(tmp_path / name, plan(BATCH, cpu_entry(BATCH, 1, 1, 2), sizes=[32, 4, 8, 2]))
    parts = [BEFORE]
    for block in text:
        needs = [name for name in ("keras_tuner", "optuna") if re.search(rf"\b{name}\.", block)]
        parts += [f"import {name}" for name in needs]
        parts.append("model = build()" if "fits(model, batch=256" in block else "")
        parts.append(block)
    (tmp_path / "example.py").write_text("\n\n".join(parts))
    environment = clean() | QUIET | {"PLIMSOLL_DEVICE": "cpu" if page == "guide" else ""}
    run = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env={name: value for name, value in environment.items() if value},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    if page == "guide":
        assert (tmp_path / "run.json").exists()
        assert (tmp_path / "memory.csv").read_text().startswith("update,epoch,rung,peak_bytes")
        assert list((tmp_path / "logs").glob("events.*"))
        assert "memory in epoch 1:" in run.stdout
        assert "memory by term: weights" in run.stdout
