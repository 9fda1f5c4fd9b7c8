"""What must hold for every model, on real traces of tiny ones; figures worked out by hand where there are some."""

import pytest
import tiny
from lab import CARD, CPU, Lab, between_steps, live_bytes, role_bytes

from planner_app.core.model.setup import Jit, Precision, Setup, parse_optimizer
from planner_app.core.model.trace import Role
from planner_app.core.replay.schedule import schedules

MODELS = {
    "dense": tiny.dense_net(128),
    "conv": tiny.conv_net(),
    "transformer": tiny.transformer(),
    "lstm": tiny.recurrent(),
}
MIB = 1 << 20
TARGETS = ("cpu", "gpu:8.0", "xla")
SIZES = (1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 100, 256, 512)

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
every_target = pytest.mark.parametrize("target", TARGETS)


@every_target
@every_model
def test_that_more_batch_never_needs_less(lab: Lab, model, target):
    memory = lab.memory(model, target)
    live = [live_bytes(memory, batch) for batch in SIZES]
    state = [between_steps(memory, batch) for batch in SIZES]
    assert live == sorted(live)
    assert state == sorted(state)


@every_target
@every_model
def test_that_float64_never_needs_less_than_float32(lab: Lab, model, target):
    single, double = lab.memory(model, target), lab.memory(model, target, precision=Precision.FLOAT64)
    for batch in (1, 8, 256):
        assert live_bytes(single, batch) < live_bytes(double, batch) <= 2.2 * live_bytes(single, batch)


@every_model
def test_that_freezing_never_needs_more(lab: Lab, model):
    first = model.config["config"]["layers"][1]["name"]
    free, frozen = lab.memory(model), lab.memory(model, freeze=(first,))
    for batch in (1, 8, 64, 512):
        assert live_bytes(frozen, batch) <= live_bytes(free, batch)


@every_target
@every_model
def test_that_parts_sum_to_the_whole(lab: Lab, model, target):
    device = CPU if target == "cpu" else CARD
    for batch in (1, 33, 512):
        setup = Setup(batch=batch, jit=Jit.ON if target == "xla" else Jit.OFF)
        found = lab.estimate(model, setup, device)
        assert sum(found.breakdown.values()) == found.peak_bytes
        assert sum(layer.peak_bytes for layer in found.layers) == found.peak_bytes
        assert all(size > 0 for size in found.breakdown.values())
        assert found.low_bytes <= found.peak_bytes <= found.high_bytes
        assert found.state_bytes <= found.live_bytes


@every_target
@every_model
def test_that_a_trace_is_in_an_order_that_can_run(lab: Lab, model, target):
    trace = lab.memory(model, target).trace
    made: set[int] = set()
    told = [0] * len(trace.operations)
    for number, operation in enumerate(trace.operations):
        assert told[number] == operation.waits
        assert made.issuperset(operation.reads)
        assert made.isdisjoint(operation.makes)
        made.update(operation.makes)
        for later in operation.then:
            assert later > number
            told[later] += 1


@pytest.mark.parametrize(
    "model", [*MODELS.values(), tiny.recurrent(kind="SimpleRNN")], ids=[*MODELS, "simple recurrent"]
)
def test_that_every_order_the_compiler_may_choose_can_run(lab: Lab, model):
    trace = lab.memory(model, "xla").trace
    for order in schedules(trace, 32):
        begun = order[::2]
        at = {number: place for place, number in enumerate(begun)}
        assert len(at) == len(trace.operations)
        assert all(at[n] < at[later] for n, operation in enumerate(trace.operations) for later in operation.then)


@every_model
def test_that_every_weight_belongs_to_a_layer_of_the_model(lab: Lab, model):
    trace = lab.memory(model).trace
    layers = {layer["name"] for layer in model.config["config"]["layers"]}
    assert {name for name, _ in trace.layers} == layers
    assert {v.layer for v in trace.variables if v.role in (Role.WEIGHT, Role.FROZEN)} <= layers


@pytest.mark.parametrize("batch", [100, 1000, 4096])
def test_that_one_trace_gives_the_figure_of_a_dense_network_at_every_batch(lab: Lab, batch):
    """64 -> 128 (relu) -> 10. The peak: the gradient of the hidden layer's output is made.

    Then alive, beside what lives between steps: the hidden output, its gradient and that of the outputs, for each
    sample; the gradients of the second kernel and bias, which the optimizer has not used yet; the loss. The step count
    (8 bytes) was updated into a copy, which counts as scratch.
    """
    point = lab.memory(MODELS["dense"], optimizer="sgd").point(batch)
    each_sample = 4 * (128 + 128 + 10)
    assert point.live_bytes - point.state_bytes == each_sample * batch + 4 * (128 * 10 + 10) + 4 - 8


def test_that_state_is_weights_slots_inputs_and_a_few_constants(lab: Lab):
    memory = lab.memory(MODELS["dense"])
    weights = 4 * (64 * 128 + 128 + 128 * 10 + 10)
    assert role_bytes(memory, Role.WEIGHT) == weights
    assert role_bytes(memory, Role.OPTIMIZER) == 2 * weights + 8 + 4
    assert role_bytes(memory, Role.METRIC) == 2 * 4  # the loss is averaged: a sum and a count
    assert role_bytes(memory, Role.INPUT, batch=1) % (4 * (64 + 10)) == 0
    known = role_bytes(memory, *Role, batch=1)
    assert known < between_steps(memory, 1) < known + 1000


def test_that_a_layers_share_is_its_own(lab: Lab):
    layers = {layer.name: layer for layer in lab.estimate(MODELS["conv"], Setup(batch=8, jit=Jit.OFF)).layers}
    filters = 4 * (3 * 3 * 3 * 8 + 8)
    conv, norm = layers["conv_0"], layers["norm_0"]
    assert (conv.class_name, conv.weights_bytes, conv.gradients_bytes) == ("Conv2D", filters, filters)
    assert conv.optimizer_bytes == 2 * filters
    assert (norm.weights_bytes, norm.gradients_bytes) == (4 * 4 * 8, 2 * 4 * 8)  # moving averages aren't trained
    assert layers["relu_0"].weights_bytes == 0


def kept_for_each_sample(lab: Lab, model, layer: str, **setup) -> int:
    """What a layer keeps for the backward pass, by sample."""
    kept = []
    for batch in (4096, 4097):
        found = lab.estimate(model, Setup(batch=batch, jit=Jit.OFF, optimizer=parse_optimizer("sgd"), **setup))
        kept.append(next(each.activation_bytes for each in found.layers if each.name == layer))
    return kept[1] - kept[0]


@pytest.mark.parametrize("precision", [Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16])
def test_that_mixed_precision_halves_kept_activations_and_leaves_weights(lab: Lab, precision):
    model = tiny.dense_net(256, 256, 256)
    assert kept_for_each_sample(lab, model, "dense_1") == 4 * 256
    assert kept_for_each_sample(lab, model, "dense_1", precision=precision) == 2 * 256
    single, mixed = (lab.memory(model, optimizer="sgd", precision=p) for p in (Precision.FLOAT32, precision))
    assert role_bytes(single, Role.WEIGHT) == role_bytes(mixed, Role.WEIGHT)


@pytest.mark.parametrize(("optimizer", "slots"), [("sgd", 0), ("adam", 2)])
def test_that_a_copy_of_a_layer_adds_its_weights_their_slots_and_its_activations(lab: Lab, optimizer, slots):
    two, three = (lab.memory(tiny.dense_net(*[128] * n), optimizer=optimizer) for n in (2, 3))
    weights = 4 * (128 * 128 + 128)
    for batch in (2000, 4000):
        added = live_bytes(three, batch) - live_bytes(two, batch)
        few = added - ((1 + slots) * weights + 4 * 128 * batch)
        assert 0 <= few < 32  # numbers that the optimizer works with
    assert between_steps(three, 1) - between_steps(two, 1) - (1 + slots) * weights < 500  # a few constants


def test_that_a_copy_of_a_convolution_adds_its_activations(lab: Lab):
    three, four = (lab.memory(tiny.conv_net(n, normed=False)) for n in (3, 4))
    output = 4 * 16 * 16 * 8
    slope = [live_bytes(memory, 513) - live_bytes(memory, 512) for memory in (three, four)]
    assert slope[1] - slope[0] == output


def test_that_all_gradients_are_alive_at_once_for_other_gpus(lab: Lab):
    """Weights outweigh everything at a batch of one. What came back from the other GPUs is all there before Adam, which
    needs as much again, starts; alone, each gradient is used up as soon as it is made."""
    model = tiny.dense_net(512, 512, outputs=512)
    weights = 4 * ((64 * 512 + 512) + 2 * (512 * 512 + 512))
    found = lab.estimate(model, Setup(batch=2, gpus=2))
    assert found.breakdown["all-reduce buffers"] == weights
    assert found.live_bytes >= 3 * weights + 2 * weights  # weights and slots; gradients, and what Adam makes of them
    assert live_bytes(lab.memory(model, replicated=True), 1) > live_bytes(lab.memory(model), 1)


def test_that_gradients_and_their_packed_copy_are_alive_together(lab: Lab):
    """Stochastic gradient descent needs little of its own: twice the gradients, when they are packed and after."""
    model = tiny.dense_net(512, 512, outputs=512)
    kernels = 4 * (64 * 512 + 2 * 512 * 512)
    found = lab.estimate(model, Setup(batch=2, gpus=2, optimizer=parse_optimizer("sgd")))
    assert found.live_bytes - found.state_bytes == pytest.approx(2 * kernels, rel=0.01)


def test_that_with_several_gpus_the_next_batch_is_there_already(lab: Lab):
    alone, shared = (lab.memory(MODELS["dense"], replicated=r) for r in (False, True))
    assert role_bytes(shared, Role.INPUT) == 2 * role_bytes(alone, Role.INPUT)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_that_adding_up_gradients_never_needs_less(lab: Lab, optimizer):
    plain, added = (lab.memory(MODELS["dense"], optimizer=optimizer, accumulates=a) for a in (False, True))
    weights = role_bytes(plain, Role.WEIGHT)
    for batch in (1, 64, 1024):
        assert live_bytes(added, batch) >= live_bytes(plain, batch)
        assert between_steps(added, batch) >= between_steps(plain, batch) + weights


@pytest.mark.parametrize(
    "mode", ["activations", "larger_than:100000", "list_of_layers:gelu_0+gelu_1+gelu_2+gelu_3+gelu_4"]
)
@every_target
def test_that_rematerialised_layers_keep_less(lab: Lab, mode, target):
    model = tiny.gelu_net(5)
    assert lab.live(model, 512, target=target, remat=mode) < 0.8 * lab.live(model, 512, target=target)


@pytest.mark.parametrize("name", ["dense", "conv", "transformer"])
def test_that_compiled_by_xla_a_step_grows_no_faster(lab: Lab, name):
    """Apart from cuBLAS' workspace of 4 MiB, which tiny models have less than, fusion only takes away."""
    compiled, plain = lab.memory(MODELS[name], "xla"), lab.memory(MODELS[name])
    for batch in (32, 256, 1024):
        assert live_bytes(compiled, batch) <= live_bytes(plain, batch) + 4 * MIB
    grown = [live_bytes(memory, 8192) - live_bytes(memory, 4096) for memory in (compiled, plain)]
    assert 0 < grown[0] <= grown[1]


def test_that_a_recurrent_layer_is_not_compiled_on_a_gpu(lab: Lab):
    """Keras: `supports_jit = False` where cuDNN may run it."""
    setup = Setup(batch=8)
    found = lab.estimate(MODELS["lstm"], setup)
    assert setup.step("gpu:8.0").xla
    assert not found.xla
    assert any("lstm" in warning for warning in found.warnings)


@pytest.mark.parametrize("target", ["cpu", "gpu:8.0"])
def test_that_a_loop_grows_in_a_straight_line_with_its_length(lab: Lab, target):
    live = [lab.live(tiny.recurrent(length), 64, target=target) for length in (8, 16, 24)]
    assert live[0] < live[1]
    assert live[2] - live[1] == pytest.approx(live[1] - live[0], rel=0.01)


def test_that_a_size_given_is_the_size_traced(lab: Lab):
    given = lab.memory(tiny.recurrent(None), sizes=(("x", (16, 8)),))
    assert live_bytes(given, 32) == lab.live(tiny.recurrent(16), 32)


def test_that_a_saved_loss_is_used_and_a_given_one_goes_before_it(lab: Lab):
    """Targets of a sparse loss are one class for each sample instead of ten numbers."""
    saved = tiny.dense_net(128, loss="sparse_categorical_crossentropy")
    assert role_bytes(lab.memory(saved, "cpu"), Role.INPUT, batch=1) == 4 * (64 + 1)
    assert role_bytes(lab.memory(saved, "cpu", loss="mean_squared_error"), Role.INPUT, batch=1) == 4 * (64 + 10)


def test_that_whole_numbers_stay_in_the_hosts_memory(lab: Lab):
    """int32 has no kernels on GPUs: classes don't go there."""
    saved = tiny.dense_net(128, loss="sparse_categorical_crossentropy")
    assert role_bytes(lab.memory(saved), Role.INPUT, batch=1) == 4 * 64


@pytest.mark.parametrize("target", ["cpu", "gpu:8.0"])
def test_that_a_sparse_update_is_one_that_divides_by_no_zero_and_no_nan(lab: Lab, target):
    """Keras looks for such rows of the table, and would compute with all of them at once."""
    table = tiny.layer("Embedding", "table", input_dim=1000, output_dim=16)
    words = tiny.chain(tiny.input_layer(4, dtype="int32"), table, tiny.layer("Dense", "out", units=1))
    trace = lab.memory(words, target, "adagrad").trace
    run = {trace.sources[operation.source].type for operation in trace.operations}
    assert "IsNan" in run
    assert "Where" not in run
    assert trace.warnings == ()


def test_that_optimizers_differ_where_they_should(lab: Lab):
    plain, decayed = (lab.memory(MODELS["dense"], optimizer=o) for o in ("sgd", "sgd:momentum=0.9"))
    assert decayed.setup.optimizer == parse_optimizer("sgd:momentum=0.9")
    assert live_bytes(decayed, 512) > live_bytes(plain, 512)


def test_that_layers_numbered_by_keras_keep_their_operations(lab):
    """Keras opens each scope twice: "conv2d_1/..." is made by "conv2d", not by "conv2d_1"."""
    layers = [tiny.layer("Conv2D", name, filters=4, kernel_size=3) for name in ("conv2d", "conv2d_1", "conv2d_2")]
    model = tiny.chain(tiny.input_layer(16, 16, 3), *layers, tiny.layer("GlobalAveragePooling2D", "pool"))
    trace = lab.memory(model, target="cpu").trace
    convolutions = [source.layer for source in trace.sources if source.type in ("Conv2D", "_FusedConv2D")]
    assert convolutions == ["conv2d", "conv2d_1", "conv2d_2"]
