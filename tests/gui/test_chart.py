import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from turning import turn
from waiting import wait

from planner_app.core.estimate.curve import anchors
from planner_app.core.estimate.need import Need
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.setup import Precision
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.plot.pieces import in_pieces
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.chart import curve as curve_module
from planner_app.gui.panels.chart.curve import GIB, Curve, ExactLine
from planner_app.gui.panels.chart.drawn.capacity import Capacity, groups, why_less
from planner_app.gui.panels.chart.drawn.labels import ABOVE, ABOVE_LEFT, Box, Room, Strokes
from planner_app.gui.panels.chart.presenter import ChartPresenter
from planner_app.gui.panels.chart.view import ChartView
from planner_app.gui.state.session import Session


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

    def settled() -> bool:
        presenter._refresh()  # the largest batches are followed by the exact lines, which are asked for only then
        return session.answers.idle

    wait(settled)
    return presenter


def test_that_between_two_batches_memory_is_a_straight_line():
    curve = Curve((1, 2, 4), (1.0, 2.0, 6.0), (1.0, 1.0, 1.0), (2.0, 3.0, 7.0))
    assert curve.at(3) == (4.0, 1.0, 5.0)
    assert curve.at(8) == (14.0, 1.0, 15.0)
    assert curve.largest_within(4.1) == 3
    assert curve.largest_within(0.5) == 0


def test_that_a_straight_line_is_bent_by_the_logarithmic_axis_however_few_batches_are_known():
    batches = in_pieces((1, 128, 246))
    assert {1, 128, 246} <= set(batches)
    assert max(batches[1:] / batches[:-1]) < 2 ** (1 / 7)


def test_that_labels_leave_marks_free():
    area, mark = Box(0, 0, 100, 100), Box(40, 30, 20, 20)
    assert Room(area).find(50, 50, 20, 12, (ABOVE,)) == Box(40, 32, 20, 12)
    assert Room(area, points=[mark]).find(50, 50, 20, 12, (ABOVE,)) is None


def test_that_labels_leave_lines_free_where_they_can():
    steep = Strokes.of([(np.array([80.0, 100.0, 120.0]), np.array([100.0, 50.0, 0.0]))], width=200)
    left, middle = Box(34, 31, 60, 15), Box(70, 29, 60, 15)
    assert (steep.under(left), steep.under(middle)) == (0, 1)
    room = Room(Box(0, 0, 200, 100), strokes=steep)
    assert room.find(100, 50, 60, 15, (ABOVE, ABOVE_LEFT)) == left
    assert room.find(100, 80, 60, 15, (ABOVE,), most=0) is None, "it is not looked at"
    assert room.find(100, 80, 60, 15, (ABOVE,)) is not None, "a line is struck out sooner than a figure left out"


def test_that_labels_find_new_places_in_a_smaller_window(chart: ChartPresenter, view: ChartView):
    box = view.plot.getViewBox()
    for width in (900, 420):
        view.resize(width, 260)
        turn(20)
        assert view.drawing.room.area.width == box.width()
        assert view.drawing.crossings.tags.shown


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
    view.picked.emit(series.key, batch)
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
    view.hovered.emit((Precision.FLOAT32, 1), 4096, QPoint(200, 200))
    wait(lambda: "activations" in view.card.text)
    assert "Batch 4,096" in view.card.text
    assert view.card.isVisible()
    view.left.emit()
    assert not view.card.isVisible()


def test_that_the_legend_hides_lines(chart: ChartPresenter, view: ChartView):
    view.legend.chips[2, False].click()
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
    shade = view.drawing.levels._over.rect()
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


def capacity(name: str, limit_gib: float, chosen: bool = False) -> Capacity:
    return Capacity(name, limit_gib, None, chosen, name)


def test_that_capacities_close_to_one_another_share_a_label_that_names_the_chosen_device_first():
    drawn = [capacity("A10", 20.4), capacity("L4", 20.4, chosen=True), capacity("4090", 21.9), capacity("A100", 77.3)]
    high, low = groups(drawn, near_gib=3.0)
    assert [each.name for each in high.members] == ["A100"]
    assert (low.top_gib, low.chosen.name) == (21.9, "L4")
    assert low.names(80) == ("4090: 21.9 GiB", "A10: 20.4 GiB")
    assert low.names(16) == ("4090: 21.9 GiB", "+1 more")


def test_that_labels_find_another_side_or_none_but_never_overlap():
    room = Room(Box(0, 0, 200, 100))
    first = room.find(100, 50, 60, 15, (ABOVE, ABOVE_LEFT))
    second = room.find(110, 50, 30, 15, (ABOVE, ABOVE_LEFT))
    assert first is not None and second is None
    assert room.find(60, 50, 30, 15, (ABOVE, ABOVE_LEFT)) is not None
    assert not any(one.overlaps(other) for one in room.taken for other in room.taken if one is not other)
    assert room.find(5, 5, 60, 15, (ABOVE, ABOVE_LEFT)) is None, "it would leave the plot"


@dataclass(frozen=True)
class Broken:
    """Memory with a jump of a half between a batch of 20 and one of 21."""

    asked: list[int]

    def point(self, batch: int) -> SimpleNamespace:
        self.asked.append(batch)
        return SimpleNamespace(batch=batch, in_use_bytes=batch * 1000 if batch <= 20 else batch * 1500)

    @property
    def points(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(batch=batch) for batch in {*anchors(128), 301, *self.asked}]


def test_that_a_break_of_a_line_is_narrowed_down_and_the_rest_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(curve_module, "curve_of", lambda need: None)
    memory = Broken([])
    ExactLine(SimpleNamespace(memory=memory)).answer()
    assert {20, 21} <= set(memory.asked)
    asked = set(memory.asked)
    assert not asked & set(range(65, 96)) - {80} and len(asked - set(anchors(128))) < 24 and max(asked) == 128
    ExactLine(SimpleNamespace(memory=memory)).answer()
    assert set(memory.asked) == asked, "opened again, it needs no other batch"


def test_that_lines_are_named_by_how_they_run_and_say_why(chart: ChartPresenter, view: ChartView):
    texts = [chip.text() for chip in view.legend.chips.values()]
    assert texts == ["float32", "mixed_float16", "1 GPU, XLA", "2 GPUs, no XLA", "4 GPUs, no XLA"]
    assert "Keras turns it off on several GPUs" in view.legend.chips[2, False].toolTip()
    assert "Keras uses it on one GPU" in view.legend.chips[1, True].toolTip()


def test_that_a_legend_without_room_folds_and_cuts_no_name(chart: ChartPresenter, view: ChartView):
    view.resize(420, 400)
    turn(20)
    shown = [chip for chip in view.legend.chips.values() if chip.isVisible()]
    assert 0 < len(shown) < 5 and view.legend.more.isVisible()
    assert all(chip.width() >= chip.sizeHint().width() for chip in shown)
    assert all(chip.geometry().right() <= view.legend.width() for chip in shown)
    folded = view.legend.more.menu().actions()
    assert len(shown) + len(folded) == 5
    folded[-1].trigger()
    assert not view.drawing.curves[Precision.FLOAT32, 4].isVisible()


def test_that_what_is_switched_off_looks_off(chart: ChartPresenter, view: ChartView):
    """Less ink than when it is on: pale and struck out, on no ground of its own."""

    def contrast() -> int:
        image = chip.grab().toImage()
        ground = image.pixelColor(1, 1).lightness()
        return max(abs(image.pixelColor(x, image.height() // 2).lightness() - ground) for x in range(image.width()))

    chip = view.legend.chips[Precision.FLOAT32,]
    on = contrast()
    chip.click()
    assert contrast() < on * 0.7


def test_that_the_card_shows_a_figure_inside_its_band_and_covers_no_line(chart: ChartPresenter, view: ChartView):
    def pointed_at_the_chosen_line() -> bool:
        """The line may still be redrawn and the chart rescaled: point at where it is now, off the marker."""
        series = next(each for each in chart.picture.series if each.chosen)
        box = view.plot.getViewBox()
        places = [
            box.mapViewToScene(QPointF(view.axis.place(batch * series.share), series.curve.at(batch)[0]))
            for batch in series.curve.batches
        ]
        view._on_mouse_moved(
            [at for at in places if box.sceneBoundingRect().contains(at) and not view.drag.is_near(at)][-1]
        )
        return "activations" in view.card.text

    wait(pointed_at_the_chosen_line)
    series = next(each for each in chart.picture.series if each.chosen)
    low, high = re.search(r"\(([\d.,]+) to ([\d.,]+)\)", view.card.text).groups()
    shown = re.search(r"([\d.,]+) (GiB|MiB) in use", view.card.text)[1]
    low, figure, high = (float(text.replace(",", "")) for text in (low, shown, high))
    assert low <= figure <= high
    xs, ys = view.drawing.curves[series.key].getData()
    to_scene = view.plot.getViewBox().mapViewToScene
    card = view.card.geometry()
    points = (view.plot.mapFromScene(to_scene(QPointF(x, y))) for x, y in zip(xs, ys, strict=True))
    assert not any(card.contains(point) for point in points)
