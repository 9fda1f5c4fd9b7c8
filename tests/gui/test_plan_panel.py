import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from waiting import wait

from planner_app.core.estimate.need import Needs
from planner_app.core.measure.calibration import Sample
from planner_app.core.model.setup import Jit, Precision
from planner_app.core.plan.ladder import PlanRequest, needed_steps, plan_of
from planner_app.core.plan.plan import Plan
from planner_app.core.plan.script import script_of
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.plans import plan_text, read_plan
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.plan.presenter import PlanPresenter
from planner_app.gui.panels.plan.view import PlanView
from planner_app.gui.panels.setup.presenter import SetupPresenter
from planner_app.gui.panels.setup.view import SetupView
from planner_app.gui.state.session import Session
from planner_app.jobs.versions import figures_depend_on
from planner_app.planner.plan import versions

BATCH = 36_000  # does not fit an L4 at once


@pytest.fixture
def view(appearance: Appearance) -> Iterator[PlanView]:
    view = PlanView(appearance.theme)
    view.resize(1270, 225)
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: PlanView, appearance: Appearance) -> PlanPresenter:
    presenter = PlanPresenter(session, view, appearance)
    view.show()
    return presenter


def planned(session: Session, panel: PlanPresenter) -> Plan:
    """The plan in view, once it is that of the chosen setup."""

    def there() -> bool:
        plan = panel.values.plan
        return plan is not None and plan.training.global_batch == session.choice.setup.batch and session.answers.idle

    wait(there)
    return panel.values.plan


def test_that_the_plan_in_view_is_the_one_that_the_core_makes(
    session: Session, panel: PlanPresenter, view: PlanView, take_pictures: Callable
):
    session.choose_setup(batch=BATCH)
    view.fields.lower_precision.setCurrentText("mixed_float16")
    plan = planned(session, panel)
    request = PlanRequest(session.choice.setup, (session.choice.device,), (Precision.MIXED_FLOAT16,))
    memories = {step: session.memories[step] for step in needed_steps(request)}
    model = session.opened.checked
    assert plan == plan_of(
        model, Needs(memories), request, file="demo.keras", created=plan.created, versions=versions()
    )
    rungs = plan.devices[0].rungs
    assert rungs[0].accumulate == 2 and rungs[-1].precision is Precision.MIXED_FLOAT16
    assert view.ladder.rowCount() == len(rungs) == len(panel.table().rows)
    assert json.loads(view.json.toPlainText()) == json.loads(plan_text(plan))
    assert "TF_FORCE_GPU_ALLOW_GROWTH" in view.paper.toPlainText()
    assert "18,000 in 2 steps" in view.paper.toPlainText()
    take_pictures(view, "plan", lambda theme: [theme.good, theme.bad])


def test_that_what_the_script_does_beside_the_steps_is_in_the_plan(
    session: Session, panel: PlanPresenter, view: PlanView
):
    session.choose_setup(batch=96, gpus=2)
    before = planned(session, panel)
    view.fields.memory.setCurrentText("as needed")
    view.fields.prefetch.setValue(5)
    view.fields.cache.setValue(50_000)
    view.fields.hosts.setText("one:2222, two:2222")
    view.fields.hosts.editingFinished.emit()
    wait(lambda: panel.values.plan is not None and panel.values.plan is not before and panel.values.plan.hosts)
    plan = panel.values.plan
    assert plan.devices[0].memory.growth and plan.hosts == ("one:2222", "two:2222")
    assert plan.input.prefetch_batches == 5 and plan.input.host_bytes > before.input.host_bytes
    session.choose_setup(gpus=1)
    wait(lambda: panel.values.bad)
    assert panel.values.note.startswith("1 GPUs can't be divided evenly among 2 hosts")


def test_that_a_plan_uses_calibrations(session: Session, panel: PlanPresenter):
    session.choose_setup(batch=96)
    alone = planned(session, panel)
    device = session.choice.device.name
    sample = Sample("demo", "", "batch 96", "2026-11-16T05:00:00Z", 1000, (1250,))
    Calibrations().add(sample, device=device, **figures_depend_on(), driver=None, xla=True)
    session.calibrate()
    wait(lambda: panel.values.plan is not alone)
    peak, before = (plan.devices[0].rungs[0].peak for plan in (planned(session, panel), alone))
    assert peak.expected_bytes == round(before.expected_bytes * 1.25)
    assert any(text.startswith(f"Calibrated with one measurement on {device}") for text in panel.values.plan.warnings)
    Calibrations().forget()
    session.calibrate()
    wait(lambda: panel.values.plan.devices[0].rungs[0].peak.expected_bytes == before.expected_bytes)


def test_that_a_saved_plan_opens_again_and_brings_its_setup_and_device(
    session: Session, panel: PlanPresenter, view: PlanView, tmp_path: Path
):
    session.choose_setup(batch=96)
    plan = planned(session, panel)
    panel.save_plan(str(tmp_path / "demo"))
    path = tmp_path / "demo.plan.json"
    assert read_plan(path) == plan and 'load_plan("demo.plan.json")' in view.said.text()
    session.choose(lambda choice: replace(choice.with_setup(batch=8), device=find_device("NVIDIA A100 40GB")))
    panel.open_plan(str(path))
    assert session.choice.device.name == "NVIDIA L4"
    assert (session.choice.setup.batch, session.choice.setup.jit) == (96, Jit.ON)
    assert panel.values.plan == plan and panel.values.file == "demo.plan.json" and not panel.values.note
    session.undo()
    assert session.choice.setup.batch == 8
    wait(lambda: not panel.values.file)


def test_that_a_plan_that_rematerializes_everything_opens_beside_the_setup(
    session: Session, panel: PlanPresenter, appearance: Appearance, tmp_path: Path
):
    fields = SetupView()
    SetupPresenter(session, fields, appearance)
    plan = planned(session, panel)
    whole = replace(plan, training=replace(plan.training, remat="full"))
    (tmp_path / "full.plan.json").write_text(plan_text(whole))
    panel.open_plan(str(tmp_path / "full.plan.json"))
    assert panel.values.plan == whole
    assert session.choice.setup.remat == "full"
    assert fields.remat.currentText() == "full"


def test_that_the_script_on_the_clipboard_finds_the_plan(session: Session, panel: PlanPresenter, view: PlanView):
    plan = planned(session, panel)
    view.copy.click()
    script = QGuiApplication.clipboard().text()
    assert script == script_of(plan, "demo.plan.json") == view.script.toPlainText()
    compile(script, "train.py", "exec")


def test_that_what_does_not_fit_is_a_sentence_and_nothing_can_be_saved(
    session: Session, panel: PlanPresenter, view: PlanView
):
    planned(session, panel)
    session.choose(lambda choice: replace(choice, device=find_device("256KiB")))
    wait(lambda: panel.values.bad)
    assert "does not fit" in view.paper.toPlainText()
    assert not view.save.isEnabled() and not view.copy.isEnabled()


def test_that_a_plan_for_every_device_on_the_chart_has_an_entry_for_each(
    session: Session, panel: PlanPresenter, view: PlanView
):
    session.choose(lambda choice: replace(choice, devices=(*choice.devices, find_device("NVIDIA A100 40GB"))))
    planned(session, panel)
    view.fields.every.setChecked(True)
    wait(lambda: panel.values.plan is not None and len(panel.values.plan.devices) == 2)
    assert [entry.device.name for entry in panel.values.plan.devices] == [each.name for each in session.choice.devices]
    assert not view.ladder.isColumnHidden(0)


@pytest.mark.parametrize(("text", "sentence"), [("no plan at all", "demo.json"), ('{"schema_version": 99}', "99")])
def test_that_a_file_that_is_not_a_plan_is_a_sentence_and_changes_nothing(
    session: Session, panel: PlanPresenter, view: PlanView, tmp_path: Path, text: str, sentence: str
):
    before = session.choice
    (tmp_path / "demo.json").write_text(text)
    panel.open_plan(str(tmp_path / "demo.json"))
    assert sentence in view.said.text() and session.choice == before


def test_that_a_plan_for_another_model_says_so(session: Session, panel: PlanPresenter, view: PlanView, tmp_path: Path):
    plan = planned(session, panel)
    other = replace(plan, model=replace(plan.model, file="other.keras", sha256="0" * 64))
    (tmp_path / "other.plan.json").write_text(plan_text(other))
    panel.open_plan(str(tmp_path / "other.plan.json"))
    assert "made for other.keras" in view.paper.toPlainText()
