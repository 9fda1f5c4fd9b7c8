"""Does memory grow? Slopes worked out by hand."""

import pytest

from planner_app.core.measure.leak import Verdict, leak, leaks_of, student_t, worst_leak
from planner_app.core.measure.measurement import Run, Step, StepMemory

MIB = 1 << 20


def test_that_memory_that_stays_is_steady():
    found = leak([5 * MIB, 6 * MIB] + [7 * MIB] * 20)
    assert (found.verdict, found.bytes_per_step, found.low_bytes, found.high_bytes) == (Verdict.STEADY, 0, 0, 0)


def test_that_what_is_kept_of_each_step_is_a_leak():
    found = leak([MIB + 4096 * step for step in range(50)])
    assert found.verdict is Verdict.GROWING
    assert found.bytes_per_step == pytest.approx(4096)
    assert found.total_bytes == 47 * 4096


def test_that_a_leak_is_seen_through_noise_and_its_slope_is_within_the_bounds():
    noise = [0, 9, -7, 3, -8, 6, -2, 8, -9, 1] * 5
    found = leak([MIB + 1000 * step + 200 * noise[step] for step in range(50)])
    assert found.verdict is Verdict.GROWING
    assert found.low_bytes < 1000 < found.high_bytes
    assert found.high_bytes - found.low_bytes < 100


def test_that_noise_alone_is_not_a_leak():
    found = leak([MIB + 256 * (step % 7) for step in range(50)])
    assert found.verdict is Verdict.STEADY
    assert found.low_bytes < 0 < found.high_bytes


def test_that_chunks_that_waver_are_no_leak():
    """Bytes in use after the steps of a small ResNet: copied variables get whatever chunk is free."""
    waver = [1_111_000, 1_150_000, 1_152_000, 1_118_000, 1_125_000, 1_131_000, 1_122_000, 1_128_000, 1_121_000]
    found = leak([1_100_000, 1_110_000, *waver * 4, 1_160_000, 1_180_000])
    assert found.verdict is not Verdict.GROWING


def test_that_a_step_up_that_is_not_repeated_is_not_a_leak():
    found = leak([MIB] * 25 + [2 * MIB] * 25)
    assert found.bytes_per_step > 0
    assert found.verdict is Verdict.STEADY


def test_that_what_shrinks_is_not_a_leak():
    assert leak([MIB - 1000 * step for step in range(20)]).verdict is Verdict.STEADY


@pytest.mark.parametrize("count", range(7))
def test_that_few_steps_say_nothing(count):
    assert leak([MIB * step for step in range(count)]).verdict is Verdict.UNCLEAR


def test_that_warm_up_steps_do_not_count_as_a_leak():
    assert leak([0, 3 * MIB] + [4 * MIB] * 6).verdict is Verdict.STEADY


def test_that_chunks_that_creep_are_no_leak_where_nothing_asked_for_is_kept():
    steps = tuple(Step(n, 0.1, (StepMemory("CPU:0", 0, 9, MIB + 2800 * n),)) for n in range(50))
    for kept, verdict in ((None, Verdict.GROWING), (4, Verdict.GROWING), (0, Verdict.STEADY)):
        assert leaks_of(Run(steps=steps, kept_bytes=kept))["CPU:0"].verdict is verdict


def test_that_bounds_are_those_of_students_distribution():
    assert student_t(1) == 12.706
    assert student_t(30) == 2.042
    assert student_t(1000) == 1.96


def test_that_the_worst_of_several_devices_is_reported():
    steps = tuple(
        Step(n, 0.1, (StepMemory("GPU:0", 0, 9, 7), StepMemory("GPU:1", 0, 9, 7 + 512 * n))) for n in range(20)
    )
    run = Run(steps=steps)
    assert [found.verdict for found in leaks_of(run).values()] == [Verdict.STEADY, Verdict.GROWING]
    worst = worst_leak([run])
    assert worst is not None
    assert worst.bytes_per_step == pytest.approx(512)
    assert worst_leak([Run(steps=steps[:3])]) is None
