from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from waiting import wait

from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.estimate import Estimate, estimate
from planner_app.core.model.wiring import edges
from planner_app.gui.look.sheet import Caption, png_sheet
from planner_app.gui.look.theme import LIGHT, Appearance, Look
from planner_app.gui.panels.layers.blocks import blocks, short_name
from planner_app.gui.panels.layers.presenter import LayersPresenter
from planner_app.gui.panels.layers.squarify import Box, inside, squarify, tiles
from planner_app.gui.panels.layers.table import COLUMNS
from planner_app.gui.panels.layers.values import LayerRow
from planner_app.gui.panels.layers.view import NOTHING, LayersView
from planner_app.gui.state.session import Session

KEYS = [column.key for column in COLUMNS]


@pytest.fixture
def view(appearance: Appearance) -> Iterator[LayersView]:
    view = LayersView(appearance.theme)
    view.resize(1270, 200)
    view.show()
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: LayersView, appearance: Appearance) -> LayersPresenter:
    session.choose_setup(gpus=2, batch=128)
    presenter = LayersPresenter(session, view, appearance)
    settle(session)
    return presenter


def settle(session: Session) -> None:
    wait(lambda: session.answers.idle)


def now(session: Session) -> Estimate:
    choice = session.choice
    return estimate(session.need(choice.setup), choice.setup)


def layer(path: str, size: int, **more: int) -> LayerRow:
    known = {"params": 0, "weights_bytes": 0, "gradients_bytes": 0, "optimizer_bytes": 0, "activation_bytes": 0}
    return LayerRow(path=path, class_name="Dense", shape="", peak_bytes=size, share=0.0, **(known | more))


def cells(view: LayersView, key: str) -> list[str]:
    column = KEYS.index(key)
    return [view.sorted.index(row, column).data() for row in range(view.sorted.rowCount())]


def click_header(view: LayersView, key: str) -> None:
    header = view.table.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(KEYS.index(key)) + 12, header.height() // 2)
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_that_every_layer_is_the_estimate_s(session: Session, panel: LayersPresenter):
    found, described = now(session), {each.path: each for each in session.description.layers}
    assert [row.path for row in panel.values.rows] == [each.name for each in found.layers]
    for row, expected in zip(panel.values.rows, found.layers, strict=True):
        assert (row.weights_bytes, row.gradients_bytes, row.optimizer_bytes, row.activation_bytes, row.peak_bytes) == (
            *(expected.weights_bytes, expected.gradients_bytes, expected.optimizer_bytes),
            *(expected.activation_bytes, expected.peak_bytes),
        )
        if row.path:
            assert row.params == described[row.path].trainable_params + described[row.path].frozen_params
    stem = next(row for row in panel.values.rows if row.path == "stem")
    assert (stem.class_name, stem.shape) == ("Conv2D", "32×32×16")  # noqa: RUF001


def test_that_the_row_below_sums_to_the_peak(session: Session, panel: LayersPresenter, view: LayersView):
    assert sum(row.peak_bytes for row in panel.values.rows) == now(session).peak_bytes == panel.values.peak_bytes
    texts = [view.totals.index(0, number).data() for number in range(len(COLUMNS))]
    assert texts[0] == "all 30 layers"
    assert texts[KEYS.index("share")] == "100.0 %"
    assert texts[KEYS.index("params")] == f"{session.description.params:,}"


def test_that_numbers_sort_as_numbers_and_what_has_no_layer_stays_last(panel: LayersPresenter, view: LayersView):
    sizes = [row.peak_bytes for row in view.sorted.shown[:-1]]
    assert sizes == sorted(sizes, reverse=True), "the largest come first before anything is clicked"
    assert view.sorted.shown[-1].path == ""
    click_header(view, "params")
    first = [row.params for row in view.sorted.shown[:-1]]
    assert first == sorted(first, reverse=True) and first[0] > 1000 > first[-1]
    assert view.sorted.shown[-1].path == ""
    click_header(view, "params")
    assert [row.params for row in view.sorted.shown[:-1]] == sorted(first)
    assert view.sorted.shown[-1].path == ""
    click_header(view, "params")
    assert cells(view, "name") == [row.name for row in panel.values.rows]


def test_that_a_filter_finds_names_and_classes_and_sums_what_is_left(panel: LayersPresenter, view: LayersView):
    QTest.keyClicks(view.filter, "conv2d block1")
    assert sorted(cells(view, "name")) == ["block1_conv1", "block1_conv2"]
    shown = [row for row in panel.values.rows if row.path in ("block1_conv1", "block1_conv2")]
    assert view.totals.index(0, 0).data() == "2 of 30 layers"
    assert view.totals.index(0, KEYS.index("params")).data() == f"{sum(row.params for row in shown):,}"
    assert len(panel.table().rows) == 2
    view.filter.setText("conv3d")
    assert NOTHING in view.title.text() and not view.sorted.rowCount()
    view.filter.clear()
    assert view.sorted.rowCount() == 31 and NOTHING not in view.title.text()


def test_that_a_layer_chosen_in_the_table_is_highlighted_and_the_other_way_round(
    session: Session, panel: LayersPresenter, view: LayersView
):
    place = view.sorted.place("block2_conv1")
    view.table.scrollTo(view.sorted.index(place, 0))
    at = view.table.visualRect(view.sorted.index(place, 0))
    QTest.mouseClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=at.center())
    assert session.layer == "block2_conv1"
    QTest.keyClick(view.table, Qt.Key.Key_Down)
    assert session.layer == view.sorted.row(place + 1).path
    session.highlight("stem")
    assert view.selected == "stem"
    session.highlight("")
    assert view.selected == ""


def test_that_the_selection_survives_sorting_filtering_and_another_batch(
    session: Session, panel: LayersPresenter, view: LayersView
):
    session.highlight("stem_norm")
    click_header(view, "peak_bytes")
    session.choose_setup(batch=256)
    settle(session)
    assert (session.layer, view.selected) == ("stem_norm", "stem_norm")
    view.filter.setText("dense")
    assert session.layer == "stem_norm"
    view.filter.clear()


def test_that_a_layer_chosen_in_the_treemap_is_highlighted(session: Session, panel: LayersPresenter, view: LayersView):
    QTest.mouseClick(view.treemap_button, Qt.MouseButton.LeftButton)
    assert view.treemap.isVisible() and not view.table.isVisible()
    tile = next(tile for tile in view.treemap.tiles if tile.row and tile.row.path)
    middle = QPoint(int(tile.box.left + tile.box.width / 2), int(tile.box.top + tile.box.height / 2))
    QTest.mouseClick(view.treemap, Qt.MouseButton.LeftButton, pos=middle)
    assert session.layer == tile.row.path == view.selected
    QTest.mouseClick(view.treemap, Qt.MouseButton.LeftButton, pos=middle)
    assert session.layer == ""
    for _ in range(3):
        QTest.keyClick(view.treemap, Qt.Key.Key_Right)
    largest = sorted((row for row in panel.values.rows if row.path), key=lambda row: -row.peak_bytes)
    assert next(row for row in panel.values.rows if row.path == session.layer).peak_bytes == largest[2].peak_bytes


def test_that_the_treemap_s_areas_are_the_layers_bytes(panel: LayersPresenter, view: LayersView):
    """Of blocks and of layers in none: inside a block its name takes room."""
    view.treemap_button.click()
    room = view.treemap.width() * view.treemap.height()
    outer = [tile for tile in view.treemap.tiles if tile.depth == 0]
    for tile in outer:
        assert tile.box.width * tile.box.height == pytest.approx(room * tile.size_bytes / panel.values.peak_bytes)
    assert sum(tile.size_bytes for tile in outer) == panel.values.peak_bytes
    assert {"block1", "block2"} <= {tile.name for tile in outer if tile.row is None}


def test_that_more_memory_is_more_colour_and_no_name_is_cut(panel: LayersPresenter, view: LayersView):
    view.treemap_button.click()
    rows = sorted((row for row in panel.values.rows if row.path), key=lambda row: row.peak_bytes)
    shades = [view.treemap._colour(row).lightness() for row in rows]
    assert shades == sorted(shades, reverse=True) and shades[0] - shades[-1] > 80


def test_that_blocks_are_layers_in_a_row_whose_names_begin_alike():
    names = ["input", "conv1_pad", "conv1_conv", "conv2_block1_conv", "conv2_block1_bn", "conv2_block2_conv"]
    names += ["conv2_block2_bn", *(f"conv2_block3_{number}" for number in range(24)), "dense", "relu", "dense_1"]
    found = blocks(names)
    assert found["conv1_pad"] == "conv1"
    assert blocks(["stem", "stem_norm", "dense"]) == {"stem": "stem", "stem_norm": "stem"}
    assert (found["conv2_block1_bn"], found["conv2_block2_bn"]) == ("conv2_block1", "conv2_block2")
    assert "dense" not in found and "dense_1" not in found, "they don't follow one another"
    assert short_name("conv2_block1_bn", "conv2_block1") == "bn"


def test_that_edges_are_read_from_every_form_of_configuration():
    def called(name: str, *sources: str) -> dict:
        tensors = [{"class_name": "__keras_tensor__", "config": {"keras_history": [each, 0, 0]}} for each in sources]
        return {"name": name, "config": {}, "inbound_nodes": [{"args": [tensors], "kwargs": {}}] if sources else []}

    inner = {"name": "inner", "config": {"layers": [{"config": {"name": "a"}}, {"config": {"name": "b"}}]}}
    inner["inbound_nodes"] = [[["x", 0, 0, {}]]]  # as Keras 2 wrote it
    layers = [called("x"), inner, called("sum", "x", "inner")]
    config = {"config": {"layers": layers, "input_layers": [["x", 0, 0]], "output_layers": ["sum", 0, 0]}}
    assert set(edges(config)) == {("inner/a", "inner/b"), ("x", "inner/a"), ("x", "sum"), ("inner/b", "sum")}
    assert edges({}) == ()


def test_that_the_graph_folds_blocks_and_a_click_unfolds_one(panel: LayersPresenter, view: LayersView):
    canvas = view.graph.canvas
    folded = next(node for node in canvas.graph.nodes if node.name == "block1")
    assert folded.folded and len(folded.layers) > 2 and not canvas.graph.chained
    before = len(canvas.graph.nodes)
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.box(folded).center().toPoint())
    assert len(canvas.graph.nodes) == before + len(folded.layers) - 1
    node = next(node for node in canvas.graph.nodes if node.key == "block1_conv1")
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.box(node).center().toPoint())
    assert view.selected == "block1_conv1"
    for start, end in canvas.graph.edges:
        ranks = {node.key: node.rank for node in canvas.graph.nodes}
        assert ranks[start] < ranks[end]


def test_that_chosen_rows_are_copied_together(panel: LayersPresenter, view: LayersView):
    view.table.setFocus()
    view.table.selectRow(0)
    QTest.keyClick(view.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(view.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(view.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QApplication.clipboard().text().split("\n")
    assert lines[0].split("\t")[:2] == ["Layer", "At the peak"]
    assert [line.split("\t")[1] for line in lines[1:]] == [str(row.peak_bytes) for row in view.sorted.shown[:3]]


def test_that_figures_are_white_paper_in_a_dark_window_too(panel: LayersPresenter, appearance: Appearance):
    appearance.choose(Look.DARK)
    drawn = LayersView(LIGHT)
    drawn.show_for_paper(panel.values)
    paper = png_sheet(drawn, Caption("demo.keras")).scaled(1, 1, mode=Qt.TransformationMode.SmoothTransformation)
    assert paper.pixelColor(0, 0).lightness() > 215
    appearance.choose(Look.LIGHT)


def test_that_squares_are_preferred():
    """The example of the paper that the way is from: 6 x 4, in rows of 6 6, 4 3, 2 2 1."""
    boxes = squarify([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))
    assert [(box.width, box.height) for box in boxes[:2]] == [(3, 2), (3, 2)]
    assert [round(box.width * box.height, 9) for box in boxes] == [6, 6, 4, 3, 2, 2, 1]
    assert (boxes[2].left, boxes[2].top) == (3, 0)
    assert boxes[2].width == pytest.approx(12 / 7) and boxes[2].height == pytest.approx(7 / 3)


def test_that_nested_models_lie_around_their_layers():
    rows = [layer("a", 100), layer("inner/b", 60), layer("inner/deep/c", 30), layer("inner/deep/d", 10), layer("", 5)]
    found = tiles([*rows, layer("nothing", 0)], Box(0, 0, 400, 200))
    assert {tile.name: tile.size_bytes for tile in found if tile.row is None} == {"inner": 100, "deep": 40}
    boxes = {tile.row.path if tile.row else tile.name: tile.box for tile in found}
    for outer, inner in (("inner", "inner/b"), ("inner", "deep"), ("deep", "inner/deep/c"), ("deep", "inner/deep/d")):
        room, box = inside(boxes[outer]), boxes[inner]
        assert room.left <= box.left + 1e-6 and box.left + box.width <= room.left + room.width + 1e-6
        assert room.top <= box.top + 1e-6 and box.top + box.height <= room.top + room.height + 1e-6
    assert len(found) == 7
    assert [tile.depth for tile in found if tile.row and tile.row.path == "inner/deep/d"] == [2]


def test_that_a_layer_s_colour_is_what_most_of_it_is():
    assert layer("a", 100, weights_bytes=60).main_term is Term.WEIGHTS
    assert layer("a", 100, activation_bytes=60, weights_bytes=10).main_term is Term.ACTIVATIONS
    assert layer("a", 100, weights_bytes=10).main_term is Term.TEMPORARIES


def test_that_without_room_nothing_breaks():
    assert tiles([layer("inner/b", 60)], Box(0, 0, 0, 0))[1:] == []
    assert len(squarify([1.0, 2.0], Box(0, 0, 0, 10))) == 2


def test_that_the_layers_have_their_pictures(
    session: Session, panel: LayersPresenter, view: LayersView, take_pictures: Callable[..., None]
):
    session.highlight("block1_conv2")
    take_pictures(view, "layers")
    view.treemap_button.click()
    rows = [row for row in panel.values.rows if row.share > 0.01]
    take_pictures(view, "layers_treemap", lambda theme: {view.treemap._colour(row).name() for row in rows})
