"""Keras on JAX in real workers: what is held, lowered and compiled, beside a real fit on simulated devices."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from planner_app.core.estimate.level import Source
from planner_app.core.measure.compare import STATE
from planner_app.core.measure.measurement import Place
from planner_app.core.measure.sample import why_not_calibrating
from planner_app.core.model.setup import Backend, Setup
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import Mesh
from planner_app.errors import ModelError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.traces import TraceCache
from planner_app.planner.compile import Compiler
from planner_app.planner.lines import Ask
from planner_app.planner.measuring.compare import compare_with_estimate
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import check_model
from planner_app.planner.planner import Planner
from tests.sharding.truth import CASES, RESULTS, compared, state_of

HERE = Path(__file__).parent
L4 = "NVIDIA L4"

STEPS = """
import keras

class ForJax(keras.Model):
    def train_step(self, state, data):
        logs, state = super().train_step(state, data)
        return logs, state

class ForTensorFlow(keras.Model):
    def train_step(self, data):
        return super().train_step(data)

def built(kind):
    x = keras.Input((8,))
    model = kind(x, keras.layers.Dense(4, name="only")(x))
    model.compile("sgd", "mse")
    return model

def for_jax():
    return built(ForJax)

def for_tensorflow():
    return built(ForTensorFlow)

def without_tensorflow():
    import sys
    assert "tensorflow" not in sys.modules and keras.backend.backend() == "jax"
    return built(keras.Model)
"""


def test_that_every_device_of_a_real_fit_holds_what_is_said_to_the_byte():
    rows = list(compared("transformer", 0, (Mesh(1, 4), Mesh(2, 2))))
    assert {row.layout for row in rows} == {"data", "auto", "fsdp"}
    assert [row for row in rows if not row.agrees] == []


def test_that_kept_results_agree_to_the_byte():
    kept = json.loads(RESULTS.read_text())
    assert {row["model"] for row in kept} == {model for model, _ in CASES}
    assert any(row["lora"] for row in kept)
    assert {row["layout"] for row in kept} == {"data", "auto", "own", "fsdp"}
    assert {row["mesh"] for row in kept} == {"1x4", "2x2", "4x1"}
    assert all(set(row["held_bytes"]) == {row["said_bytes"]} for row in kept)


def test_that_a_measured_step_holds_what_is_said_to_the_byte():
    checked = check_model(f"{HERE / 'sharded_models.py'}:dense")
    mesh, layout = Mesh(1, 2), Layout(LayoutName.AUTO)
    setup = Setup(batch=8, backend=Backend.JAX, mesh=mesh, layout=layout)
    measured = measure(checked, setup, Place(), steps=2)
    batch_bytes = 8 * (64 + 40) * 4
    said = state_of("dense", 0).on(mesh, layout).device_bytes + batch_bytes
    assert measured.runs[0].state_bytes == said
    books = [memory for step in measured.runs[0].steps for memory in step.memory]
    assert {(each.device, each.before_bytes) for each in books} == {("CPU:0", said), ("CPU:1", said)}
    assert all(each.peak_bytes > each.before_bytes for each in books)
    assert (measured.versions.jax, measured.versions.tensorflow) == (version("jax"), "")
    state, _ = compare_with_estimate(checked, measured).terms
    assert (state.name, state.estimated_bytes, state.measured_bytes) == (STATE, said, said)
    assert "nothing about GPUs" in why_not_calibrating(measured)


def test_that_the_compilers_arguments_are_the_state_and_the_batch(tmp_path):
    checked = check_model(f"{HERE / 'sharded_models.py'}:transformer")
    layout, mesh = Layout(LayoutName.AUTO), Mesh(2, 2)
    setup = Setup(batch=8, backend=Backend.JAX, mesh=mesh, layout=layout)
    with Compiler(checked) as compiler:
        check = compiler.check(setup, find_device(L4))
    batch_bytes = 2 * 4 * 16 * 4  # words and targets, of four samples and sixteen words, on each row of the mesh
    assert check.compiled.argument_bytes == state_of("transformer", 0).on(mesh, layout).device_bytes + batch_bytes
    assert check.compiled.temp_bytes > 0
    assert any(buffer.layer for buffer in check.compiled.buffers)


def test_that_an_estimate_on_jax_is_near_the_compilers_figure(tmp_path):
    planner = Planner(
        check_model(f"{HERE / 'sharded_models.py'}:transformer"), ask=Ask.NEVER, cache=TraceCache(tmp_path)
    )
    setup, device = Setup(batch=512, backend=Backend.JAX), find_device(L4)
    estimated = planner.estimate(setup, device)
    planner.ask = Ask.ALWAYS
    compiled = planner.estimate(setup, device)
    assert (estimated.source, compiled.source) == (Source.ESTIMATE, Source.COMPILER)
    assert estimated.state_bytes == compiled.state_bytes
    assert compiled.peak_bytes == pytest.approx(estimated.peak_bytes, rel=0.3)
    assert sum(compiled.breakdown.values()) == compiled.peak_bytes


def test_that_steps_of_the_models_own_are_traced_if_they_are_written_for_jax(tmp_path):
    file = tmp_path / "steps.py"
    file.write_text(STEPS)
    setup, device = Setup(batch=8, backend=Backend.JAX), find_device(L4)

    def estimated(name: str) -> int:
        model = check_model(f"{file}:{name}")
        return Planner(model, ask=Ask.NEVER, cache=TraceCache(tmp_path / "cache")).estimate(setup, device).state_bytes

    assert estimated("for_jax") == estimated("without_tensorflow")
    with pytest.raises(
        ModelError, match=r"not written for JAX: it takes data, expected train_step\(self, state, data\)"
    ):
        estimated("for_tensorflow")
