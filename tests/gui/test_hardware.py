from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from turning import turn
from waiting import wait

from planner_app.core.estimate.need import Needs
from planner_app.core.hardware.device import Segment
from planner_app.core.hardware.option import Option
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.ranking import By, front, kept, one_of_each, ranked
from planner_app.core.hardware.shop import shop, steps
from planner_app.files.devices.catalogue import find_device
from planner_app.files.scenarios import read_scenario
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.hardware.cells import COLUMNS
from planner_app.gui.panels.hardware.presenter import HardwarePresenter
from planner_app.gui.panels.hardware.values import Gain, Limits, key_of_option, request_of
from planner_app.gui.panels.hardware.view import HardwareView
from planner_app.gui.state.session import Session

BATCH = 100_000  # of the demo model: more than the small cards carry


@pytest.fixture
def view(appearance: Appearance) -> Iterator[HardwareView]:
    view = HardwareView(appearance.theme)
    view.resize(1270, 222)
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: HardwareView, appearance: Appearance) -> HardwarePresenter:
    session.choose_setup(batch=BATCH)
    presenter = HardwarePresenter(session, view, appearance)
    view.show()
    settle(session, presenter)
    return presenter


def settle(session: Session, panel: HardwarePresenter) -> None:
    """Until the ranking is that of the choice and the limits."""

    def settled() -> bool:
        limits = panel._view.filters.limits()
        known = panel._ranked
        return (
            known is not None
            and (known[0], known[2]) == (request_of(session.choice, limits), limits)
            and not (panel._busy or known[1].missing)
        )

    wait(settled)


def by_hand(session: Session, panel: HardwarePresenter, limits: Limits) -> list[Option]:
    """The same from the core's own functions."""
    request = request_of(session.choice, limits)
    memories = {step: session.memories[step] for step in steps(request, panel._devices)}
    offers = shop(request, panel._devices, Needs(memories), today=date.today())
    return ranked(kept(offers.options, limits.filter()), limits.by, limits.pay)


def choose(combo: object, data: object) -> None:
    combo.setCurrentIndex(combo.findData(data))


def test_that_the_offers_are_the_shop_s(session: Session, panel: HardwarePresenter):
    replayed = sum(len(memory.points) for memory in session.memories.values())
    expected = by_hand(session, panel, Limits())
    assert sum(len(memory.points) for memory in session.memories.values()) == replayed  # all in small pieces before
    assert panel.values.kept == tuple(expected)
    assert expected and panel.values.reasons
    on_front = front(expected, By.SPEED, Pay.CLOUD)
    assert panel.values.front == tuple(on_front)
    listed = {key_of_option(option) for option in panel.values.options}
    assert listed == {key_of_option(option) for option in (*one_of_each(expected), *on_front)}


def test_that_every_column_says_what_the_option_holds(panel: HardwarePresenter, view: HardwareView):
    model = view.table.options
    option = model.rows[0]
    texts = [model.data(model.index(0, column)) for column in range(model.columnCount())]
    assert texts[1:4] == [str(option.gpus), f"{option.setup.per_gpu_batch:,}", str(option.setup.accumulate)]
    assert option.hour is not None and f"${option.hour.usd:,.2f}" in texts[6]
    assert "published trainings" in model.headerData(9, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert option.hour.price.source in model.data(model.index(0, 0), Qt.ItemDataRole.ToolTipRole)


def test_that_an_unknown_price_is_unknown_and_never_first(panel: HardwarePresenter, view: HardwareView):
    model = view.table.options
    unknown = [number for number, option in enumerate(model.rows) if option.hour is None]
    assert unknown and unknown == list(range(unknown[0], len(model.rows)))
    assert model.data(model.index(unknown[0], 6)) == "unknown"
    for order in Qt.SortOrder:
        view.table.sortByColumn(6, order)
        assert model.rows[0].hour is not None and model.rows[-1].hour is None
    view.table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)


def test_that_headers_sort_by_figures(panel: HardwarePresenter, view: HardwareView):
    for column, each in enumerate(COLUMNS):
        view.table.sortByColumn(column, Qt.SortOrder.AscendingOrder)
        figures = [figure for option in view.table.options.rows if (figure := each.figure(option)) is not None]
        assert figures == sorted(figures)


def test_that_filters_thin_out_what_is_listed(session: Session, panel: HardwarePresenter, view: HardwareView):
    choose(view.filters.pay, Pay.BUY)
    view.filters.budget.setValue(7000)
    view.filters.watts.setValue(2000)
    choose(view.filters.segment, Segment.CONSUMER)
    assert panel.values.kept == tuple(
        by_hand(session, panel, Limits(pay=Pay.BUY, most_usd=7000, most_watts=2000, segment=Segment.CONSUMER))
    )
    assert panel.values.kept
    for option in panel.values.kept:
        assert option.device.segment is Segment.CONSUMER
        assert option.buy is not None and option.buy.usd <= 7000
        assert option.watts is not None and option.watts <= 2000


def test_that_the_whole_training_is_answered_where_samples_are_given(panel: HardwarePresenter, view: HardwareView):
    before = view.table.options.columnCount()
    view.filters.run.samples.setValue(1_000_000)
    assert panel.values.proposals
    titles = [
        view.table.options.headerData(column, Qt.Orientation.Horizontal)
        for column in range(view.table.options.columnCount())
    ]
    assert titles[before:] == ["A run", "Rent", "Buy", "Even after"]
    assert panel.values.caption.startswith(("Rent", "Buy"))
    assert panel.report(".pdf").startswith(b"%PDF")
    view.filters.run.samples.setValue(0)
    assert view.table.options.columnCount() == before


def test_that_devices_that_are_not_listed_have_a_reason(panel: HardwarePresenter, view: HardwareView):
    reasons = dict(panel.values.reasons)
    assert "kernels" in reasons["K80"]
    choose(view.filters.segment, Segment.EDGE)
    view.filters.budget.setValue(0.01)
    reasons = dict(panel.values.reasons)
    assert "fits, but" in reasons["H200 SXM"]
    view.why.click()
    assert view.reasons.isVisible() and not view.table.isVisible()
    assert view.reasons_model.rowCount() == len(panel.values.reasons)


def test_that_a_batch_that_fits_nowhere_says_what_is_missing(
    session: Session, panel: HardwarePresenter, view: HardwareView
):
    session.choose_setup(batch=100_000_000)
    settle(session, panel)
    assert not panel.values.kept and view.caption.text().startswith("None of")
    assert any("needs" in reason and "gives" in reason for _, reason in panel.values.reasons)


def test_that_accumulation_makes_room_where_it_is_allowed(
    session: Session, panel: HardwarePresenter, view: HardwareView
):
    before = {key_of_option(option) for option in panel.values.kept}
    view.filters.steps.setValue(64)
    settle(session, panel)
    after = {key_of_option(option) for option in panel.values.kept}
    assert before < after
    small = next(option for option in panel.values.kept if key_of_option(option) not in before)
    assert 1 < small.setup.accumulate <= 64


def test_that_a_selected_offer_has_its_capacity_on_the_chart_and_no_more_than_one(
    session: Session, panel: HardwarePresenter, view: HardwareView
):
    view.table.setFocus()
    others = [n for n, option in enumerate(view.table.options.rows) if option.device not in session.choice.devices]
    for number in others[:2]:
        view.table.selectRow(number)
        device = view.table.options.rows[number].device
        wait(lambda device=device: device in session.choice.devices)
    assert session.choice.devices == (find_device("L4"), device)
    assert session.choice.device == find_device("L4")


def test_that_enter_or_the_button_use_an_offer(session: Session, panel: HardwarePresenter, view: HardwareView):
    option = next(each for each in view.table.options.rows if each.device != session.choice.device)
    view.table.selectRow(view.table.options.place_of(key_of_option(option)))
    assert view.use.isEnabled()
    view.use.click()
    assert (session.choice.device, session.choice.setup) == (option.device, option.setup)
    view.table.selectRow(0)
    first = view.table.options.rows[0]
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    assert (session.choice.device, session.choice.setup) == (first.device, first.setup)


def test_that_dots_are_the_offers_with_a_price(session: Session, panel: HardwarePresenter, view: HardwareView):
    priced = [option for option in panel.values.kept if option.hour is not None and option.speed is not None]
    assert len(panel.values.dots) == len(priced)
    choose(view.filters.gain, Gain.BATCH)
    by_key = {key_of_option(option): option for option in panel.values.kept}
    for dot in panel.values.dots:
        assert dot.gain == by_key[dot.key].largest_batch
    best = sorted((dot for dot in panel.values.dots if dot.best), key=lambda dot: dot.usd)
    assert [dot.gain for dot in best] == sorted(dot.gain for dot in best)


def test_that_a_picked_dot_is_found_in_the_table(panel: HardwarePresenter, view: HardwareView):
    hidden = next(dot for dot in panel.values.dots if view.table.options.place_of(dot.key) is None)
    view.scatter.picked.emit(hidden.key)
    option = view.table.option()
    assert option is not None and key_of_option(option) == hidden.key
    assert view.filters.every.isChecked()


def test_that_the_report_is_the_command_s(panel: HardwarePresenter, view: HardwareView, tmp_path: Path):
    panel.save_report(str(tmp_path / "offers"))
    written = (tmp_path / "offers.html").read_text()
    assert "offers.html" in view.caption.text()
    assert f"{BATCH:,} samples per update" in written and "<svg" in written
    panel.save_report(str(tmp_path / "nowhere" / "offers.html"))
    assert "can't be written" in view.caption.text()


def test_that_the_question_is_kept_to_be_asked_again(panel: HardwarePresenter, view: HardwareView, tmp_path: Path):
    file = tmp_path / "offers.json"
    panel.save_report(str(file))
    assert "give the samples and epochs" in view.caption.text() and not file.exists()
    view.filters.run.samples.setValue(1_000_000)
    wait(lambda: bool(panel.values.proposals))
    panel.save_report(str(file))
    kept = read_scenario(file)
    assert (kept.run.samples, kept.request.setup.batch, kept.model) == (1_000_000, BATCH, "demo_resnet")
    assert kept.answers[0].device == panel.values.proposals[0].option.device.name


def test_that_the_numbers_can_be_taken_away(panel: HardwarePresenter):
    table = panel.table()
    assert len(table.rows) == len(panel.values.options)
    assert {"device", "gpus", "usd_per_hour", "samples_per_second", "front"} <= set(table.header)


def test_that_a_hidden_panel_asks_for_nothing(session: Session, panel: HardwarePresenter, view: HardwareView):
    before = panel.values
    view.hide()
    session.choose_setup(batch=64)
    turn(300)
    assert panel.values is before


def test_that_the_hardware_has_its_pictures(
    panel: HardwarePresenter, view: HardwareView, take_pictures: Callable[..., None]
):
    view.table.selectRow(2)
    take_pictures(view, "hardware")
    choose(view.filters.pay, Pay.BUY)
    choose(view.filters.gain, Gain.BATCH)
    view.why.click()
    take_pictures(view, "hardware_why_not")
