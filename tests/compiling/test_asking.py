"""When the compiler is asked, and what the planner's answers make of what it says."""

import sys
from pathlib import Path

import pytest

import planner_app
from planner_app.core.compile.check import Buffer, Compiled
from planner_app.core.compile.line import Anchor, Line
from planner_app.core.estimate.level import Source
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Jit, Setup
from planner_app.core.plan.ladder import PlanRequest
from planner_app.core.plan.plan import SourceKind
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.traces import TraceCache
from planner_app.planner.lines import ASK_VARIABLE, Ask, default_ask
from planner_app.planner.opening import check_model
from planner_app.planner.planner import Planner

DEMO = str(Path(planner_app.__file__).parent / "data" / "demo.keras")
L4 = find_device("NVIDIA L4")
SETUP = Setup(batch=64, jit=Jit.ON)  # the demo was saved with jit_compile=False
MIB = 1 << 20


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> TraceCache:
    """Its own: the compiler may have been asked about the demo elsewhere."""
    return TraceCache(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def planner(cache: TraceCache) -> Planner:
    """The demo model, traced, with a compiler that nobody has asked."""
    planner = Planner(check_model(DEMO), ask=Ask.NEVER, cache=cache)
    planner.need(SETUP, L4)
    return planner


def says(planner: Planner, *, beside_bytes: int, at: int = 64, device: Device = L4) -> None:
    """The compiler has said this much more than the estimate."""
    estimated = planner.needs.of(SETUP, device).estimated(at)
    buffer = Buffer("fusion", "demo_resnet_1/stem_1/convolution", "stem", "f32[64,32,32,16]", 4 * MIB)
    held = planner.needs.of(SETUP, device).memory.point(at).state_bytes
    temp = estimated.peak_bytes + beside_bytes - held
    compiled = Compiled(held, 0, 0, temp, temp - MIB, (buffer,))
    planner.lines.load()[planner.lines._key(SETUP, device)] = Line((Anchor(at, compiled),), {"jax": "0.10.2"})


def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "import os; os.abort()"]
    monkeypatch.setattr("planner_app.jobs.launch.worker_command", lambda: command)
    monkeypatch.setattr("planner_app.jobs.job.worker_command", lambda: command)


def test_that_what_the_compiler_has_said_is_used_without_asking(planner: Planner):
    before = planner.estimate(SETUP, L4)
    says(planner, beside_bytes=7 * MIB)
    after = planner.estimate(SETUP, L4)
    assert (before.source, after.source) == (Source.ESTIMATE, Source.COMPILER)
    assert after.peak_bytes == before.peak_bytes + 7 * MIB
    assert after.high_bytes - after.low_bytes < before.high_bytes - before.low_bytes
    assert planner.estimate(SETUP.with_batch(96), L4).source is Source.LINE


def test_that_terms_and_layers_of_a_compiled_step_sum_to_the_compilers_figure(planner: Planner):
    says(planner, beside_bytes=7 * MIB)
    found = planner.estimate(SETUP, L4)
    assert sum(found.breakdown.values()) == found.peak_bytes
    assert sum(layer.peak_bytes for layer in found.layers) == found.peak_bytes
    stem = next(layer for layer in found.layers if layer.name == "stem")
    assert stem.peak_bytes >= 4 * MIB
    assert found.breakdown["allocator overhead"] >= MIB, "what the block has beyond its fullest moment"


def test_that_what_is_not_compiled_is_moved_by_the_line_and_still_sums(planner: Planner):
    says(planner, beside_bytes=7 * MIB)
    found = planner.estimate(SETUP.with_batch(100), L4)
    assert sum(found.breakdown.values()) == found.peak_bytes
    assert found.breakdown["by the compiler's line"] > 0


def test_that_several_gpus_and_the_cpu_are_never_the_compilers(planner: Planner):
    says(planner, beside_bytes=7 * MIB)
    assert planner.estimate(Setup(batch=64, gpus=2, jit=Jit.ON), L4).source is Source.ESTIMATE


def test_that_the_compiler_is_asked_only_where_the_verdict_hangs_on_it(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
):
    estimated = planner.estimate(SETUP, L4)
    planner.ask = Ask.WHEN_OPEN
    broken(monkeypatch)
    assert not planner.estimate(SETUP, L4, limit_bytes=2 * estimated.peak_bytes).warnings
    assert not planner.estimate(SETUP, L4, limit_bytes=estimated.low_bytes - 1).warnings
    inside = planner.estimate(SETUP, L4, limit_bytes=estimated.high_bytes - 1)
    assert inside.verdict is Verdict.TIGHT
    assert inside.peak_bytes == estimated.peak_bytes, "a compiler that fails leaves the estimate"
    assert "The compiler gave no figure at a batch of 64" in inside.warnings[-1]


def test_that_exact_always_asks(planner: Planner, monkeypatch: pytest.MonkeyPatch):
    planner.ask = Ask.ALWAYS
    broken(monkeypatch)
    assert "no figure" in planner.estimate(SETUP, L4).warnings[-1]


def test_that_the_largest_batch_is_the_one_that_was_compiled(planner: Planner):
    says(planner, beside_bytes=0, at=64)
    key = planner.lines._key(SETUP, L4)
    line = planner.lines.load()[key]
    more = Compiled(MIB, 0, 0, 900 * MIB, 900 * MIB)
    planner.lines.load()[key] = line.with_anchor(Anchor(65, more))
    found = planner.largest(SETUP.with_batch(1), L4, limit_bytes=500 * MIB)
    assert (found.batch, found.level.source) == (64, Source.COMPILER)


def test_that_a_plan_says_which_rung_was_compiled(planner: Planner):
    says(planner, beside_bytes=0)
    plan = planner.plan(PlanRequest(SETUP, (L4,)))
    first = plan.devices[0].rungs[0].peak.source
    assert (first.kind, first.versions["jax"]) == (SourceKind.COMPILE, "0.10.2")


@pytest.mark.parametrize(
    ("said", "ask"),
    [("", Ask.WHEN_OPEN), ("never", Ask.NEVER), ("ALWAYS", Ask.ALWAYS), ("when open", Ask.WHEN_OPEN)],
)
def test_that_a_variable_sets_when_the_compiler_is_asked(monkeypatch: pytest.MonkeyPatch, said: str, ask: Ask):
    monkeypatch.setenv(ASK_VARIABLE, said)
    assert default_ask() is ask


def test_that_a_file_saved_without_a_gpu_is_estimated_with_xla_and_says_so(planner: Planner):
    found = planner.estimate(Setup(batch=64), L4)
    assert found.xla
    assert "jit_compile=False" in found.trained.assumed[-1]
    assert "--jit off" in found.trained.assumed[-1]
    for chosen in (SETUP, Setup(batch=64, jit=Jit.OFF), Setup(batch=64, gpus=2)):
        assert not planner.estimate(chosen, L4).trained.assumed
