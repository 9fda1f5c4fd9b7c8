from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from waiting import wait

from planner_app.core.hardware.device import cpu_device
from planner_app.core.measure.measurement import Order
from planner_app.core.model.setup import Backend, Setup
from planner_app.core.sharding.mesh import Mesh
from planner_app.errors import SetupError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.kept.measurements import write_measurement
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.validate.presenter import ValidatePresenter
from planner_app.gui.panels.validate.values import Kind, Wanted
from planner_app.gui.panels.validate.view import ValidateView
from planner_app.gui.state.session import Session


@pytest.fixture
def view(session: Session) -> Iterator[ValidateView]:
    view = ValidateView()
    view.resize(1270, 250)
    view.show()
    yield view
    view.close()
    session.keep_measurements(())


@pytest.fixture
def panel(session: Session, view: ValidateView, appearance: Appearance) -> ValidatePresenter:
    return ValidatePresenter(session, view, appearance)


def wanted(**fields) -> Wanted:
    usual = {"kind": Kind.SETUP, "place": "cpu", "limit": "", "batches": "", "processes": 1, "one_by_one": True}
    return Wanted(**(usual | fields))


def test_that_gpus_named_are_the_gpus_used():
    (setup,) = wanted(place="gpu:0,1").setups(Setup(batch=1))
    assert (setup.gpus, setup.batch) == (2, 2)


def test_that_a_series_of_batches_is_read_and_refused():
    assert [each.batch for each in wanted(kind=Kind.SERIES, batches="8, 16").setups(Setup(batch=1))] == [8, 16]
    with pytest.raises(SetupError, match="as in 32, 64"):
        wanted(kind=Kind.SERIES, batches="many").setups(Setup(batch=1))
    (on_jax,) = wanted().setups(Setup(batch=2, backend=Backend.JAX, gpus=2))
    assert (on_jax.mesh, wanted().order(on_jax)) == (Mesh(2), Order.ORDINARY)
    with pytest.raises(SetupError, match="no memory limit on the CPU"):
        wanted(limit="8GiB").setups(on_jax)


def test_that_a_measured_setup_is_shown_next_to_its_estimate_and_on_the_chart(
    session: Session, panel: ValidatePresenter, view: ValidateView, tmp_path: Path, take_pictures: Callable
):
    view.run.click()
    assert panel.busy and not view.run.isEnabled()
    wait(lambda: not panel.busy)
    (row,) = panel.rows
    (measurement,) = session.measurements
    assert measurement.setup == session.choice.setup
    assert abs(float(row.error.rstrip("%"))) < 12
    assert view.table.item(0, 3).text() == row.found
    assert "MiB" in row.found and not row.bad
    _opened_elsewhere(session, panel, tmp_path / "result.json")
    take_pictures(view, "validate")
    _learnt_from(session, view)


def _opened_elsewhere(session: Session, panel: ValidatePresenter, path: Path) -> None:
    write_measurement(path, session.measurements[0])
    panel.open_measurement(str(path))
    wait(lambda: not panel.busy)
    assert panel.rows[0] == panel.rows[1]
    assert len(session.measurements) == 1


def _learnt_from(session: Session, view: ValidateView) -> None:
    """Later estimates for the same device say what was measured."""
    view.calibrate_button.click()
    assert "Calibrated with one measurement on cpu" in view.log.toPlainText()
    session.choose(lambda choice: replace(choice, device=cpu_device(), devices=(cpu_device(),)))
    wait(lambda: session.estimate_of(session.choice.setup) is not None)
    question = session.estimate_of(session.choice.setup)
    assert question is not None
    measured = session.measurements[0].typical_bytes
    assert question.answer().peak_bytes == pytest.approx(measured, rel=0.001)
    Calibrations().forget()
    session.calibrate()


def test_that_running_out_of_memory_is_a_result_with_its_layer(
    session: Session, panel: ValidatePresenter, view: ValidateView
):
    session.choose_setup(batch=4096)
    view.limit.setText("300MiB")
    view.run.click()
    wait(lambda: not panel.busy)
    (row,) = panel.rows
    assert row.found == "out of memory" and row.bad
    assert "requested" in row.detail
    assert session.measurements[0].oom is not None


def test_that_a_cancelled_measurement_ends_at_once_and_leaves_the_panel_ready(
    panel: ValidatePresenter, view: ValidateView
):
    view.run.click()
    view.cancel.click()
    wait(lambda: not panel.busy, seconds=20)
    assert view.run.isEnabled()
    assert "Cancelled" in view.log.toPlainText()


@pytest.mark.parametrize(
    ("place", "limit", "kind", "sentence"),
    [
        ("moon", "", Kind.SETUP, "not a place to measure on"),
        ("cpu", "much", Kind.SETUP, "not an amount of memory"),
        ("cpu", "", Kind.LARGEST, "enter one, as in 8GiB"),
    ],
)
def test_that_invalid_input_is_reported_next_to_the_button(
    panel: ValidatePresenter, view: ValidateView, place: str, limit: str, kind: Kind, sentence: str
):
    view.place.setCurrentText(place)
    view.limit.setText(limit)
    view.kind.setCurrentText(str(kind))
    view.run.click()
    assert sentence in view.trouble.text() and view.trouble.isVisible()
    assert not panel.busy


def test_that_a_gpu_that_is_not_there_is_a_sentence(panel: ValidatePresenter, view: ValidateView):
    view.place.setCurrentText("gpu:7")
    view.run.click()
    wait(lambda: not panel.busy)
    assert view.trouble.text()


def test_that_fields_that_do_not_matter_are_hidden(view: ValidateView):
    view.kind.setCurrentText(str(Kind.COMPILE))
    assert not view.place.isVisible() and not view.batches.isVisible()
    view.kind.setCurrentText(str(Kind.SERIES))
    assert view.batches.isVisible()


def test_that_a_widget_without_results_says_so(panel: ValidatePresenter, view: QWidget):
    view.save_button.click()  # type: ignore[attr-defined]
    assert "Nothing has been measured yet" in view.trouble.text()  # type: ignore[attr-defined]
