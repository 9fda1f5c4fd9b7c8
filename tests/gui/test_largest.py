from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from waiting import wait

from planner_app.core.estimate.need import Need
from planner_app.core.hardware.device import custom_device
from planner_app.core.model.setup import Precision
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.largest.presenter import LargestPresenter
from planner_app.gui.panels.largest.values import State
from planner_app.gui.panels.largest.view import LargestView
from planner_app.gui.state.session import Session

L4, T4, P100 = find_device("L4"), find_device("T4"), find_device("P100 PCIe 16GB")
TINY = custom_device("tiny", 583 << 20, (8, 0))  # hardly more than a context


@pytest.fixture
def view(appearance: Appearance) -> Iterator[LargestView]:
    view = LargestView(appearance.theme)
    view.resize(970, 220)
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: LargestView, appearance: Appearance) -> LargestPresenter:
    presenter = LargestPresenter(session, view, appearance)
    view.show()
    solved(session, presenter)
    return presenter


def solved(session: Session, panel: LargestPresenter) -> None:
    wait(lambda: session.answers.idle and not any(cell.state is State.WORKING for cell in cells(panel)))


def cells(panel: LargestPresenter) -> list:
    return [cell for row in panel.values.cells for cell in row]


def draw(session: Session, panel: LargestPresenter, *devices: object) -> None:
    session.choose(lambda choice: replace(choice, devices=(*choice.devices, *devices)))
    solved(session, panel)


def index_of(view: LargestView, device: object, precision: Precision, gpus: int) -> QModelIndex:
    values = view.table.cells.values
    return view.table.cells.index(values.precisions.index(precision), values.columns.index((device, gpus)))


def click(view: LargestView, index: QModelIndex) -> None:
    view.table.scrollTo(index)
    QTest.mouseClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=view.table.visualRect(index).center())


def test_that_each_cell_is_the_solved_batch(session: Session, panel: LargestPresenter):
    draw(session, panel, T4)
    assert len(cells(panel)) == 2 * 2 * 3
    for cell in cells(panel):
        memory = session.memories[session.choice.line(cell.precision, cell.gpus).step(cell.device.target)]
        expected = Need(memory, cell.device).largest()
        assert (cell.batch, cell.per_gpu_batch) == (expected.batch * cell.gpus, expected.batch)
        assert f"{expected.multiple_of_8 * cell.gpus:,}" in cell.tip
        assert f"{expected.power_of_2 * cell.gpus:,}" in cell.tip


def test_that_the_hottest_cell_is_the_largest_batch(session: Session, panel: LargestPresenter):
    draw(session, panel, T4)
    by_batch = sorted(cells(panel), key=lambda cell: cell.batch)
    assert (by_batch[0].heat, by_batch[-1].heat) == (0.0, 1.0)
    assert [cell.heat for cell in by_batch] == sorted(cell.heat for cell in by_batch)


def test_that_accumulation_counts(session: Session, panel: LargestPresenter):
    session.choose(lambda choice: replace(choice, precisions=(Precision.FLOAT32,), gpu_counts=(1, 2)))
    session.choose_setup(accumulate=4)
    wait(lambda: all(cell.state is State.FITS for cell in cells(panel)))
    for cell in cells(panel):
        memory = session.memories[session.choice.line(cell.precision, cell.gpus).step(cell.device.target)]
        expected = Need(memory, L4).largest().batch
        assert (cell.per_gpu_batch, cell.batch) == (expected, expected * cell.gpus * 4)


def test_that_what_does_not_fit_is_reported_in_words(session: Session, panel: LargestPresenter, view: LargestView):
    draw(session, panel, TINY)
    found = [cell for cell in cells(panel) if cell.device == TINY and cell.state is State.NEVER]
    assert found and {cell.text for cell in found} == {"does not fit"}
    before = session.choice.setup.batch
    click(view, index_of(view, TINY, found[0].precision, found[0].gpus))
    assert (session.choice.device, session.choice.setup.batch) == (TINY, before)


def test_that_a_click_chooses_setup_device_and_batch(session: Session, panel: LargestPresenter, view: LargestView):
    draw(session, panel, T4)
    index = index_of(view, T4, Precision.MIXED_FLOAT16, 2)
    cell = view.table.cells.cell(index)
    click(view, index)
    setup = session.choice.setup
    assert session.choice.device == T4
    assert (setup.precision, setup.gpus, setup.batch) == (Precision.MIXED_FLOAT16, 2, cell.batch)
    assert view.table.cells.cell(index_of(view, T4, Precision.MIXED_FLOAT16, 2)).chosen
    session.undo()
    assert session.choice.device == L4


def test_that_the_keyboard_walks_and_chooses(session: Session, panel: LargestPresenter, view: LargestView):
    view.table.setCurrentIndex(view.table.cells.index(0, 0))
    QTest.keyClick(view.table, Qt.Key.Key_Right)
    QTest.keyClick(view.table, Qt.Key.Key_Down)
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    assert (session.choice.setup.precision, session.choice.setup.gpus) == (Precision.MIXED_FLOAT16, 2)


def test_that_an_untraced_device_says_so_and_is_traced_when_it_is_chosen(
    session: Session, panel: LargestPresenter, view: LargestView
):
    draw(session, panel, P100)
    index = index_of(view, P100, Precision.MIXED_FLOAT16, 2)
    assert view.table.cells.cell(index).state is State.UNTRACED
    # float32 lies the same way on every GPU, and so does what XLA compiles
    assert view.table.cells.cell(index_of(view, P100, Precision.FLOAT32, 2)).state is State.FITS
    assert view.table.cells.cell(index_of(view, P100, Precision.MIXED_FLOAT16, 1)).state is State.FITS
    click(view, index)
    assert session.choice.device == P100
    wait(lambda: view.table.cells.cell(index_of(view, P100, Precision.MIXED_FLOAT16, 2)).state is State.FITS)


def test_that_without_a_limit_no_batch_is_the_largest(session: Session, panel: LargestPresenter):
    session.choose(lambda choice: replace(choice, devices=(*choice.devices, find_device("cpu"))))
    on_cpu = [cell for cell in cells(panel) if not cell.device.cuda]
    assert {cell.state for cell in on_cpu} <= {State.UNTRACED, State.UNLIMITED}


def test_that_a_moving_batch_slider_changes_nothing_here(session: Session, panel: LargestPresenter):
    before = panel.values
    session.choose_setup(batch=48)
    assert panel.values is before


def test_that_a_hidden_panel_asks_for_nothing(session: Session, panel: LargestPresenter, view: LargestView):
    before = panel.values
    view.hide()
    session.choose(lambda choice: replace(choice, devices=(*choice.devices, T4)))
    assert panel.values is before
    view.show()
    assert panel.values.devices == (L4, T4)


def test_that_cells_have_text_for_screen_readers(panel: LargestPresenter, view: LargestView):
    index = view.table.cells.index(0, 1)
    spoken = view.table.cells.data(index, Qt.ItemDataRole.AccessibleTextRole)
    cell = view.table.cells.cell(index)
    assert spoken == f"L4, float32, 2 GPUs, no XLA: {cell.batch:,}, {cell.per_gpu_batch:,} each, {cell.sure:,} sure"


def test_that_the_numbers_can_be_taken_away(panel: LargestPresenter):
    table = panel.table()
    assert len(table.rows) == len(cells(panel))
    assert {len(row) for row in table.rows} == {len(table.header)}


def test_that_the_largest_batches_have_their_pictures(
    session: Session, panel: LargestPresenter, view: LargestView, take_pictures: Callable[..., None]
):
    session.choose_setup(precision=Precision.MIXED_BFLOAT16)
    draw(session, panel, find_device("RTX 4090"), P100, TINY)
    view.table.setCurrentIndex(QModelIndex())
    take_pictures(view, "largest")
