"""Meshes and layouts in the app: the table, two of them side by side, their lines on the chart, and why one fails."""

from collections.abc import Callable, Iterator

import pytest
from waiting import traced, wait

from planner_app.core.model.setup import Backend, Jit, Setup
from planner_app.core.model.trace import Role
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import Mesh
from planner_app.core.sharding.options import placed_option
from planner_app.core.sharding.placement import StateVariable
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.hardware.presenter import HardwarePresenter
from planner_app.gui.panels.hardware.view import HardwareView
from planner_app.gui.panels.setup.backend import with_mesh
from planner_app.gui.panels.sharding.presenter import ShardingPresenter
from planner_app.gui.panels.sharding.values import partner, row_of
from planner_app.gui.panels.sharding.view import ShardingView
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.session import Session

MIB = 1 << 20


@pytest.fixture
def view(appearance: Appearance) -> Iterator[ShardingView]:
    view = ShardingView(appearance.theme)
    view.resize(1270, 240)
    view.show()
    yield view
    view.close()


def chosen(**how: object) -> Choice:
    device = find_device("NVIDIA L4")
    return Choice(Setup(**({"batch": 32} | how)), device, (device,))


def test_that_a_choice_goes_to_jax_and_back():
    on_jax = chosen(gpus=4, jit=Jit.OFF).on_backend(Backend.JAX)
    assert (on_jax.setup.mesh, on_jax.setup.jit, on_jax.setup.batch) == (Mesh(4), Jit.AUTO, 32)
    cut = with_mesh(on_jax, "2x4")
    assert (cut.setup.gpus, cut.setup.layout.name) == (8, LayoutName.AUTO)
    assert cut.with_setup(batch=33).setup.batch == 34  # equal shares
    assert cut.with_setup(accumulate=3).setup.batch == 36
    assert [str(line.mesh) for line in cut.lines() if line.precision is cut.setup.precision] == [
        "1x1", "1x2", "1x4", "2x4",
    ]  # fmt: skip
    back = cut.on_backend(Backend.TENSORFLOW)
    assert (back.setup.gpus, back.setup.mesh, back.setup.batch) == (8, Mesh(), 32)


def test_that_a_row_says_why_its_layout_fails():
    state = ModelState((StateVariable("odd/kernel", (1023, 1025), "float32", 4, Role.WEIGHT),))
    option = placed_option(state, Mesh(1, 4), Layout(LayoutName.AUTO), MIB)
    row = row_of(option, Setup(batch=8), MIB)
    assert (row.cells[:5], row.fits) == (("1x4", "auto", "-", "4.00 MiB", "4.00 MiB"), False)
    assert "The state alone takes 4.00 MiB of 1.00 MiB" in row.reason and "odd/kernel" in row.stays
    assert (partner((row,) * 3, 0, None), partner((row,) * 3, 2, None), partner((row,) * 3, 2, 1)) == (1, 0, 1)


def test_that_layouts_are_compared_drawn_and_used(
    session: Session, view: ShardingView, appearance: Appearance, take_pictures: Callable
):
    panel = ShardingPresenter(session, view, appearance)
    view.gpus.setValue(2)
    view.work.click()
    assert panel.busy and not view.work.isEnabled()
    wait(lambda: not panel.busy)
    assert sorted((row.mesh, row.layout) for row in panel.values.rows) == [
        ("1x2", "auto"), ("1x2", "fsdp"), ("2x1", "data"), ("2x1", "fsdp"),
    ]  # fmt: skip
    assert all(row.fits for row in panel.values.rows)
    assert len(panel.table().rows) == 4
    assert {name for name, _, _ in session.others} == {row.name for row in panel.values.rows}
    place = next(n for n, row in enumerate(panel.values.rows) if row.name == "1x2 auto")
    view.table.setCurrentCell(place, 0)
    wait(lambda: session.answers.idle and view.beside.rowCount() > 4)
    assert view.beside.horizontalHeaderItem(1).text() == "1x2 auto"
    assert "model" in view.detail.toPlainText()
    take_pictures(view, "sharding")
    view.use.click()
    wait(lambda: traced(session))
    assert (session.choice.setup.backend, str(session.choice.setup.mesh)) == (Backend.JAX, "1x2")
    assert panel.values.chosen == place and not view.use.isEnabled()
    assert "1x2 auto" not in {name for name, _, _ in session.others}  # it has a line of its own
    hardware = HardwareView(appearance.theme)
    HardwarePresenter(session, hardware, appearance)
    hardware.show()
    assert "compare meshes and layouts on one kind of GPU" in hardware.caption.text()
    hardware.close()
    session.choose_setup(lora="2")
    assert panel.values.stale and session.others == ()
