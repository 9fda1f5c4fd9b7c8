"""The compiler runs in the background: its figures are marks on the chart, and the band narrows around them."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from waiting import traced, wait

import planner_app
from planner_app.core.compile.check import Compiled
from planner_app.core.compile.line import Anchor, Line
from planner_app.core.estimate.level import Source
from planner_app.core.model.setup import Jit
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.background.compiling import CompileRequest, Compiling
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.chart.drawn.marks import COMPILED
from planner_app.gui.panels.chart.presenter import ChartPresenter
from planner_app.gui.panels.chart.view import ChartView
from planner_app.gui.panels.hardware.presenter import HardwarePresenter
from planner_app.gui.panels.hardware.view import HardwareView
from planner_app.gui.panels.plan.presenter import PlanPresenter
from planner_app.gui.panels.plan.view import PlanView
from planner_app.gui.panels.timeline.presenter import TimelinePresenter
from planner_app.gui.panels.timeline.view import TimelineView
from planner_app.gui.state.session import Session
from planner_app.gui.state.status import verdict
from planner_app.planner.lines import ASK_VARIABLE

DEMO = Path(planner_app.__file__).parent / "data" / "demo.keras"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


INSTALLED = all(map(_is_installed, ("jax", "jaxlib", "jax_plugins.xla_cuda12")))


@pytest.fixture
def asking(qapp: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv(ASK_VARIABLE, "")
    session = Session(find_device("NVIDIA L4"))
    session.choose_setup(jit=Jit.ON, batch=64)
    session.open(str(DEMO))
    wait(lambda: traced(session))
    yield session
    session.close()


@pytest.mark.skipif(not INSTALLED, reason="the extra xla-gpu is not installed")
def test_that_the_compilers_figure_takes_the_place_of_the_estimate(asking: Session, appearance: Appearance):
    view = ChartView(appearance.theme)
    chart = ChartPresenter(asking, view, appearance)
    setup = asking.choice.setup
    need = asking.need(setup)
    assert need is not None
    before = need.estimated(64)
    wait(lambda: asking.need(setup).line.anchor(64) is not None, 240)  # type: ignore[union-attr]
    level = asking.need(setup).level(64)  # type: ignore[union-attr]
    assert level.source is Source.COMPILER
    assert level.high_bytes - level.low_bytes < before.high_bytes - before.low_bytes
    wait(lambda: any(mark.source == COMPILED and mark.batch == 64 for mark in chart.picture.marks))
    asking.cancel()
    view.close()


def test_that_a_compiler_that_fails_leaves_the_estimate_and_is_not_asked_again(
    asking: Session, monkeypatch: pytest.MonkeyPatch
):
    command = [sys.executable, "-c", "import os; os.abort()"]
    monkeypatch.setattr("planner_app.jobs.launch.worker_command", lambda: command)
    monkeypatch.setattr("planner_app.jobs.job.worker_command", lambda: command)
    asking.choose_setup(batch=96)
    setup = asking.choice.setup
    before = asking.need(setup)
    assert before is not None
    wait(lambda: bool(asking.need(setup).line.trouble), 60)  # type: ignore[union-attr]
    after = asking.need(setup)
    assert after is not None
    assert after.level(96) == before.level(96)
    assert "the compiler gave no figure)" in verdict(asking.choice, after)[0]
    wait(lambda: asking._compiling._request is None, 10)


def test_that_closing_ends_a_compilation_that_hangs(asking: Session, monkeypatch: pytest.MonkeyPatch):
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr("planner_app.jobs.launch.worker_command", lambda: command)
    monkeypatch.setattr("planner_app.jobs.job.worker_command", lambda: command)
    assert asking.planner is not None
    told: list[str] = []
    compiling = Compiling()
    compiling.progressed.connect(told.append)
    compiling.request(CompileRequest(asking.planner, asking.choice.setup.with_batch(80), asking.choice.device, 1 << 30))
    wait(lambda: compiling._done is not None, 30)
    compiling.close()
    assert compiling._thread is not None
    assert not compiling._thread.is_alive()


def test_that_plan_and_hardware_give_the_compilers_figure_as_the_headline_does(
    session: Session, appearance: Appearance
):
    session.choose_setup(jit=Jit.ON, batch=64)
    setup, device, planner = session.choice.setup, session.choice.device, session.planner
    assert planner is not None
    lines, key = planner.lines.load(), planner.lines._key(setup, device)
    lines.pop(key, None)  # what tests before have compiled
    plan_view, shop_view = PlanView(appearance.theme), HardwareView(appearance.theme)
    plan, shop = PlanPresenter(session, plan_view, appearance), HardwarePresenter(session, shop_view, appearance)
    step_view = TimelineView(appearance.theme)
    step = TimelinePresenter(session, step_view, appearance)
    for view in (plan_view, shop_view, step_view):
        view.show()

    def figures() -> list[int]:  # the plan's, and that of the same GPU on sale
        offers = [each for each in shop.values.kept if (each.device, each.gpus, each.on_jax) == (device, 1, False)]
        rungs = plan.values.plan.devices[0].rungs[:1] if plan.values.plan is not None else ()
        return [*(each.level.peak_bytes for each in offers), *(rung.peak.expected_bytes for rung in rungs)]

    wait(lambda: traced(session) and len(figures()) == 2)
    assert set(figures()) == {session.need(setup).level(64).peak_bytes}
    said = 900 << 20
    lines[key] = Line((Anchor(64, Compiled(0, 0, 0, temp_bytes=said, peak_bytes=said)),))
    session.memories_changed.emit()  # as after a compilation
    wait(lambda: figures() == [said, said])
    assert step.values.compiler == "900 MiB"  # beside the replayed peak
    assert "The compiler says 900 MiB" in step_view.peak.text()
    del lines[key]
    for view in (plan_view, shop_view, step_view):
        view.close()
