"""The chart over the batch: steps whose memory is a straight line, so every answer can be worked out by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from steps import Step

from planner_app.core.estimate.curve import LARGEST_BATCH, LargestBatch, anchors, largest_within, on_line
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.need import level_at
from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import Size
from planner_app.core.replay.memory import Memory

MIB = 1 << 20
ON_GPU = StepSetup(target="gpu:8.0")
WEIGHTS, CONSTANTS = 10 * MIB, 256


def straight(slope: int = MIB) -> Memory:
    """10 MiB of weights, and a tensor of 1 MiB for each sample."""
    step = Step()
    a = step.make("MatMul", step.read(step.variable(WEIGHTS)), size=Size(slope=slope))
    step.run("Backward", a)
    return Memory(step.trace(), ON_GPU)


def bent() -> Memory:
    """Forward: 1 MiB for each sample. Update: 50 MiB of temporaries, whatever the batch."""
    step = Step()
    a = step.make("MatMul", step.read(step.variable(WEIGHTS)), size=Size(slope=MIB))
    done = step.run("Backward", a)
    step.make("Update", size=50 * MIB, where={"after": (done,)})
    return Memory(step.trace(), ON_GPU)


def largest_of(memory: Memory, limit_bytes: int) -> LargestBatch:
    return largest_within(lambda batch: level_at(memory.point(batch)), limit_bytes)


def level_of(memory: Memory, batch: int) -> Level:
    return on_line(lambda anchor: level_at(memory.point(anchor)), batch)


def needs(batch: int) -> int:
    return WEIGHTS + CONSTANTS + batch * MIB


@pytest.mark.parametrize(
    ("largest", "found"),
    [
        (1, [1]),
        (2, [1, 2]),
        (3, [1, 2, 3]),
        (5, [1, 2, 3, 4, 6]),
        (12, [1, 2, 3, 4, 6, 8, 12]),
        (13, [1, 2, 3, 4, 6, 8, 12, 16]),
    ],
)
def test_that_anchors_are_powers_of_two_and_the_steps_half_way(largest, found):
    assert list(anchors(largest)) == found


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 10**7))
def test_that_anchors_rise_and_end_at_the_first_not_below(largest):
    found = list(anchors(largest))
    assert found == sorted(set(found))
    assert found[-1] >= largest
    assert len(found) == 1 or found[-2] < largest


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 7, 8, 100, 1000])
def test_that_a_straight_line_is_met_at_every_batch(batch):
    level = level_of(straight(), batch)
    assert level.peak_bytes == level.low_bytes == needs(batch)


def test_that_an_anchor_is_replayed_exactly():
    memory = bent()
    for batch in (1, 2, 32, 48, 64):
        assert level_of(memory, batch).peak_bytes == WEIGHTS + CONSTANTS + max(batch, 50) * MIB


def test_that_between_anchors_the_line_never_says_too_little_where_memory_bends():
    memory = bent()
    for batch in range(48, 64):
        true = WEIGHTS + CONSTANTS + max(batch, 50) * MIB
        assert true <= level_of(memory, batch).peak_bytes <= true + 2 * MIB


def test_that_only_anchors_are_replayed():
    memory = straight()
    for batch in range(1, 101):
        level_of(memory, batch)
    assert sorted(point.batch for point in memory.points) == list(anchors(100))


def test_that_a_known_point_is_not_computed_again():
    memory = straight()
    known = [memory.point(4)]
    other = Memory(bent().trace, ON_GPU, known)
    assert other.point(4).in_use_bytes == needs(4)


@pytest.mark.parametrize(
    ("limit_bytes", "found"),
    [
        (needs(37), LargestBatch(37, 32, 32)),
        (needs(37) - 1, LargestBatch(36, 32, 32)),
        (needs(64), LargestBatch(64, 64, 64)),
        (needs(63), LargestBatch(63, 56, 32)),
        (needs(5), LargestBatch(5, 0, 4)),
        (needs(1), LargestBatch(1, 0, 1)),
        (needs(1) - 1, LargestBatch(0, 0, 0)),
        (0, LargestBatch(0, 0, 0)),
    ],
)
def test_that_the_largest_batch_is_exact(limit_bytes, found):
    assert largest_of(straight(), limit_bytes) == found


@settings(deadline=None, derandomize=True, max_examples=30)
@given(slope=st.integers(1, 5 * MIB), limit_bytes=st.integers(0, 500 * MIB))
def test_that_the_largest_batch_fits_and_one_more_does_not(slope, limit_bytes):
    memory = straight(slope)
    found = largest_of(memory, limit_bytes)
    if found.batch and not found.bound:
        assert memory.point(found.batch).in_use_bytes <= limit_bytes
    if not found.bound:
        assert memory.point(found.batch + 1).in_use_bytes > limit_bytes
    assert found.multiple_of_8 == found.batch // 8 * 8
    assert found.power_of_2 <= found.batch <= 2 * found.power_of_2


def test_that_a_bend_is_not_a_trap():
    limit = WEIGHTS + CONSTANTS + 60 * MIB
    assert largest_of(bent(), limit).batch == 60
    assert largest_of(bent(), WEIGHTS + CONSTANTS + 49 * MIB) == LargestBatch(0, 0, 0)


def test_that_memory_that_does_not_grow_ends_the_search():
    found = largest_of(straight(slope=0), needs(0))
    assert found.bound
    assert found.batch == LARGEST_BATCH


def test_that_a_few_replays_are_enough():
    memory = straight()
    largest_of(memory, needs(5000))
    assert len(memory.points) <= 20  # 14 powers of two, then the crossing
