"""Which meshes and layouts carry a model, what travels between GPUs, and why the others don't."""

import pytest
from rich.console import Console

from planner_app.core.model.trace import Role
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import Mesh
from planner_app.core.sharding.options import candidates, placed_option, weights_travel_bytes
from planner_app.core.sharding.placement import StateVariable
from planner_app.reports.sharding_table import show
from planner_app.worker.compile.travel import travelling_bytes

MIB = 1 << 20
STATE = ModelState(
    (
        StateVariable("a/kernel", (1024, 1024), "float32", 4, Role.WEIGHT),
        StateVariable("adam/a_kernel_momentum", (1024, 1024), "float32", 4, Role.OPTIMIZER, like="a/kernel"),
        StateVariable("odd/kernel", (1023, 1025), "float32", 4, Role.FROZEN),
    )
)


def test_that_every_mesh_is_tried_with_the_layouts_that_mean_something():
    tried = [(str(mesh), str(layout)) for mesh, layout in candidates(4, STATE)]
    assert tried == [
        ("4x1", "data"), ("4x1", "fsdp"), ("2x2", "auto"), ("2x2", "fsdp"), ("1x4", "auto"), ("1x4", "fsdp"),
    ]  # fmt: skip


def test_that_what_does_not_fit_is_explained_by_what_every_gpu_holds():
    option = placed_option(STATE, Mesh(4), Layout(LayoutName.FSDP), 5 * MIB)
    assert option.reason == (
        "The state alone takes 6.00 MiB of 5.00 MiB on each GPU; 4.00 MiB of it lies on every GPU, such as "
        "odd/kernel (4.00 MiB)."
    )
    assert "has no get_layout_map" in placed_option(STATE, Mesh(1, 4), Layout(LayoutName.OWN), MIB).reason
    assert placed_option(STATE, Mesh(4), Layout(LayoutName.FSDP), 7 * MIB).reason == ""


def test_that_layouts_that_cut_nothing_are_named(capsys: pytest.CaptureFixture):
    # neither 1024 nor 1025 can be cut into 7, nor 1023 = 3 * 11 * 31
    whole = [placed_option(STATE, Mesh(7), Layout(name), 99 * MIB) for name in (LayoutName.FSDP, LayoutName.DATA)]
    assert [each.cuts_nothing for each in whole] == [True, False]
    assert not placed_option(STATE, Mesh(4), Layout(LayoutName.FSDP), 99 * MIB).cuts_nothing
    show(whole, "L4", Console(width=200))
    assert "\n7x1 fsdp: nothing can be cut into equal shares" in capsys.readouterr().out


def test_that_gradients_travel_once_and_fully_sharded_weights_three_times():
    reduced = weights_travel_bytes(STATE.on(Mesh(4), Layout(LayoutName.DATA)))
    gathered = weights_travel_bytes(STATE.on(Mesh(4), Layout(LayoutName.FSDP)))
    assert reduced == 2 * 4 * MIB * 3 // 4
    assert gathered == 3 * 4 * MIB * 3 // 4  # of the one that can be cut; the other is not trained
    assert weights_travel_bytes(STATE.on(Mesh(1, 4), Layout(LayoutName.AUTO))) == 0


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("  %r = f32[1024]{0} all-reduce(%x), replica_groups={{0,1,2,3}}, to_apply=%add", 2 * 4096 * 3 // 4),
        ("  %r = (f32[8]{0}, bf16[16]{0}) all-reduce-start(%x, %y), replica_groups=[2,2]<=[4]", 64),
        ("  %g = f32[64,4]{1,0} all-gather(%x), replica_groups=[1,4]<=[4], dimensions={0}", 1024 * 3 // 4),
        ("  %g = (f32[16]{0}, f32[64]{0}) all-gather-start(%x), replica_groups={{0,1,2,3}}", 256 * 3 // 4),
        ("  %s = bf16[16]{0} reduce-scatter(%x), replica_groups={{0,1}}", 32),
        ("  %s = f32[64]{0} reduce-scatter(%x), replica_groups=mesh['axis_0'=4,'axis_1'=2] {'axis_0'}", 256 * 3),
        ("  %d = f32[1024]{0} all-reduce-done(%r)", 0),
        ("  %a = f32[1024]{0} add(%x, %y)", 0),
    ],
)
def test_that_collectives_are_counted_as_a_ring_sends_them(line: str, sent: int):
    assert travelling_bytes([line]) == sent
