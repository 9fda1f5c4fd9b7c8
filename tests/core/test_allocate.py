"""A step's buffers through the allocator, by hand: every request in chunks of 256 bytes."""

import pytest
from steps import Step, replayed

from planner_app.core.model.setup import Setup
from planner_app.core.model.trace import Access, Role, Size, StepTrace
from planner_app.core.replay.allocate import STARTS, Start, allocate
from planner_app.core.replay.memory import Memory

KIB, MIB = 1 << 10, 1 << 20
CONSTANTS = 256  # there is always at least one small constant


def peak(trace: StepTrace, batch: int = 1, **more):
    return allocate(trace, replayed(trace, batch), batch, **more)


def two_layers() -> StepTrace:
    step = Step()
    w = step.variable(1000)
    a = step.make("Conv2D", step.read(w), size=Size(slope=300))
    b = step.make("MatMul", a, size=Size(slope=100))
    step.run("Backward", a, b)
    return step.trace()


def test_that_from_one_region_every_request_gets_its_size_rounded():
    found = peak(two_layers(), growth=False)
    assert found.in_use_bytes == 1024 + CONSTANTS + 512 + 256
    assert peak(two_layers(), 10, growth=False).in_use_bytes == 1024 + CONSTANTS + 3072 + 1024


def test_that_scratch_is_in_use_while_its_kernel_runs():
    step = Step()
    step.run("Conv2D", makes=(step.value(1000), step.value(5000, scratch=True)))
    assert peak(step.trace(), growth=False).in_use_bytes == CONSTANTS + 1024 + 5120


def test_that_a_hole_reused_whole_is_in_use_whole():
    """11 KiB are given back, then 7 KiB asked for: 11 is less than twice 7."""
    step = Step()
    w = step.variable(256)
    large = step.make("A", step.read(w), size=11 * KIB)
    guard = step.make("B", large, size=256)
    small = step.make("C", guard, size=7 * KIB)
    step.run("D", small, guard)
    found = peak(step.trace(), growth=False)
    assert found.in_use_bytes == 256 + CONSTANTS + 11 * KIB + 256  # both times


def test_that_the_peak_names_the_move_that_brought_it():
    trace = two_layers()
    buffers = replayed(trace)
    found = allocate(trace, buffers, 1, growth=False)
    assert found.move >= buffers.last_step
    assert trace.sources[trace.operations[buffers.operations[found.move]].source].type == "MatMul"


def test_that_a_growing_pool_keeps_the_room_in_which_variables_arrived():
    """Each variable's value comes in a buffer of its own first: twice 2 MiB, then a region of 4."""
    step = Step()
    step.run("A", step.read(step.variable(2 * MIB)))
    found = peak(step.trace())
    assert found.pool_bytes == (2 + 4) * MIB


def test_that_the_most_of_all_steps_but_the_first_is_told_too():
    """A replay of fewer steps ends with what is a later step of a longer one."""
    step = Step()
    w = step.variable(3 * MIB)
    step.make("A", step.read(w), size=5 * MIB)
    step.assign(w, step.make("B", size=3 * MIB), Access.REPLACE)
    trace = step.trace()
    of_each = [allocate(trace, replayed(trace, steps=steps), 1).in_use_bytes for steps in (2, 3, 4)]
    assert allocate(trace, replayed(trace, steps=4), 1).highest_bytes == max(of_each)


def test_that_on_a_cpu_the_middle_between_the_ways_to_lie_is_expected():
    trace, setup = two_layers(), Setup(batch=8).step("cpu")
    memory = Memory(trace, setup)
    highest = [allocate(trace, memory.buffers(8), 8, start=start).highest_bytes for start in STARTS]
    point = memory.point(8)
    assert point.in_use_bytes == (min(highest) + max(highest)) // 2
    assert max(memory.in_use(8)) == point.in_use_bytes


def test_that_memory_that_runs_out_in_the_step_is_reported():
    """2304 bytes are split at 256, 1024, 512 and 256; of 2048 the variable would get all the rest, 1792."""
    assert peak(two_layers(), growth=False, limit_bytes=2304).in_use_bytes == 2048
    assert peak(two_layers(), growth=False, limit_bytes=2048) is None


@pytest.mark.parametrize("growth", [True, False])
def test_that_memory_that_runs_out_before_the_first_step_is_reported(growth):
    step = Step()
    step.make("A", step.read(step.variable(MIB)), size=256)
    assert peak(step.trace(), growth=growth, limit_bytes=4 * MIB) is not None
    assert peak(step.trace(), growth=growth, limit_bytes=MIB // 2) is None


def test_that_how_the_pool_lies_at_the_start_changes_nothing_that_is_requested():
    step = Step()
    variables = [step.variable(size) for size in (1000, 5000, 300)]
    for variable in variables:
        step.assign(variable, step.make("Gradient", step.read(variable), size=512), Access.UPDATE)
    trace = step.trace()
    exact = 1024 + 5120 + 512 + CONSTANTS + 512
    for start in (Start(), Start(small=50), Start(small=10, turned=0.4)):
        small = -(-start.small // 2)
        assert peak(trace, growth=False, start=start).in_use_bytes == exact + 256 * (start.small - small)


def test_that_the_same_start_gives_the_same_peak():
    trace = two_layers()
    assert peak(trace, 7, start=Start(small=20, turned=0.6)) == peak(trace, 7, start=Start(small=20, turned=0.6))


@pytest.mark.parametrize(("role", "chunk"), [(Role.WEIGHT, 5 * MIB // 2), (Role.OPTIMIZER, 2 * MIB)])
def test_that_a_weight_that_is_initialized_lies_behind_the_numbers_it_was_made_of(role: Role, chunk: int):
    step = Step()
    step.make("Use", step.read(step.variable(3 * MIB // 2, role)), size=100)
    # Numbers take all of the first region, what is scaled a part of the second, and the weight the rest of that.
    found = peak(step.trace(), start=Start(initialized=True))
    assert found.in_use_bytes == chunk + CONSTANTS + 256
