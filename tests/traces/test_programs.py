"""Operations that Keras has XLA compile by themselves, and other kernels whose memory has a rule of its own."""

import os

import pytest
import tiny
from lab import Lab, live_bytes

from planner_app.core.model.trace import Size, StepTrace

SIDE, CHANNELS, WIDTH = 16, 8, 3
CLASSES, TOKENS = 50, 12


def grouped() -> object:
    return tiny.chain(
        tiny.input_layer(SIDE, SIDE, CHANNELS),
        tiny.layer("Conv2D", "wide", filters=CHANNELS, kernel_size=WIDTH, padding="same", groups=CHANNELS),
        tiny.layer("GlobalAveragePooling2D", "pool"),
        tiny.layer("Dense", "out", units=4),
    )


def volumes() -> object:
    return tiny.chain(
        tiny.input_layer(4, 8, 8, 2),
        tiny.layer("Conv3D", "conv", filters=4, kernel_size=3, padding="same"),
        tiny.layer("GlobalAveragePooling3D", "pool"),
        tiny.layer("Dense", "out", units=4),
    )


def masked() -> object:
    return tiny.chain(
        tiny.input_layer(TOKENS, 3),
        tiny.layer("Masking", "mask"),
        tiny.layer("LSTM", "lstm", units=4),
        tiny.layer("Dense", "out", units=1),
    )


def calls(trace: StepTrace) -> list:
    return [op for op in trace.operations if trace.sources[op.source].type.endswith("PartitionedCall")]


def unread(trace: StepTrace, operation) -> list:
    """What an operation takes and nobody reads: gone when it has run."""
    read = {value for each in trace.operations for value in each.reads}
    return [trace.values[made] for made in operation.makes if made not in read]


def test_that_a_convolution_in_groups_takes_what_its_own_program_takes(lab: Lab):
    trace = lab.memory(grouped(), "cpu").trace
    backward = calls(trace)[-1]
    blocks = [trace.sizes[value.size] for value in unread(trace, backward) if not value.scratch]
    # The gradient of the filter is worked out on transposed copies of the picture and of what comes from behind.
    assert max(block.at(32) for block in blocks) >= 32 * SIDE * SIDE * CHANNELS * 4


def test_that_a_whole_step_compiled_by_xla_has_no_programs_of_its_own(lab: Lab):
    trace = lab.memory(grouped(), "xla").trace
    assert not calls(trace)
    assert "Conv2D" in {source.type for source in trace.sources}


def test_that_a_gpu_before_hopper_turns_the_pictures_of_a_convolution_in_groups(lab: Lab):
    before, hopper = (lab.memory(grouped(), target) for target in ("gpu:8.0", "gpu:9.0"))
    assert live_bytes(before, 64) > live_bytes(hopper, 64)


def test_that_a_list_lets_go_of_what_is_written_over(lab: Lab):
    """A layer that gives its last output only writes each turn's to the same place."""
    trace = lab.memory(masked(), "cpu").trace
    written = [op.makes[0] for op in trace.operations if trace.sources[op.source].type == "TensorListSetItem"]
    # The first turn's list holds the empty one and its element, every later one an element alone.
    assert [len(trace.values[made].holds) for made in written[:TOKENS]] == [2] + [1] * (TOKENS - 1)


def test_that_the_gradient_of_a_sparse_loss_takes_over_its_logits(lab: Lab):
    model = tiny.chain(
        tiny.input_layer(TOKENS, 16),
        tiny.layer("Dense", "logits", units=CLASSES),
        loss={
            "module": "keras.losses",
            "class_name": "SparseCategoricalCrossentropy",
            "config": {"from_logits": True},
            "registered_name": None,
        },
    )
    trace = lab.memory(model, "cpu").trace
    (loss,) = (op for op in trace.operations if trace.sources[op.source].type.startswith("SparseSoftmax"))
    row, _, gradient = (trace.values[made] for made in loss.makes)
    assert row.scratch and trace.sizes[row.size] == Size(slope=TOKENS * 4)
    assert gradient.forward and trace.sizes[gradient.size] == Size(slope=TOKENS * CLASSES * 4)


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="asks as the C library does")
def test_that_a_volume_is_unfolded_as_far_as_the_last_cache_reaches(lab: Lab):
    cache = os.sysconf(194)
    if cache <= 0:
        pytest.skip("the processor does not say how large its last cache is")
    pixels, patch = 4 * 8 * 8, 3 * 3 * 3 * 2
    images = -(-(cache // 4) // (pixels * patch + pixels * 4 + patch * 4))
    trace = lab.memory(volumes(), "cpu").trace
    (gradient,) = (op for op in trace.operations if trace.sources[op.source].type == "Conv3DBackpropFilterV2")
    (columns,) = (value for value in unread(trace, gradient) if value.scratch)
    assert trace.sizes[columns.size] == Size(images * pixels * patch * 4)
    # Of few samples this would be more than 25 times what the tensors take: another kernel is used.
    assert columns.from_batch > 1


def test_that_cudnns_workspace_is_winograds_of_a_public_log(lab: Lab):
    """tensorflow issue 36337: 300 x 300 pixels, 64 channels, batch 32; 16 MiB of the request are red zones."""
    model = tiny.chain(
        tiny.input_layer(300, 300, 64),
        tiny.layer("Conv2D", "conv", filters=64, kernel_size=3, padding="same"),
        tiny.layer("GlobalAveragePooling2D", "pool"),
        tiny.layer("Dense", "out", units=4),
    )
    trace = lab.memory(model).trace
    (convolution,) = (source for source in trace.sources if source.type in ("Conv2D", "_FusedConv2D"))
    assert convolution.workspace.at(32) + (16 << 20) == 3_335_127_040
    assert lab.memory(model).point(32).comfortable_bytes > lab.memory(model).point(32).in_use_bytes


def test_that_a_convolution_of_one_pixel_is_cudnns_where_the_channels_come_first(lab: Lab):
    """Training in float32 on a GPU has them first: the gradient of the input is made once more before it is handed on,
    beside the filter in the order that cuDNN wants."""
    model = tiny.chain(
        tiny.input_layer(SIDE, SIDE, CHANNELS),
        tiny.layer("Conv2D", "first", filters=CHANNELS, kernel_size=1),
        tiny.layer("Conv2D", "second", filters=CHANNELS, kernel_size=1),
        tiny.layer("GlobalAveragePooling2D", "pool"),
        tiny.layer("Dense", "out", units=4),
    )
    trace = lab.memory(model).trace
    (gradient,) = (op for op in trace.operations if trace.sources[op.source].type == "Conv2DBackpropInput")
    copies = sorted(trace.sizes[value.size].at(2) for value in unread(trace, gradient) if value.scratch)
    assert copies == [CHANNELS * CHANNELS * 4, 2 * SIDE * SIDE * CHANNELS * 4]


def test_that_masks_as_large_as_the_batch_are_not_filled(lab: Lab):
    """268 million elements a sample: the worker would run out of its memory."""
    attention = tiny.layer("MultiHeadAttention", "attention", "x", "x", num_heads=1, key_dim=2)
    attention["inbound_nodes"][0]["kwargs"] = {"use_causal_mask": True}
    model = tiny.functional(tiny.input_layer(16384, 2), attention, tiny.layer("Dense", "out", "attention", units=1))
    trace = lab.memory(model, "cpu").trace
    assert max(size.at(1) for size in trace.sizes) >= 16384 * 16384
