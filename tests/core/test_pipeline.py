import pytest

from planner_app.core.plan.pipeline import (
    InputSettings,
    Tensor,
    batching_warning,
    copied_whole_warning,
    host_warning,
    input_plan,
)

GIB = 1 << 30


def test_that_host_memory_is_sample_bytes_times_what_is_held():
    plan = input_plan(InputSettings(prefetch_batches=2, shuffle_samples=1000, cached_samples=50), sample=600, batch=32)
    assert plan.host_bytes == 600 * (3 * 32 + 1000 + 50)


def test_that_a_pipeline_larger_than_the_host_names_the_largest_part():
    plan = input_plan(InputSettings(2, shuffle_samples=100_000), sample=150_528, batch=256)
    said = host_warning(plan, 8 * GIB)
    assert "14.1 GiB in host memory" in said
    assert "100000 samples of shuffle() take 14.0 GiB: use fewer" in said
    assert host_warning(plan, 64 * GIB) == ""


def test_that_a_batch_alone_can_be_too_large_for_the_host():
    plan = input_plan(InputSettings(2), sample=GIB, batch=8)
    assert "prefetch fewer batches, or use a smaller batch" in host_warning(plan, 8 * GIB)


@pytest.mark.parametrize(
    ("given", "twice"),
    [((None, None, 32, 32, 3), True), ((8, 4, 32, 32, 3), True), ((None, 32, 32, 3), False), ((32, 32, 3), False)],
)
def test_that_a_dataset_batched_twice_is_found(given, twice):
    said = batching_warning([Tensor("image", given)], [Tensor("image", (None, 32, 32, 3))])
    assert bool(said) is twice
    assert "batched twice" in said or not twice


def test_that_a_similar_rank_is_not_taken_for_batching_twice():
    assert batching_warning([Tensor("x", (None, 10, 20))], [Tensor("x", (None, 5))]) == ""


def test_that_arrays_that_would_be_copied_whole_cause_a_warning():
    assert "_EagerConst" in copied_whole_warning(5 * GIB, 20 * GIB)
    assert copied_whole_warning(GIB, 20 * GIB) == ""
    assert copied_whole_warning(5 * GIB, None) == ""
