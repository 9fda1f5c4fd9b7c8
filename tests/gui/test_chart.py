from collections.abc import Callable, Iterator
from dataclasses import replace

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from waiting import wait

from planner_app.core.estimate.need import Need
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.setup import Precision
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.chart.presenter import ChartPresenter
from planner_app.gui.panels.chart.values import GIB, Curve, why_less
from planner_app.gui.panels.chart.view import ChartView
from planner_app.gui.session import Session


@pytest.fixture
def view(appearance: Appearance) -> Iterator[ChartView]:
    view = ChartView(appearance.theme)
    view.resize(900, 560)
    view.show()
    yield view
    view.close()


@pytest.fixture
def chart(session: Session, view: ChartView, appearance: Appearance) -> ChartPresenter:
    presenter = ChartPresenter(session, view, appearance)
    presenter._refresh()
    wait(lambda: session.answers.idle)
    presenter._refresh()
    return presenter


def test_that_between_two_batches_memory_is_a_straight_line():
    curve = Curve((1, 2, 4), (1.0, 2.0, 6.0), (1.0, 1.0, 1.0), (2.0, 3.0, 7.0))
    assert curve.at(3) == (4.0, 1.0, 5.0)
    assert curve.at(8) == (14.0, 1.0, 15.0)
    assert curve.largest_within(4.1) == 3
    assert curve.largest_within(0.5) == 0


def test_that_each_line_is_what_the_estimate_says(session: Session, chart: ChartPresenter):
    assert len(chart.picture.series) == 6
    for series in chart.picture.series:
        memory = session.memory(session.choice.line(series.precisions[0], series.gpus))
        assert memory is not None
        for batch, gib in zip(series.curve.batches, series.curve.peak_gib, strict=True):
            assert gib * GIB == pytest.approx(memory.point(batch).in_use_bytes)


def test_that_the_largest_batch_on_a_line_is_the_solved_one(session: Session, chart: ChartPresenter):
    for series in chart.picture.series:
        memory = session.memory(session.choice.line(series.precisions[0], series.gpus))
        assert series.largest == Need(memory, session.choice.device).largest().batch * series.gpus


def test_that_the_chosen_device_s_capacity_is_the_allocator_s_limit(session: Session, chart: ChartPresenter):
    (capacity,) = chart.picture.capacities
    assert capacity.limit_gib * GIB == allocator_limit_bytes(session.choice.device)
    assert capacity.sold_gib is not None and capacity.sold_gib > capacity.limit_gib


def test_that_the_difference_to_the_number_on_the_box_is_explained():
    sentence = why_less(find_device("NVIDIA L4"))
    assert "sold as 24 GB" in sentence and "22.5 GiB" in sentence and "allocator" in sentence


def test_that_a_click_on_a_line_chooses_that_setup(session: Session, chart: ChartPresenter, view: ChartView):
    series = next(each for each in chart.picture.series if each.key == (Precision.MIXED_FLOAT16, 2))
    batch = series.curve.batches[-3] * series.share
    point = QPointF(view.axis.place(batch), series.curve.at(batch // series.share)[0])
    found = view.nearest(view.plot.getViewBox().mapViewToScene(point))
    assert found is not None and found[0].key == series.key
    view.picked.emit(series.key, float(batch))
    setup = session.choice.setup
    assert (setup.precision, setup.gpus, setup.batch) == (Precision.MIXED_FLOAT16, 2, batch)
    assert chart.picture.chosen is not None and chart.picture.chosen.batch == batch


def test_that_arrow_keys_walk_along_a_line_and_across_lines(session: Session, chart: ChartPresenter, view: ChartView):
    before = session.choice.setup.batch
    QTest.keyClick(view.plot, Qt.Key.Key_Right)
    assert session.choice.setup.batch == before * 3 // 2
    QTest.keyClick(view.plot, Qt.Key.Key_Left)
    assert session.choice.setup.batch == before
    QTest.keyClick(view.plot, Qt.Key.Key_Down)
    assert (session.choice.setup.precision, session.choice.setup.gpus) != (Precision.FLOAT32, 1)


def test_that_the_card_under_the_pointer_shows_every_term(session: Session, chart: ChartPresenter, view: ChartView):
    view.hovered.emit((Precision.FLOAT32, 1), 4096.0, QPoint(200, 200))
    wait(lambda: "activations" in view.card.text)
    assert "batch 4,096" in view.card.text
    assert view.card.isVisible()
    view.left.emit()
    assert not view.card.isVisible()


def test_that_the_legend_hides_lines(chart: ChartPresenter, view: ChartView):
    view.legend._buttons[2].click()
    hidden = [key for key, curve in view.drawing.curves.items() if not curve.isVisible()]
    assert sorted(hidden) == [(Precision.FLOAT32, 2), (Precision.MIXED_FLOAT16, 2)]


def test_that_a_line_that_is_no_longer_needed_leaves_the_chart(
    session: Session, chart: ChartPresenter, view: ChartView
):
    def drawn() -> int:
        return sum(isinstance(item, pg.PlotCurveItem) for item in view.plot.scene().items())

    before = drawn()
    session.choose(lambda choice: replace(choice, gpu_counts=(1,)))
    chart._refresh()
    assert len(chart.picture.series) == 2
    assert drawn() == before - 4


def test_that_what_does_not_fit_is_shaded_from_edge_to_edge_when_lines_and_range_change_together(
    session: Session, chart: ChartPresenter, view: ChartView
):
    session.choose_setup(optimizer=replace(session.choice.setup.optimizer, name="sgd"))
    wait(lambda: chart.picture.chosen is not None and session.answers.idle)
    left, right = view.plot.getViewBox().viewRange()[0]
    shade = view.drawing._over.rect()
    assert (shade.left(), shade.right()) == pytest.approx((left, right))


def test_that_precisions_of_the_same_memory_share_a_line(session: Session, chart: ChartPresenter):
    session.choose_setup(precision=Precision.MIXED_BFLOAT16)
    keys = [series.precisions for series in chart.picture.series if series.gpus == 1]
    assert (Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16) in keys


def test_that_the_numbers_can_be_taken_away(chart: ChartPresenter):
    table = chart.table()
    assert table.header[:4] == ("precision", "gpus", "batch", "per_gpu_batch")
    assert len(table.rows) == sum(len(series.curve.batches) for series in chart.picture.series)


def test_that_the_chart_has_its_pictures(
    session: Session, chart: ChartPresenter, view: ChartView, take_pictures: Callable[..., None]
):
    lines = session.choice.precisions
    take_pictures(view, "chart", lambda theme: map(theme.precision, lines))
