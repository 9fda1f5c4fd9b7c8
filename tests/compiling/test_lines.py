"""Lines that are compiled, kept and found again; a compiler that fails is a sentence."""

import shutil
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import planner_app
from planner_app.core.compile.anchoring import settled
from planner_app.core.compile.line import Line
from planner_app.core.estimate.level import Level, Source
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Jit, Precision, Setup
from planner_app.errors import Cancelled
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.compiled import CompileCache
from planner_app.jobs import launch
from planner_app.jobs.protocol import Limits
from planner_app.planner.lines import CompilerLines
from planner_app.planner.opening import check_model

DEMO = str(Path(planner_app.__file__).parent / "data" / "demo.keras")
L4 = find_device("NVIDIA L4")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


INSTALLED = all(map(_is_installed, ("jax", "jaxlib", "jax_plugins.xla_cuda12")))
needs_compiler = pytest.mark.skipif(not INSTALLED, reason="the extra xla-gpu is not installed")


@pytest.fixture(scope="module")
def demo() -> CheckedModel:
    return check_model(DEMO)


def estimate(batch: int) -> Level:
    """Half of what the demo takes: a poor guide."""
    temp = batch * (1 << 19)
    return Level(temp, temp // 2, 2 * temp)


@needs_compiler
def test_that_a_line_is_compiled_once_and_found_by_the_next_process(demo: CheckedModel, tmp_path: Path):
    cache = CompileCache(tmp_path)
    capacity = 200 << 20
    line = CompilerLines(demo, cache).settle(Setup(batch=1), L4, estimate, capacity)
    assert not line.trouble
    found = settled(line, capacity)
    assert found.confirmed
    assert line.level(found.batch, estimate).source is Source.COMPILER
    assert line.versions["jax-cuda12-pjrt"]
    assert any(buffer.layer for anchor in line.anchors for buffer in anchor.compiled.buffers)
    later = CompilerLines(demo, cache)
    later.load()
    shutil.rmtree(tmp_path)
    assert later.known(Setup(batch=7), L4) == line, "once loaded, the disk is not asked"


@pytest.mark.parametrize(
    ("setup", "device"),
    [
        (Setup(batch=8, gpus=2), L4),
        (Setup(batch=8, jit=Jit.OFF), L4),
        (Setup(batch=8), find_device("cpu")),
        (Setup(batch=8), find_device("24GiB")),
    ],
)
def test_that_there_is_no_line_where_xla_compiles_nothing(demo: CheckedModel, tmp_path: Path, setup, device):
    lines = CompilerLines(demo, CompileCache(tmp_path))
    assert lines.known(setup, device) == lines.compile(setup, device) == Line()
    assert lines.settle(setup, device, estimate, 1 << 30) == Line()
    assert not list(lines.fill(setup, device, estimate, 1 << 30))


def test_that_precisions_and_devices_have_lines_of_their_own(demo: CheckedModel):
    lines = CompilerLines(demo)
    setups = [Setup(batch=8, precision=precision) for precision in (Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16)]
    keys = {lines._key(setup, device) for setup in setups for device in (L4, find_device("NVIDIA Tesla T4"))}
    assert len(keys) == 4
    assert lines._key(Setup(batch=8), L4) == lines._key(Setup(batch=64), L4)


ABORTS = "import os; os.abort()"
HANGS = "import time; time.sleep(600)"
FILLS_MEMORY = "import time; held = bytearray(400 << 20); time.sleep(600)"
REFUSES = """
print('{"type": "Started", "sandbox": [], "missing": []}', flush=True)
print('{"type": "Failed", "error": "ModelError", "reason": "XLA has no CTCLoss."}', flush=True)
"""


def worker_that(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", script]
    monkeypatch.setattr(launch, "worker_command", lambda: command)
    monkeypatch.setattr("planner_app.jobs.job.worker_command", lambda: command)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (ABORTS, "killed by signal 6"),
        (HANGS, "longer than the 2 s it was allowed"),
        (FILLS_MEMORY, "more than the 200 MiB it was allowed"),
        (REFUSES, "XLA has no CTCLoss"),
    ],
)
def test_that_a_compiler_that_fails_leaves_a_sentence_and_the_estimate(
    demo: CheckedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
):
    worker_that(script, monkeypatch)
    limits = Limits(memory_bytes=200 << 20, seconds=2)
    monkeypatch.setattr("planner_app.planner.compile.trace_limits", lambda _: limits)
    lines = CompilerLines(demo, CompileCache(tmp_path))
    line = lines.compile(Setup(batch=8), L4)
    assert "no figure at a batch of 8" in line.trouble
    assert said in line.trouble
    assert line.level(8, estimate) == estimate(8)
    assert lines.settle(Setup(batch=8), L4, estimate, 1 << 30) == line, "it is not asked again"
    assert not list(lines.fill(Setup(batch=8), L4, estimate, 1 << 30))
    assert not CompileCache(tmp_path).line(lines._key(Setup(batch=8), L4)).trouble, "another day it may work"


def test_that_a_compilation_is_cancelled_within_a_second(
    demo: CheckedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    worker_that(HANGS, monkeypatch)
    lines, cancelled = CompilerLines(demo, CompileCache(tmp_path)), threading.Event()
    ended: list[object] = []

    def ask() -> None:
        try:
            ended.append(lines.compile(Setup(batch=8), L4, cancelled=cancelled))
        except Cancelled as error:
            ended.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.3)
    assert not ended
    cancelled.set()
    thread.join(10)
    assert isinstance(ended[0], Cancelled)
    assert not lines.known(Setup(batch=8), L4).trouble
