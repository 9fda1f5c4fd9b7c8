"""Whose buffer an operation's output is, where the kernel decides by what it is given."""

from types import SimpleNamespace

import numpy as np
import pytest

from planner_app.worker.kernels.forwarding import is_made_as_scratch, is_view


def token(*shape, constant=None):
    return SimpleNamespace(shape=shape, constant=None if constant is None else np.array(constant), dtype=None)


def slice_of(shape, begin, end, strides):
    node = SimpleNamespace(attribute=lambda name, default: {"begin_mask": 0, "new_axis_mask": 4}.get(name, default))
    return node, [token(*shape), *(token(len(begin), constant=each) for each in (begin, end, strides))]


def test_that_a_slice_that_only_adds_an_axis_shares_its_input_s_buffer():
    """x[:, :, None] of [4, 6] takes nothing, as Reshape does."""
    node, inputs = slice_of((4, 6), [0, 0, 0], [4, 6, 0], [1, 1, 1])
    assert is_view("StridedSlice", node, inputs, (4, 6, 1))


def test_that_a_slice_that_turns_an_axis_round_takes_a_buffer():
    node, inputs = slice_of((4, 6), [0, -1], [4, -7], [1, -1])
    assert not is_view("StridedSlice", node, inputs, (4, 6))


@pytest.mark.parametrize(
    ("paddings", "scratch"),
    [
        ([[0, 0], [0, 0], [0, 24], [0, 0]], True),  # samples and heads are padded as one axis
        ([[0, 0], [1, 1], [1, 1], [0, 0]], False),  # pictures: no two axes side by side
    ],
)
def test_that_padding_merged_axes_makes_its_output_as_scratch(paddings, scratch):
    assert is_made_as_scratch("Pad", [token(4, 2, 40, 8), token(4, 2, constant=paddings)]) == scratch
