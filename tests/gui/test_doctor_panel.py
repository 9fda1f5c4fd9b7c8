from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from waiting import wait

from planner_app.core.doctor import diagnose
from planner_app.core.estimate.estimate import estimate
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.setup import Jit, Setup
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.doctor import field
from planner_app.gui.panels.doctor.presenter import DoctorPresenter
from planner_app.gui.panels.doctor.values import IN_THE_CHART, as_limited
from planner_app.gui.panels.doctor.view import DoctorView
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.session import Session

# The demo model on a GPU that TensorFlow got 4 GiB of, in the words of TensorFlow 2.21.
BATCH = 9000
WHERE = "/job:localhost/replica:0/task:0/device:GPU:0"
LOG = f"""I0000 gpu_device.cc:2020] Created device {WHERE} with 20900 MB memory:  -> device: 0, name: NVIDIA L4, \
pci bus id: 0000:00:03.0, compute capability: 8.9
Epoch 1/5
W0000 bfc_allocator.cc:502] Allocator (GPU_0_bfc) ran out of memory trying to allocate 562.50MiB (rounded to 589824000)\
requested by op demo_resnet_1/block1_conv2_1/convolution
I0000 bfc_allocator.cc:1117] Sum Total of in-use chunks: 3.70GiB
I0000 bfc_allocator.cc:1119] Total size in pool: 4.00GiB memory_limit_: 4.00GiB available size: 0B \
curr_region_allocation_bytes_: 8.00GiB
I0000 bfc_allocator.cc:1128] Stats:
Limit:                      4294967296
InUse:                      3972844748
MaxInUse:                   3972844748
W0000 op_kernel.cc:1858] OP_REQUIRES failed at conv_ops_impl.h:1 : RESOURCE_EXHAUSTED: OOM when allocating tensor with \
shape[{BATCH},32,32,16] and type float on {WHERE} by allocator GPU_0_bfc
"""


@pytest.fixture
def view(appearance: Appearance) -> Iterator[DoctorView]:
    view = DoctorView(appearance.theme)
    view.resize(1270, 740)
    view.show()
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: DoctorView, appearance: Appearance) -> DoctorPresenter:
    return DoctorPresenter(session, view, appearance)


def paste(view: DoctorView, text: str) -> None:
    QGuiApplication.clipboard().setText(text)
    view.log.setFocus()
    QTest.keyClick(view.log, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)


def test_that_a_pasted_log_gets_its_verdict_its_lines_and_the_estimate_beside_it(
    session: Session, panel: DoctorPresenter, view: DoctorView, take_pictures: Callable
):
    paste(view, LOG)
    wait(lambda: panel.values.found is not None)
    found = panel.values.found
    assert found == diagnose([LOG.encode()], layers=[layer.path for layer in session.description.layers])
    assert (found.layer, found.requested_bytes) == ("block1_conv2", 589824000)
    assert found.verdict == view.title.text() and IN_THE_CHART in view.verdict.toPlainText()
    for each in found.evidence:
        assert f"{each.line}" in view.evidence.toPlainText() and each.text[:60] in view.evidence.toPlainText()
    wait(lambda: panel.values.beside is not None and not panel.busy)
    _beside(session, panel, view)
    take_pictures(view, "doctor")
    _filled_in(session, panel, view)


def _beside(session: Session, panel: DoctorPresenter, view: DoctorView) -> None:
    """At the batch and without XLA, as the log tells."""
    beside = panel.values.beside
    assert (beside.setup.batch, beside.setup.jit) == (BATCH, Jit.OFF)
    expected = estimate(session.planner.need(beside.setup, beside.device), beside.setup)
    assert beside.compared.peak_bytes == expected.peak_bytes
    assert beside.compared.batch_from_log and beside.compared.agrees
    assert "the estimate" in view.verdict.toPlainText() and not panel.values.stale
    assert "batch 9,000, the model's own optimizer, XLA off" in view.verdict.toPlainText()
    assert panel.values.fill == "batch 9,000, XLA off, NVIDIA L4 (4.00 GiB)"


def _filled_in(session: Session, panel: DoctorPresenter, view: DoctorView) -> None:
    before = session.choice
    view.fill.click()
    assert (session.choice.setup.batch, session.choice.setup.jit) == (BATCH, Jit.OFF)
    assert session.choice.device.name == "NVIDIA L4 (4.00 GiB)"
    assert session.need(session.choice.setup) is None or session.need(session.choice.setup).capacity_bytes < 5 << 30
    assert not view.fill.isEnabled() and not panel.values.stale
    session.undo()
    assert session.choice == before and view.fill.isEnabled()
    session.choose_setup(optimizer=replace(before.setup.optimizer, name="sgd"))
    assert panel.values.stale and view.compare.isVisible()


def test_that_a_file_is_read_in_the_background_while_the_window_responds(
    panel: DoctorPresenter, view: DoctorView, tmp_path: Path
):
    path = tmp_path / "train.log"
    path.write_bytes(b"step 17: loss 0.25, all is well with this training so far\n" * 400_000 + LOG.encode())
    moved = []
    view.file_given.emit(str(path))
    panel.slot.progressed.connect(moved.append)
    assert panel.busy and view.cancel.isVisible()
    wait(lambda: panel.values.found is not None)
    assert panel.values.found.layer == "block1_conv2"
    assert panel.values.log == "train.log"
    assert [event.of for event in moved][:1] == [path.stat().st_size // 1_000_000]
    assert panel.table().rows[0][0] > 400_000


def test_that_cancelled_reading_ends_at_once(panel: DoctorPresenter, view: DoctorView, tmp_path: Path):
    path = tmp_path / "long.log"
    path.write_bytes(b"1/100 [....] loss 0.25 Allocator\n" * 2_000_000)
    view.file_given.emit(str(path))
    view.cancel.click()
    wait(lambda: not panel.busy, seconds=10)
    assert panel.values.found is None and view.doing.text() == "Cancelled."


def test_that_a_dropped_file_is_a_log_wherever_on_the_panel(panel: DoctorPresenter, view: DoctorView, tmp_path: Path):
    path = tmp_path / "dropped.log"
    path.write_text("nothing of the kind\n")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(view, QDragEnterEvent(QPoint(5, 5), copy, data, left, none))
    QApplication.sendEvent(view, QDropEvent(QPointF(5, 5), copy, data, left, none))
    wait(lambda: panel.values.found is not None)
    assert "no out-of-memory report" in view.title.text()
    view.clear.click()
    assert panel.values.found is None and view.log.isVisible()
    view.log.insertFromMimeData(data)
    wait(lambda: panel.values.found is not None)
    assert panel.values.log == "dropped.log" and not view.log.toPlainText()


def test_that_a_text_too_long_for_the_field_is_read_all_the_same(
    panel: DoctorPresenter, view: DoctorView, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(field, "LONGEST_SHOWN", 100)
    paste(view, "Killed\n" * 50)
    wait(lambda: panel.values.found is not None)
    assert panel.values.log == "Pasted text, 51 lines" and not view.log.toPlainText()


def test_that_a_file_that_is_not_there_is_a_sentence(panel: DoctorPresenter, view: DoctorView, tmp_path: Path):
    panel.read_file(str(tmp_path / "gone.log"))
    wait(lambda: not panel.busy)
    assert "can't be read: No such file" in view.doing.text()


def test_that_a_log_that_names_no_layer_of_the_model_raises_the_question(panel: DoctorPresenter, view: DoctorView):
    paste(view, LOG.replace("block1_conv2", "dense_of_somebody_else"))
    wait(lambda: panel.values.beside is not None)
    assert "was another model trained?" in view.verdict.toPlainText()
    assert view.model.isVisible() and view.fill.isVisible(), "the model that was trained can be opened from here"
    view.clear.click()
    paste(view, LOG)
    wait(lambda: panel.values.beside is not None and panel.values.found.layer == "block1_conv2")
    assert "another model" not in view.verdict.toPlainText() and not view.model.isVisible()


def test_that_a_log_is_text_and_never_markup(panel: DoctorPresenter, view: DoctorView):
    paste(view, LOG.replace("block1_conv2_1", "<b>bold</b><img src=x>"))
    wait(lambda: panel.values.found is not None and not panel.busy)
    assert "<img src=x>" in view.evidence.toPlainText()


def test_that_a_model_or_code_dropped_there_is_not_read_as_a_log(
    panel: DoctorPresenter, view: DoctorView, tmp_path: Path
):
    code = tmp_path / "models.py"
    code.write_text("def build(): ...\n")
    model = tmp_path / "model.keras"
    given: list[str] = []
    panel.other_file_given.connect(given.append)
    for path in (code, model):
        view.file_given.emit(str(path))
    assert given == [str(code), str(model)] and not panel.busy and panel.values.log == ""


@pytest.mark.parametrize("mib", (300, 512, 900, 5000))  # TensorFlow leaves less to others below 2 GiB
def test_that_a_device_has_the_limit_that_the_log_tells(mib: int):
    found = replace(diagnose([LOG.encode()]), limit_bytes=mib << 20)
    for device in map(find_device, ("NVIDIA Tesla T4", "NVIDIA H100 SXM5 80GB")):
        assert allocator_limit_bytes(as_limited(device, found)) == pytest.approx(mib << 20, rel=1e-3)


def test_that_the_device_of_a_failed_run_takes_the_place_of_the_chosen_one():
    first, second, failed = map(find_device, ("NVIDIA L4", "NVIDIA H100 SXM5 80GB", "NVIDIA Tesla T4"))
    choice = Choice(Setup(batch=8), first, (first, second)).as_run_on(Setup(batch=64), failed)
    assert (choice.setup.batch, choice.device, choice.devices) == (64, failed, (second, failed))
