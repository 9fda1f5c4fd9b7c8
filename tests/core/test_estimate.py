"""One setup on one device: a step of one layer, every byte of its peak worked out by hand."""

from dataclasses import replace

import pytest
from steps import Step

from planner_app.core.estimate.breakdown import MEANING, Term, snapshot
from planner_app.core.estimate.estimate import Estimate, LayerMemory, estimate
from planner_app.core.estimate.need import Need
from planner_app.core.hardware.device import cpu_device, custom_device
from planner_app.core.hardware.runtime import allocator_limit_bytes, outside_bytes
from planner_app.core.model.setup import Jit, Setup
from planner_app.core.model.trace import Access, Phase, Role, Size, StepTrace
from planner_app.core.replay.memory import FEW_BUFFERS_BYTES, FUSION_BAND, Memory

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BATCH = 10
CARD = custom_device("24GiB", 24 * GIB, (8, 9))


def one_layer(convolution: str = "MatMul") -> StepTrace:
    step = Step()
    weight = step.variable(1000, Role.WEIGHT, "dense")
    slot = step.variable(1000, Role.OPTIMIZER, "dense")
    inputs = step.variable(Size(slope=100), Role.INPUT)
    step.variable(8, Role.METRIC)
    forward = {"layer": "dense", "phase": Phase.FORWARD}
    backward = {"layer": "dense", "phase": Phase.BACKWARD}
    update = {"layer": "dense", "phase": Phase.UPDATE}
    x, w = step.read(inputs), step.read(weight)
    y = step.make(convolution, x, w, size=Size(slope=99), where=forward)
    loss = step.make("Mean", step.make("Square", y, size=Size(slope=4), where=forward), size=4, where=forward)
    gradient, scratch = step.value(1000), step.value(500, scratch=True)
    step.run("MatMul", x, y, loss, makes=(gradient, scratch), name="gradient_tape/MatMul", **backward)
    momentum = step.make("Add", step.read(slot), gradient, size=1000, forward=(gradient,), where=update)
    step.assign(slot, momentum, Access.REPLACE, **update)
    step.assign(weight, momentum, Access.UPDATE, **update)
    return step.trace(constant_bytes=40, layers=(("dense", "Dense"),), warnings=("Something was counted at its most.",))


def estimated(trace: StepTrace | None = None, device=CARD, **setup) -> Estimate:
    wanted = Setup(batch=BATCH, **{"jit": Jit.OFF, **setup})
    step = wanted.step("gpu:8.0" if device.cuda else "cpu")
    return estimate(Need(Memory(replace(trace or one_layer(), xla=step.xla), step), device), wanted)


def test_that_every_byte_at_the_peak_has_a_term():
    """While the gradient is computed. Requests rounded to 256: the difference is the allocator's."""
    requested = {
        "weights": 1000,
        "optimizer state": 1000,
        "inputs": 1000,
        "activations": 990 + 4,  # and the loss, which the backward pass reads
        "gradients": 1000,
        "kernel scratch": 500,
        "constants": 8 + 40,
    }
    chunks = 1024 + 1024 + 1024 + 1024 + 1024 + 512 + 256 + (256 + 256)
    found = estimated()
    assert found.peak_bytes == chunks
    assert dict(found.breakdown) == {**requested, "allocator overhead": chunks - sum(requested.values())}


def test_that_a_gradient_is_one_until_the_optimizer_takes_over_its_buffer():
    found = estimated()
    assert (found.breakdown["gradients"], found.breakdown["optimizer state"]) == (1000, 1000)


def test_that_terms_and_layers_sum_to_the_peak():
    found = estimated()
    assert sum(found.breakdown.values()) == found.peak_bytes
    assert sum(layer.peak_bytes for layer in found.layers) == found.peak_bytes


def test_that_a_layer_has_its_share():
    dense, rest = estimated().layers
    assert dense == LayerMemory(
        name="dense",
        class_name="Dense",
        weights_bytes=1000,
        gradients_bytes=1000,
        optimizer_bytes=1000,
        activation_bytes=990 + 4,
        peak_bytes=1000 + 1000 + 990 + 4 + 1000 + 500,
    )
    assert rest.name == ""


def test_that_the_peak_is_named():
    found = estimated()
    assert (found.peak_operation, found.peak_layer, found.peak_phase) == ("gradient_tape/MatMul", "dense", "backward")
    assert found.temp_bytes == 500
    sizes = [held.size_bytes for held in found.held]
    assert sizes == sorted(sizes, reverse=True)
    assert [held.operation for held in found.held if held.term is Term.GRADIENTS] == ["gradient_tape/MatMul"]


def test_that_live_bytes_leave_out_scratch_and_rounding():
    assert estimated().live_bytes == 1000 + 1000 + 1000 + 990 + 1000 + 4 + 8 + 40
    assert estimated().state_bytes == 1000 + 1000 + 1000 + 8 + 40


def test_that_frozen_weights_have_no_gradient():
    trace = one_layer()
    frozen = replace(trace, variables=(replace(trace.variables[0], role=Role.FROZEN), *trace.variables[1:]))
    (dense, _) = estimated(frozen).layers
    assert (dense.weights_bytes, dense.gradients_bytes) == (1000, 0)


def test_that_gradients_packed_for_the_other_gpus_are_a_term_of_their_own():
    step = Step()
    gradient = step.make("MatMul", size=1000, where={"phase": Phase.BACKWARD})
    packed = step.make("ConcatV2", gradient, size=1001, where={"phase": Phase.UPDATE, "name": "adam/all_reduce/concat"})
    step.run("Split", packed, phase=Phase.UPDATE)
    found = estimated(step.trace())
    assert found.breakdown["all-reduce buffers"] == 1001


def test_that_a_device_has_what_lies_outside_the_allocator_too():
    found = estimated()
    assert found.device_bytes == found.peak_bytes + outside_bytes(CARD, 1).expected_bytes
    assert found.capacity_bytes == allocator_limit_bytes(CARD)
    assert (found.fits, found.headroom_bytes) == (True, found.capacity_bytes - found.peak_bytes)


@pytest.mark.parametrize(("spare_bytes", "fits"), [(0, True), (-1, False)])
def test_that_what_fits_is_decided_to_the_byte(spare_bytes, fits):
    needed = estimated(device=cpu_device()).peak_bytes
    assert estimated(device=cpu_device(needed + spare_bytes)).fits is fits


def test_that_without_a_limit_there_is_no_verdict():
    found = estimated(device=cpu_device())
    assert (found.fits, found.capacity_bytes, found.headroom_bytes) == (None, None, None)


def test_that_gpus_and_steps_share_the_batch():
    shared = estimated(gpus=2, accumulate=5)  # one sample at a time
    assert shared.breakdown["inputs"] == 100


def test_that_what_the_trace_warned_of_is_reported():
    assert estimated().warnings == ("Something was counted at its most.",)


@pytest.mark.parametrize("device", [CARD, cpu_device()], ids=["gpu", "cpu"])
@pytest.mark.parametrize("jit", [Jit.ON, Jit.OFF])
def test_that_the_band_holds_what_is_expected_and_the_parts_sum(device, jit):
    found = estimated(device=device, jit=jit)
    assert found.low_bytes <= found.peak_bytes <= found.high_bytes
    assert found.live_bytes <= found.peak_bytes
    assert sum(found.breakdown.values()) == found.peak_bytes
    assert sum(layer.peak_bytes for layer in found.layers) == found.peak_bytes
    assert all(size >= 0 for size in found.breakdown.values())


def test_that_compiled_by_xla_it_is_one_block_beside_the_arguments():
    """The gradient's kernel reads input, output and loss; the update is done in place."""
    found = estimated(jit=Jit.ON)
    block = 990 + 4 + 1000 + 500  # a library call's own scratch is the program's too
    assert found.xla
    assert found.peak_bytes == found.state_bytes + block
    assert found.low_bytes == found.state_bytes + int(block * FUSION_BAND[0])
    assert found.high_bytes == found.state_bytes + int(block * FUSION_BAND[1]) + FEW_BUFFERS_BYTES
    assert "allocator overhead" not in found.breakdown


def test_that_a_layer_that_refuses_xla_keeps_the_whole_step_from_it():
    setup = Setup(batch=BATCH, jit=Jit.ON)
    refused = estimate(Need(Memory(one_layer(), setup.step("gpu:8.0")), CARD), setup)  # the trace says: not compiled
    assert not refused.xla
    assert refused.peak_bytes == estimated(jit=Jit.OFF).peak_bytes


def test_that_cudnns_workspace_widens_the_band_and_nothing_else():
    plain = estimated()
    trace = one_layer("Conv2D")
    convolution = next(place for place, source in enumerate(trace.sources) if source.type == "Conv2D")
    sources = list(trace.sources)
    sources[convolution] = replace(sources[convolution], workspace=Size(slope=MIB))
    convolved = estimated(replace(trace, sources=tuple(sources)))
    assert convolved.peak_bytes == plain.peak_bytes
    parts = {part.name: part for part in convolved.band}
    # The convolution runs before the peak: what was in use then counts beside its workspace.
    before = convolved.comfortable_bytes - BATCH * MIB
    assert 0 < before <= plain.peak_bytes
    assert parts["cuDNN workspace"].high_bytes == convolved.comfortable_bytes - convolved.peak_bytes
    assert parts["autotuning"].high_bytes == 99 * BATCH + 2 * 8 * MIB  # a copy of the output between red zones


def test_that_the_parts_of_a_band_lead_from_the_expected_peak_to_its_ends():
    for jit in (Jit.OFF, Jit.ON):
        told = estimated(jit=jit)
        assert told.high_bytes == told.peak_bytes + sum(part.high_bytes for part in told.band)
        assert told.low_bytes == told.peak_bytes - sum(part.low_bytes for part in told.band)
        assert all(part.reason and min(part.low_bytes, part.high_bytes) >= 0 for part in told.band)


def test_that_a_gpu_without_xla_is_never_certain():
    told = estimated()
    assert told.low_bytes < told.peak_bytes < told.high_bytes
    parts = {part.name: part for part in told.band}
    assert parts["next batch and metrics"].high_bytes == 100 * BATCH
    assert parts["kernel scratch"].low_bytes == 500


def test_that_a_snapshot_before_the_step_holds_the_variables():
    trace = one_layer()
    memory = Memory(trace, Setup(batch=1).step("cpu"))
    moment = snapshot(trace, memory.buffers(1), 1, 3)
    assert moment.operation == "before the step"
    assert moment.requested_bytes == 1000 + 1000 + 100 + 8 + 40


def test_that_every_term_says_what_it_means():
    assert set(MEANING) == set(Term)
