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
from planner_app.gui.panels.devices.values import Kind, Row, machine_device, rows
from planner_app.gui.panels.devices.view import DevicesView
from planner_app.gui.session import Session
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


def test_that_devices_on_the_chart_come_first(session: Session):
    found = rows(session.choice, NO_DRIVER, catalogue())
    assert (found[0].kind, found[0].name) == (Kind.HEADING, "On the chart")
    assert found[1].device == session.choice.device
    assert found[1].drawn and found[1].chosen


def test_that_every_card_s_size_is_what_tensorflow_s_allocator_gets(session: Session):
    found = under(rows(session.choice, NO_DRIVER, catalogue()), "Data centre")
    for row in found:
        if row.device is not None:
            limit = allocator_limit_bytes(row.device)
            assert limit is not None and row.size.removeprefix("~") == format_bytes(limit)
    assert next(row for row in found if row.name == "GB300").trouble  # nobody knows what it reports: it can't be drawn


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
    assert [row.name for row in under(panel.rows, "On the chart")] == ["L4", "L4 (this machine's)"]
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
    click(view, at(view, "On the chart", "A10"))
    assert session.choice.devices == (find_device("NVIDIA L4"),)
    session.undo()
    assert find_device("A10") in session.choice.devices


def test_that_the_last_device_stays_with_a_message(session: Session, panel: DevicesPresenter, view: DevicesView):
    click(view, at(view, "On the chart", "L4"))
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
