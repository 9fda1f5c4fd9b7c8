"""What a person does with the chart, the devices and the layers, and what must be seen there."""

from pathlib import Path

from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from stage import Stage, hold, play, turn

from planner_app.core.model.setup import Precision
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.app import DEMO
from planner_app.gui.look import export
from planner_app.gui.panels.chart.drawn.marks import MEASURED
from planner_app.gui.panels.chart.view import ChartView
from planner_app.gui.panels.devices.model import NAME
from planner_app.gui.panels.devices.values import LOOKING
from planner_app.gui.panels.devices.view import DevicesView
from planner_app.gui.panels.layers.view import LayersView
from planner_app.gui.panels.validate.view import ValidateView

CARDS = ("NVIDIA A10", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3090", "NVIDIA A100 SXM4 80GB")


def opened(stage: Stage) -> ChartView:
    stage.drop(stage.window, files=(DEMO,))
    stage.until_traced()
    chart = stage.app.panels["Chart"].widget
    assert isinstance(chart, ChartView)
    return chart


def pixel(chart: ChartView, batch: int, gib: float) -> QPoint:
    scene = chart.plot.getViewBox().mapViewToScene(QPointF(chart.axis.place(batch), gib))
    return QPoint(chart.plot.mapFromScene(scene))


def lines_say_how_they_run(stage: Stage, _folder: Path) -> None:
    chart, session = opened(stage), stage.app.session

    def names() -> list[str]:
        return [chip.text() for chip in chart.legend.chips.values()]

    def crossings_are_told() -> bool:
        told = {tag.text for tag in chart.drawing.crossings.tags.shown}
        return told >= {series.largest_text for series in chart.drawing.picture.series if series.run == (2, False)}

    stage.until(lambda: names()[2:] == ["1 GPU, XLA", "2 GPUs, no XLA", "4 GPUs, no XLA"], "the legend names each way")
    stage.until(lambda: session.answers.idle, "the lines have come to rest")
    chip = chart.legend.chips[2, False]
    assert "Keras turns it off on several GPUs" in chip.toolTip()
    stage.until_pointing(chip, crossings_are_told, "pointing at a chip tells where its lines cross the capacity")
    stage.click(chip)
    stage.until(lambda: not chart.drawing.curves[Precision.FLOAT32, 2].isVisible(), "its line is off")
    stage.picture("chart_line_off")
    stage.app.bring("Largest batch")
    stage.until(lambda: session.answers.idle, "the heat map is there")
    table = stage.app.panels["Largest batch"].widget.table
    heads = [table.model().headerData(column, table.header.orientation()) for column in range(3)]
    assert heads == ["1 GPU, XLA", "2 GPUs, no XLA", "4 GPUs, no XLA"]
    assert "Keras turns it off" in table.cells.values.cells[0][1].tip


def labels_never_collide(stage: Stage, _folder: Path) -> None:
    """Devices of one size and twelve lines: labels are grouped or left out, never printed over."""
    from dataclasses import replace

    chart, session = opened(stage), stage.app.session
    devices = (session.choice.device, *map(find_device, CARDS))
    session.choose(lambda choice: replace(choice, devices=devices, gpu_counts=(1, 2, 3, 4, 6, 8)))
    stage.until_traced()
    for size in ((1280, 800), (1920, 1080)):
        stage.window.resize(*size)
        stage.until(lambda: session.answers.idle, "all is worked out")
        turn(200)
        taken = chart.drawing.room.taken
        assert len(taken) >= 5  # marker and size, two groups of devices, the chosen line's batch
        clashes = [(one, other) for one in taken for other in taken if one is not other and one.overlaps(other)]
        assert not clashes, clashes
        labels = [tag.text for tag in chart.drawing.levels.tags.shown]
        assert any("L4: 20.4 GiB" in text and "RTX 4090" in text for text in labels), labels
        chips = [chip for chip in chart.legend.chips.values() if chip.isVisible()]
        assert all(chip.width() >= chip.sizeHint().width() for chip in chips), "no name is cut"
        assert len(chips) + len(chart.legend.more.menu().actions()) == 8
        stage.picture(f"chart_many_{size[0]}")


def pointer_and_click_agree(stage: Stage, _folder: Path) -> None:
    chart, session = opened(stage), stage.app.session
    series = next(each for each in chart.drawing.picture.series if each.key == (Precision.MIXED_FLOAT16, 2))
    hovered: list[int] = []
    chart.hovered.connect(lambda _key, batch, _at: hovered.append(batch))
    for batch in (300 * series.share, 1111 * series.share, 5000 * series.share):
        at = pixel(chart, batch, series.curve.at(batch // series.share)[0])
        hovered.clear()
        stage.point(chart.plot.viewport(), at)
        stage.until(lambda: hovered and chart.card.isVisible(), "the card is there")
        shown = hovered[-1]
        assert not chart.card.geometry().contains(at)
        stage.click(chart.plot.viewport(), at)
        stage.until(
            lambda shown=shown: session.choice.setup.batch == shown, f"a click takes the batch of the card, {shown}"
        )
        assert f"Batch {shown:,}" in chart.card.text
    stage.picture("chart_card")


def the_marker_is_dragged(stage: Stage, _folder: Path) -> None:
    chart, session = opened(stage), stage.app.session
    before, chosen = session.choice.setup.batch, chart.drawing.picture.chosen
    start, end = pixel(chart, before, chosen.gib), pixel(chart, 4096, chosen.gib)
    with hold(chart.plot.viewport(), start):
        for share in (0.3, 0.6, 1.0):
            stage.point(chart.plot.viewport(), QPoint(round(start.x() + (end.x() - start.x()) * share), start.y()))
            stage.until(lambda: session.choice.setup.batch > before, "the batch follows the pointer")
    stage.until(lambda: abs(session.choice.setup.batch / 4096 - 1) < 0.05, "it stays where the button was released")
    stage.keys("ctrl+z")
    stage.until(lambda: session.choice.setup.batch == before, "one drag is undone at once")
    stage.keys("ctrl+g")
    stage.until(lambda: chart.grid.isVisible() and not chart.plot.isVisible(), "the grid is there")
    series = next(each for each in chart.drawing.picture.series if each.key == (Precision.MIXED_FLOAT16, 4))
    stage.click(chart.grid, chart.grid.cell(series).center().toPoint())
    stage.until(lambda: (session.choice.setup.precision, session.choice.setup.gpus) == series.key, "it is chosen")
    stage.picture("chart_grid")
    stage.keys("ctrl+g", "shift+F11")
    setup = stage.app.panels["Setup"].widget
    stage.until(lambda: not setup.isVisible() and chart.plot.isVisible(), "the chart is alone")
    stage.picture("chart_alone")
    stage.keys("shift+F11")
    stage.until(setup.isVisible, "the panels are back")


def ticked_devices_stay(stage: Stage, _folder: Path) -> None:
    opened(stage)
    session = stage.app.session
    stage.app.bring("Devices")
    view = stage.app.panels["Devices"].widget
    assert isinstance(view, DevicesView)
    stage.until(view.list.isVisible, "the devices are shown")
    stage.until(lambda: all(row.name != LOOKING for row in view.list.rows_model.rows), "the driver has answered")
    rows = view.list.rows_model.rows
    for name in ("B200 SXM", "H200 NVL", "L40S"):
        number = next(place for place, row in enumerate(rows) if row.name == name)
        index = view.list.rows_model.index(number, NAME)
        before = view.list.visualRect(index)
        device = find_device(name)
        for on in (True, False, True):  # as people do who are not sure it was taken
            stage.click(view.list.viewport(), QPoint(before.left() + 10, before.center().y()))
            stage.until(
                lambda device=device, on=on: (device in session.choice.devices) is on, f"{name} is ticked: {on}"
            )
            assert view.list.visualRect(index) == before, "the row stays under the pointer"
    assert session.choice.device == find_device("NVIDIA L4")
    assert len(session.choice.devices) == 4
    stage.picture("devices_ticked")


def layers_are_found_and_copied(stage: Stage, _folder: Path) -> None:
    opened(stage)
    app, session = stage.app, stage.app.session
    stage.keys("ctrl+f")
    view = app.panels["Layers"].widget
    assert isinstance(view, LayersView)
    stage.until(lambda: view.isVisible() and session.answers.idle and view.sorted.rowCount() > 20, "layers are there")
    sizes = [row.peak_bytes for row in view.sorted.shown[:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert view.table.viewport().height() // view.table.rowHeight(0) >= 7
    stage.picture("layers_on_screen")
    stage.until(view.filter.hasFocus, "the search has the keyboard")
    stage.fill(view.filter, "block1 conv2d")
    found = ["block1_conv1", "block1_conv2"]
    stage.until(lambda: sorted(row.path for row in view.sorted.shown) == found, "both are found")
    stage.fill(view.filter, "")
    stage.until(lambda: view.sorted.rowCount() > 20, "all are shown again")
    first = view.table.visualRect(view.sorted.index(0, 0)).center()
    stage.click(view.table.viewport(), first)
    stage.until(lambda: len(view.table.selectionModel().selectedRows()) == 1, "the first is chosen")
    stage.keys("shift+Down", "shift+Down")
    stage.until(lambda: len(view.table.selectionModel().selectedRows()) == 3, "three are chosen")
    stage.keys("ctrl+c")

    def copied() -> list[str]:
        return [line.split("\t")[0] for line in QApplication.clipboard().text().split("\n")[1:]]

    stage.until(lambda: copied() == [row.name for row in view.sorted.shown[:3]], "the three are copied")
    canvas = view.graph.canvas
    block = next(node for node in canvas.graph.nodes if node.folded)
    view.graph.ensureVisible(0, 0)
    many = len(canvas.graph.nodes)
    stage.click(canvas, canvas.box(block).center().toPoint())
    stage.until(lambda: len(canvas.graph.nodes) > many, "a click unfolds a block")
    stage.click(view.treemap_button)
    stage.until(view.treemap.isVisible, "the treemap is shown")
    shades = {view.treemap._colour(row).name() for row in view.sorted.shown if row.path}
    assert len(shades) > 5, "memory is colour"
    stage.picture("treemap_on_screen")


def figures_can_be_published(stage: Stage, folder: Path) -> None:
    chart = opened(stage)
    target = folder / "figure.svg"
    stage.click(chart.plot.viewport(), QPoint(chart.plot.width() // 2, chart.plot.height() // 2))
    stage.name_file(str(target))
    stage.keys("ctrl+alt+e")
    stage.until(target.exists, "the figure is saved")
    svg = target.read_text()
    assert "demo.keras" in svg and "TensorFlow 2" in svg and "Plimsoll" in svg and "NVIDIA L4" in svg
    assert "clipPath" in svg and "Reset view" not in svg
    assert 'viewBox="0 0 1000 640"' in svg, "of a fixed size"
    assert svg.count("font-family=") == svg.count(', sans-serif"'), "in letters that a browser has too"
    for kind, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert export.data_of(stage.app.panels["Chart"], kind).startswith(magic)
    png = QImage.fromData(export.data_of(stage.app.panels["Chart"], "png"))
    assert (png.width(), png.height()) == (3000, 1920)
    report = folder / "report.html"
    stage.focus()
    stage.name_file(str(report))
    stage.keys("ctrl+shift+r")
    stage.until(report.exists, "the report is saved")
    page = report.read_text()
    assert page.count("data:image/svg+xml") == 3 and "block1_conv1" in page and "in use at the peak" in page


def a_measurement_is_explained(stage: Stage, _folder: Path) -> None:
    chart, session = opened(stage), stage.app.session
    stage.app.bring("Validate")
    view = stage.app.panels["Validate"].widget
    assert isinstance(view, ValidateView)
    stage.until(view.run.isVisible, "the panel is shown")
    assert view.steps.height() >= 120
    stage.click(view.run)
    stage.until(lambda: session.measurements and view.run.isEnabled(), "a step was measured")

    def measured() -> list[tuple[int, bool]]:  # beside the compiler's own marks
        return [(mark.batch, mark.elsewhere) for mark in chart.drawing.picture.marks if mark.source == MEASURED]

    stage.until(lambda: measured() and view.detail.text(), "it is shown")
    assert measured() == [(32, True)], "a hollow diamond on the chart"
    assert "Measured" in view.detail.text() and "The chart shows" in view.detail.text()
    assert "XLA compiles the step there and did not here" in view.detail.text()
    assert not view.table.item(0, 5).text().startswith("0 ")
    stage.picture("validate_on_screen")


SCENES = {
    scene.__name__: scene
    for scene in (
        lines_say_how_they_run,
        labels_never_collide,
        pointer_and_click_agree,
        the_marker_is_dragged,
        ticked_devices_stay,
        layers_are_found_and_copied,
        figures_can_be_published,
        a_measurement_is_explained,
    )
}

if __name__ == "__main__":
    play(SCENES)
