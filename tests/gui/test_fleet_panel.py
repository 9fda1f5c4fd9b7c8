"""Machines of a cluster in the app: what each is, what was measured there, and what stands in the way."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest
from waiting import wait

from planner_app.core.measure.measurement import Order
from planner_app.core.model.setup import Setup
from planner_app.errors import SetupError
from planner_app.fleet.protocol import Node
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.fleet.presenter import FleetPresenter
from planner_app.gui.panels.fleet.values import COLUMNS, point_on, rows_of
from planner_app.gui.panels.fleet.view import FleetView
from planner_app.gui.state.session import Session
from planner_app.planner.fleet.nodes import KnownNode
from planner_app.planner.fleet.on_node import About

GIB = 1 << 30


@pytest.fixture
def view(appearance: Appearance) -> Iterator[FleetView]:
    view = FleetView(appearance.theme)
    view.resize(1270, 220)
    view.show()
    yield view
    view.close()


def node(host: str, *gpus: str, tensorflow: str = "2.21.0", cpus: float = 8) -> KnownNode:
    memory = tuple(24 * GIB for _ in gpus)
    about = About(host, "0.1.0", tensorflow, "3.15.1", "3.11", "570.1" if gpus else None, gpus, memory, "")
    kinds = ("L4",) if gpus else ()
    return KnownNode(Node(number=f"n-{host}", host=host, address=host, cpus=cpus, gpus=len(gpus), kinds=kinds), about)


def test_that_a_row_says_what_a_machine_has_and_whether_it_can_measure():
    silent = KnownNode(Node(number="4", host="gone", address="10.0.0.4"), None, "It did not answer.")
    with_gpus, cpu, empty, gone = rows_of(
        (node("server", "NVIDIA L4", "NVIDIA L4"), node("desk"), node("bare", tensorflow=""), silent), {}
    )
    named = dict(zip(COLUMNS, with_gpus.cells, strict=True))
    assert (named["GPUs"], named["Memory of each"], named["Kinds"]) == (
        "NVIDIA L4, NVIDIA L4", "24.0 GiB, 24.0 GiB", "L4",
    )  # fmt: skip
    assert with_gpus.able and cpu.able and cpu.cells[1] == "CPU only"
    assert not empty.able and "no TensorFlow" in empty.tip
    assert not gone.able and gone.tip == "It did not answer."


def test_that_a_measurement_goes_to_the_machine_that_was_chosen(session: Session):
    model = session.planner.model
    point = point_on(node("desk"), model, Setup(batch=8), GIB)
    assert (point.node, point.on_gpu, point.limit_bytes, point.order) == ("n-desk", False, GIB, Order.INLINE)
    assert point.work("0").needs.node == "n-desk"
    assert point_on(node("server", "NVIDIA L4"), model, Setup(batch=8), None).on_gpu
    with pytest.raises(SetupError, match="server has 1 of the 2 GPUs of the setup: choose fewer"):
        point_on(node("server", "NVIDIA L4"), model, Setup(batch=8, gpus=2), None)


def test_that_only_machines_that_can_measure_are_measured_on(
    session: Session, view: FleetView, appearance: Appearance, take_pictures: Callable
):
    panel = FleetPresenter(session, view, appearance)
    assert "List machines" in view.note.text() and not view.measure.isEnabled()
    panel.show_nodes((node("server", "NVIDIA L4", "NVIDIA L4"), node("desk"), node("bare", tensorflow="")))
    assert view.measure.isEnabled() and view.test.isEnabled()
    take_pictures(view, "fleet")
    view.table.setCurrentCell(2, 0)
    assert not view.measure.isEnabled()
    assert [row[0] for row in panel.table().rows] == ["server", "desk", "bare"]


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_that_without_ray_a_sentence_says_what_to_install(session: Session, view: FleetView, appearance: Appearance):
    panel = FleetPresenter(session, view, appearance)
    view.look.click()
    wait(lambda: not panel.busy)
    assert 'pip install "plimsoll[ray]"' in view.doing.text()
