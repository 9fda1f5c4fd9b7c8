import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtTest import QTest
from waiting import wait

from planner_app.core.hardware.machine import Driver, Gpu, Health, Machine
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.files.devices.catalogue import catalogue, find_device
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.devices.facts import facts
from planner_app.gui.panels.devices.model import NAME, USE
from planner_app.gui.panels.devices.presenter import KEEPS_ONE, DevicesPresenter
from planner_app.gui.panels.devices.values import ALSO, DRAWN, Kind, Row, machine_device, rows
from planner_app.gui.panels.devices.view import DevicesView
from planner_app.gui.state.session import Session
from planner_app.units import format_bytes

GIB = 1 << 30
TODAY = date(2026, 9, 1)
L4 = Gpu(0, name="NVIDIA L4", compute_capability=(8, 9), total_bytes=23034 << 20, used_bytes=3 * GIB)
LOST = Gpu(1, health=Health.LOST, sentence="GPU 1 has fallen off the bus: restart the machine.", name="NVIDIA T4")
NO_DRIVER = Machine(Driver.MISSING, "This machine has no NVIDIA driver: estimate for a GPU of the list.")
TWO_GPUS = Machine(Driver.FINE, gpus=(L4, LOST))


@pytest.fixture
def view(appearance: Appearance) -> Iterator[DevicesView]:
    view = DevicesView(appearance.theme)
    view.resize(300, 560)
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: DevicesView, appearance: Appearance) -> DevicesPresenter:
    presenter = DevicesPresenter(session, view, appearance, look=lambda: TWO_GPUS)
    view.show()
    wait(lambda: presenter._machine is not None)
    return presenter


def at(view: DevicesView, group: str, name: str, column: int = NAME) -> QModelIndex:
    model = view.list.rows_model
    number = next(n for n, row in enumerate(model.rows) if (row.group, row.name) == (group, name))
    return model.index(number, column)


def click(view: DevicesView, index: QModelIndex) -> None:
    """On the check box, or on the radio mark."""
    view.list.scrollTo(index)
    place = view.list.visualRect(index)
    where = QPoint(place.left() + 10, place.center().y()) if index.column() == NAME else place.center()
    QTest.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=where)


def double_click(view: DevicesView, index: QModelIndex) -> None:
    view.list.scrollTo(index)
    where = view.list.visualRect(index).center()
    QTest.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=where)
    QTest.mouseDClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=where)


def under(found: tuple[Row, ...], group: str) -> list[Row]:
    return [row for row in found if row.group == group and row.kind is Kind.DEVICE]


def test_that_every_device_has_its_place_on_the_chart_or_not(session: Session):
    before = rows(session.choice, NO_DRIVER, catalogue())
    more = replace(session.choice, devices=(*session.choice.devices, find_device("A10")))
    after = rows(more, NO_DRIVER, catalogue())
    assert [row.key for row in before] == [row.key for row in after]
    assert [row.name for row in after if row.drawn] == ["L4", "A10"]
    sized = rows(replace(more, devices=(*more.devices, find_device("24GiB"))), NO_DRIVER, catalogue())
    assert [row.name for row in under(sized, ALSO)] == ["24GiB"]


def test_that_every_card_s_size_is_what_tensorflow_s_allocator_gets(session: Session):
    found = under(rows(session.choice, NO_DRIVER, catalogue()), "Data centre")
    for row in found:
        if row.device is not None:
            limit = allocator_limit_bytes(row.device)
            assert limit is not None and row.size.removeprefix("~") == format_bytes(limit)
    unknown = next(row for row in found if "MI300X" in row.name)
    assert unknown.trouble  # nobody knows what it reports: it can't be drawn


def test_that_a_missing_driver_is_a_sentence(session: Session):
    found = rows(session.choice, NO_DRIVER, catalogue())
    note = next(row for row in found if row.kind is Kind.NOTE)
    assert note.group == "This machine" and note.name == NO_DRIVER.sentence


def test_that_a_search_matches_words_and_finds_slices(session: Session):
    found = rows(session.choice, NO_DRIVER, catalogue(), "a100 mig 5gb")
    assert under(found, "Data centre")
    assert {"a100" in row.name.lower() and "mig" in row.name.lower() for row in under(found, "Data centre")} == {True}
    nothing = rows(session.choice, NO_DRIVER, catalogue(), "abacus")
    assert any(row.kind is Kind.NOTE and "try fewer" in row.name for row in nothing)


def test_that_this_machine_s_gpus_show_their_memory(session: Session, panel: DevicesPresenter):
    here, lost = under(panel.rows, "This machine")
    assert here.device == machine_device(L4, catalogue())
    assert here.live == "3.0 of 22.5 GiB used"
    assert here.used == pytest.approx(3 * 1024 / 23034)
    session.choose(lambda choice: replace(choice, devices=(*choice.devices, here.device)))
    assert [row.name for row in panel.rows if row.drawn] == ["GPU 0: L4", "L4"]
    assert lost.device is None and "fallen off the bus" in lost.trouble
    assert any(row.kind is Kind.NOTE and row.name == LOST.sentence for row in panel.rows)


def test_that_the_machine_is_looked_at_only_while_the_panel_is_seen(panel: DevicesPresenter, view: DevicesView):
    assert panel.watch.running
    view.hide()
    assert not panel.watch.running


def test_that_a_check_draws_a_device_s_capacity(session: Session, panel: DevicesPresenter, view: DevicesView):
    click(view, at(view, "Data centre", "A10"))
    assert session.choice.devices[-1] == find_device("A10")
    assert session.choice.device == find_device("NVIDIA L4")
    click(view, at(view, "Data centre", "A10"))
    assert session.choice.devices == (find_device("NVIDIA L4"),)
    session.undo()
    assert find_device("A10") in session.choice.devices


def test_that_the_last_device_stays_with_a_message(session: Session, panel: DevicesPresenter, view: DevicesView):
    click(view, at(view, "Data centre", "L4"))
    assert session.choice.devices == (find_device("NVIDIA L4"),)
    assert view.message.text() == KEEPS_ONE and view.message.isVisible()


def test_that_a_radio_mark_a_double_click_and_enter_choose_a_device(
    session: Session, panel: DevicesPresenter, view: DevicesView
):
    click(view, at(view, "Data centre", "A10", USE))
    assert session.choice.device == find_device("A10")
    double_click(view, at(view, "Data centre", "L40S"))
    assert session.choice.device == find_device("L40S")
    view.list.setCurrentIndex(at(view, "Data centre", "L4"))
    QTest.keyClick(view.list, Qt.Key.Key_Return)
    assert session.choice.device == find_device("NVIDIA L4")
    assert set(session.choice.devices) == {find_device(name) for name in ("L4", "A10", "L40S")}


def test_that_the_space_bar_draws_and_what_is_looked_at_stays(
    session: Session, panel: DevicesPresenter, view: DevicesView
):
    view.list.setCurrentIndex(at(view, "Data centre", "A40"))
    before = view.list.visualRect(view.list.currentIndex()).top()
    QTest.keyClick(view.list, Qt.Key.Key_Space)
    assert find_device("A40") in session.choice.devices
    assert view.list.rows_model.rows[view.list.currentIndex().row()].group == "Data centre"
    assert view.list.visualRect(view.list.currentIndex()).top() == before


def test_that_boxes_ticked_one_after_another_stay_where_they_are(
    session: Session, panel: DevicesPresenter, view: DevicesView
):
    """The list at its top, where it used to jump, and in its middle; also by quick clicks on one box."""
    for name in ("B200 SXM", "H200 NVL", "A30"):
        index = at(view, "Data centre", name)
        view.list.scrollTo(index)
        before = view.list.visualRect(index).top()
        click(view, index)
        assert view.list.visualRect(at(view, "Data centre", name)).top() == before
        assert find_device(name) in session.choice.devices
    assert session.choice.device == find_device("NVIDIA L4")


@pytest.mark.parametrize("machine", [NO_DRIVER, TWO_GPUS])
def test_that_the_row_under_the_pointer_stays_there_when_the_driver_has_answered(
    session: Session, view: DevicesView, appearance: Appearance, monkeypatch: pytest.MonkeyPatch, machine: Machine
):
    answer = threading.Event()
    panel = DevicesPresenter(session, view, appearance, look=lambda: answer.wait(20) and machine)
    view.show()
    index = at(view, "Data centre", "A40")
    view.list.scrollTo(index)
    before = view.list.visualRect(index).top()
    monkeypatch.setattr(view.list, "_under_pointer", lambda: index)
    answer.set()
    wait(lambda: panel._machine is not None)
    assert view.list.visualRect(at(view, "Data centre", "A40")).top() == before


def test_that_the_list_can_show_only_what_is_on_the_chart_and_keeps_what_is_taken_off(
    session: Session, panel: DevicesPresenter, view: DevicesView
):
    click(view, at(view, "Data centre", "A10"))
    assert view.only.text() == "2 on the chart"
    QTest.mouseClick(view.only, Qt.MouseButton.LeftButton)
    assert [row.name for row in under(panel.rows, DRAWN)] == ["L4", "A10"]
    click(view, at(view, DRAWN, "A10"))
    assert session.choice.devices == (find_device("NVIDIA L4"),)
    assert [row.name for row in under(panel.rows, DRAWN)] == ["L4", "A10"]
    QTest.mouseClick(view.only, Qt.MouseButton.LeftButton)
    assert len(panel.rows) > 20


@pytest.mark.parametrize("text", ["24GiB", "24GiB:8.9", "10GB:7.5"])
def test_that_a_size_is_a_device(session: Session, panel: DevicesPresenter, view: DevicesView, text: str):
    QTest.keyClicks(view.custom, text)
    QTest.keyClick(view.custom, Qt.Key.Key_Return)
    assert session.choice.device == find_device(text)
    assert not view.custom.text() and not view.message.isVisible()


@pytest.mark.parametrize("text", ["24", "0GiB", "abacus", "cpu:lots", "a100"])
def test_that_an_unknown_device_gets_a_sentence_below_the_field(
    session: Session, panel: DevicesPresenter, view: DevicesView, text: str
):
    before = session.choice
    QTest.keyClicks(view.custom, text)
    view.add.click()
    assert session.choice == before
    assert view.message.isVisible() and view.message.text().endswith(".")
    assert "--" not in view.message.text()  # options belong to a terminal
    QTest.keyClick(view.custom, Qt.Key.Key_Backspace)
    assert not view.message.isVisible()


def test_that_a_moving_batch_slider_changes_nothing_here(session: Session, panel: DevicesPresenter):
    before = panel.rows
    session.choose_setup(batch=48)
    assert panel.rows is before


def test_that_the_tooltip_has_every_figure_and_where_it_comes_from():
    said = dict(facts(find_device("L4"), TODAY))
    assert "sold as 24 GB" in said["Memory"] and "22.5 GiB" in said["Memory"]
    assert said["Compute capability"].startswith("8.9")
    assert said["Bandwidth"].startswith("300 GB/s")
    assert said["Per hour"].startswith("$0.49 (RunPod") and "2026-08-22" in said["Per hour"]
    assert said["To buy"] == "unknown"
    assert "nvidia-smi" in said["Figures from"]
    derived = dict(facts(find_device("GTX 1070"), TODAY))
    assert "derived" in derived["Figures from"]


def test_that_the_devices_have_their_pictures(
    session: Session, panel: DevicesPresenter, view: DevicesView, take_pictures: Callable[..., None]
):
    session.choose(lambda choice: replace(choice, devices=(*choice.devices, find_device("RTX 4090"))))
    take_pictures(view, "devices")
