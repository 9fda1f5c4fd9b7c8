"""Meshes, layouts and what each GPU holds, worked out by hand."""

import json

import pytest

from planner_app.core.measure.measurable import check_measurable
from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.setup import Backend, Jit, Setup
from planner_app.core.model.trace import Role
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import Layout, LayoutName, Rule
from planner_app.core.sharding.mesh import Mesh, meshes, parse_mesh
from planner_app.core.sharding.placement import StateVariable, place
from planner_app.errors import SetupError
from planner_app.files.layouts import read_layout, sharding, write_layout
from planner_app.worker.jax.books import out_of_memory


def variable(path: str, *shape: int, role: Role = Role.WEIGHT, like: str = "") -> StateVariable:
    return StateVariable(path, shape, "float32", 4, role, like=like)


BLOCKS = tuple(
    each
    for n in range(2)
    for each in (
        variable(f"block_{n}/attention/query/kernel", 64, 4, 16),
        variable(f"block_{n}/attention/query/bias", 4, 16),
        variable(f"block_{n}/attention/output/kernel", 4, 16, 64),
        variable(f"block_{n}/up/kernel", 64, 256),
        variable(f"block_{n}/up/bias", 256),
        variable(f"block_{n}/down/kernel", 256, 64),
        variable(f"block_{n}/down/bias", 64),
        variable(f"block_{n}/norm/gamma", 64),
    )
)
TRANSFORMER = ModelState((variable("tokens/embeddings", 512, 64), *BLOCKS))


def test_that_a_mesh_is_read_as_shares_of_the_batch_and_of_the_model():
    assert parse_mesh("2x4") == Mesh(2, 4)
    assert parse_mesh("4") == Mesh(4, 1)
    assert [str(mesh) for mesh in meshes(4)] == ["4x1", "2x2", "1x4"]
    with pytest.raises(SetupError, match="as in 2x4"):
        parse_mesh("two")
    with pytest.raises(SetupError, match="not a mesh"):
        parse_mesh("0x4")


def test_that_a_transformer_is_cut_by_heads_hidden_units_and_vocabulary():
    placed = TRANSFORMER.on(Mesh(1, 4), Layout(LayoutName.AUTO))
    axes = {each.variable.path: each.axes for each in placed.variables}
    assert axes["tokens/embeddings"] == ("model", None)
    assert axes["block_0/attention/query/kernel"] == (None, "model", None)
    assert axes["block_1/attention/query/bias"] == ("model", None)
    assert axes["block_0/attention/output/kernel"] == ("model", None, None)
    assert axes["block_0/up/kernel"] == (None, "model")
    assert axes["block_0/up/bias"] == ("model",)
    assert axes["block_1/down/kernel"] == ("model", None)
    assert axes["block_0/down/bias"] == () == axes["block_0/norm/gamma"]
    assert {rule.pattern for rule in placed.layout.rules} >= {r"block_\d+/up/kernel", r"tokens/embeddings"}


def test_that_adapters_lie_as_the_kernel_they_adapt():
    adapters = (
        variable("block_0/attention/query/lora_kernel_a", 64, 4, 8),
        variable("block_0/attention/query/lora_kernel_b", 8, 16),
        variable("block_0/up/lora_kernel_a", 64, 8),
        variable("block_0/up/lora_kernel_b", 8, 256),
    )
    placed = ModelState((*TRANSFORMER.variables, *adapters)).on(Mesh(1, 4), Layout(LayoutName.AUTO))
    axes = {each.variable.path: each.axes for each in placed.variables}
    assert [axes[each.path] for each in adapters] == [(None, "model", None), (), (), (None, "model")]


def test_that_convolutions_are_cut_by_output_channels():
    state = ModelState(
        (variable("conv/kernel", 3, 3, 16, 32), variable("conv/bias", 32), variable("odd/kernel", 3, 3, 3, 5))
    )
    axes = {each.variable.path: each.axes for each in state.on(Mesh(1, 4), Layout(LayoutName.AUTO)).variables}
    assert axes == {"conv/kernel": (None, None, None, "model"), "conv/bias": ("model",), "odd/kernel": ()}


def test_that_fully_sharded_uses_both_axes_where_two_dimensions_can_be_cut():
    state = ModelState((variable("a/kernel", 64, 256), variable("a/bias", 256), variable("b/kernel", 3, 5)))
    placed = state.on(Mesh(2, 4), Layout(LayoutName.FSDP))
    assert [each.device_bytes for each in placed.variables] == [64 * 256 * 4 // 8, 256 * 4 // 4, 3 * 5 * 4]
    assert placed.replicated_bytes == 60
    assert placed.largest_replicated()[0].variable.path == "b/kernel"


def test_that_optimizer_slots_lie_where_their_weights_do():
    slot = variable("adam/a_kernel_momentum", 64, 256, role=Role.OPTIMIZER, like="a/kernel")
    counter = StateVariable("adam/iteration", (), "int32", 4, Role.OPTIMIZER)
    placed = place(
        (variable("a/kernel", 64, 256), slot, counter),
        Layout(LayoutName.FILE, (Rule("a/.*", (None, "model")),)),
        Mesh(1, 4),
    )
    assert [each.device_bytes for each in placed.variables] == [16384, 16384, 4]


def test_that_a_dimension_that_cant_be_cut_evenly_is_named():
    layout = Layout(LayoutName.FILE, (Rule(".*kernel", (None, "model")),))
    with pytest.raises(SetupError, match=r"'a/kernel' \[64, 10\]: dimension 1 of 10 can't be cut into 4 equal shares"):
        place((variable("a/kernel", 64, 10),), layout, Mesh(1, 4))
    with pytest.raises(SetupError, match="2 dimensions for 'a/bias'"):
        place((variable("a/bias", 8),), Layout(LayoutName.FILE, (Rule("a/bias", (None, "model")),)), Mesh(1, 4))


def test_that_rules_match_whole_paths_and_only_one_may():
    layout = Layout(LayoutName.FILE, (Rule("dense", ("model",)), Rule(".*/kernel", ("model",)), Rule("a/.*", (None,))))
    assert layout.axes("dense/bias") == ()
    with pytest.raises(SetupError, match="Two rules of the layout match the variable 'a/kernel'"):
        layout.axes("a/kernel")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule("(", ("model",)), "regular expression"),
        (Rule("a", ("rows",)), "'rows'"),
        (Rule("a", ("model", "model")), "one axis"),
    ],
)
def test_that_a_wrong_rule_is_refused(rule: Rule, said: str):
    with pytest.raises(SetupError, match=said):
        Layout(LayoutName.FILE, (rule,))


def test_that_a_layout_file_is_read_as_it_was_written(tmp_path):
    layout = TRANSFORMER.on(Mesh(1, 4), Layout(LayoutName.AUTO)).layout
    write_layout(layout, tmp_path / "mine.json")
    assert read_layout(tmp_path / "mine.json") == Layout(LayoutName.FILE, layout.rules, "mine.json")
    (tmp_path / "wrong.json").write_text(json.dumps({"rules": {}}))
    with pytest.raises(SetupError, match="is not a layout"):
        read_layout(tmp_path / "wrong.json")
    with pytest.raises(SetupError, match="expected one of data, auto, own, fsdp"):
        sharding("2x4", "megatron")


def test_that_a_model_without_a_layout_of_its_own_says_so():
    with pytest.raises(SetupError, match="has no get_layout_map"):
        TRANSFORMER.on(Mesh(1, 4), Layout(LayoutName.OWN))


def test_that_a_setup_on_jax_counts_gpus_by_its_mesh():
    setup = Setup(batch=32, backend=Backend.JAX, mesh=Mesh(2, 4), layout=Layout(LayoutName.AUTO))
    assert (setup.gpus, setup.per_gpu_batch, setup.uses_xla(on_gpu=False)) == (8, 16, True)
    assert Setup(batch=32, backend=Backend.JAX, gpus=4).mesh == Mesh(4, 1)
    assert setup.with_batch(64).per_gpu_batch == 32
    with pytest.raises(SetupError, match="a multiple of 2"):
        setup.with_batch(33)
    with pytest.raises(SetupError, match="has 8 GPUs, not 4"):
        Setup(batch=32, backend=Backend.JAX, mesh=Mesh(2, 4), gpus=4)
    with pytest.raises(SetupError, match="for Keras on JAX"):
        Setup(batch=32, mesh=Mesh(2, 4))
    with pytest.raises(SetupError, match="leave --jit out"):
        Setup(batch=32, backend=Backend.JAX, jit=Jit.OFF)


def test_that_only_what_jax_can_be_asked_is_measured():
    on_jax = Setup(batch=8, backend=Backend.JAX)
    check_measurable(on_jax, Place((0,), limit_bytes=8 << 30))
    with pytest.raises(SetupError, match="leave out --inline"):
        check_measurable(on_jax, Place(), Order.INLINE)
    with pytest.raises(SetupError, match="no memory limit on the CPU"):
        check_measurable(on_jax, Place(limit_bytes=8 << 30))


def test_that_running_out_of_memory_on_jax_is_read():
    said = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes.\nBufferAssignment OOM"
    found = out_of_memory(said, "step 1")
    assert found is not None and (found.requested_bytes, found.during) == (1 << 32, "step 1")
    assert out_of_memory("INTERNAL: cuDNN is gone", "step 1") is None
