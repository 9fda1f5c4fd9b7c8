"""The compiler's line through a few compiled batches, and which batch to compile next."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from planner_app.core.compile.anchoring import MOST_FOR_CHART, is_open, next_for_chart, next_for_largest, settled
from planner_app.core.compile.check import Compiled
from planner_app.core.compile.line import AGREED, BESIDE_PROGRAM, BEYOND_DOUBT, Anchor, Line
from planner_app.core.estimate.level import Level, Source

MIB = 1 << 20
HELD = 100 * MIB


def compiled(temp_bytes: float) -> Compiled:
    return Compiled(HELD, 0, 0, int(temp_bytes), int(temp_bytes))


def model(per_sample: float, band: float = 0.15) -> Callable[[int], Level]:
    def level(batch: int) -> Level:
        temp = per_sample * batch * MIB
        return Level(int(HELD + temp), int(HELD + temp * (1 - band)), int(HELD + temp * (1 + band)))

    return level


def through(*points: tuple[int, float]) -> Line:
    return Line(tuple(Anchor(batch, compiled(temp * MIB)) for batch, temp in points))


def ask(line: Line, truth: Callable[[int], float], batch: int) -> Line:
    return line.with_anchor(Anchor(batch, compiled(truth(batch) * MIB)))


def test_that_a_line_without_anchors_is_the_estimate():
    assert Line().level(32, model(2.0)) == model(2.0)(32)


def test_that_a_compiled_batch_has_the_compilers_own_figure():
    level = through((64, 100.0), (128, 222.0)).level(128, model(2.0))
    assert (level.peak_bytes, level.source) == (HELD + 222 * MIB, Source.COMPILER)
    assert level.high_bytes - level.peak_bytes == pytest.approx(BESIDE_PROGRAM * level.peak_bytes, abs=1)


def test_that_the_line_between_anchors_is_straight_where_the_estimate_is():
    level = through((64, 100.0), (128, 220.0)).level(96, model(2.0))
    assert (level.peak_bytes, level.source) == (HELD + 160 * MIB, Source.LINE)


def test_that_the_line_bends_where_the_estimate_knows_why():
    def broken(batch: int) -> Level:
        temp = batch * MIB if batch < 96 else 3 * batch * MIB
        return Level(HELD + temp, HELD + temp, HELD + temp)

    level = through((64, 64 + 10), (128, 384 + 10)).level(96, broken)
    assert level.peak_bytes == HELD + (288 + 10) * MIB


def test_that_a_line_goes_on_until_the_compiler_begins_to_compute_again():
    """Of 2,000 MiB it plans 0.95 x (0.8 x 2,000 - 100) = 1,425 MiB for temporary memory: two for each sample up to 712
    of them. At 1,000 it needs 1,500 all the same."""
    line = replace(through((256, 512.0), (512, 1024.0), (1000, 1500.0)), memory_bytes=2000 * MIB)
    for batch, temp in ((600, 1200), (712, 1424), (800, 1425), (1000, 1500)):
        assert line.level(batch, model(2.0)).peak_bytes == HELD + temp * MIB


def test_that_a_line_far_from_the_memory_of_the_device_ignores_it():
    near, far = (replace(through((64, 100.0), (128, 190.0)), memory_bytes=size * MIB) for size in (0, 80_000))
    assert near.level(96, model(2.0)) == far.level(96, model(2.0))


def test_that_the_band_is_as_wide_as_neighbouring_anchors_disagree():
    """At 192 the line has 300 MiB; as far off as at 64, where the compiler has 8 of the model's 128, it is 18.75."""
    straight = through((64, 128.0), (128, 256.0), (256, 512.0)).level(192, model(2.0, band=1.0))
    broken = through((64, 8.0), (128, 200.0), (256, 400.0)).level(192, model(2.0, band=1.0))
    assert straight.peak_bytes == HELD + 384 * MIB
    assert broken.peak_bytes == HELD + 300 * MIB
    as_there = 2.0 * 192 * 8 / 128
    assert broken.high_bytes - broken.peak_bytes == pytest.approx(BEYOND_DOUBT * (300 - as_there) * MIB, abs=2)
    assert straight.high_bytes - straight.low_bytes <= 2 * AGREED * straight.peak_bytes


def test_that_a_break_between_two_anchors_is_inside_the_band_wherever_it_lies():
    """A fifth above the model up to 64, as the model from 128 on: where between them it changes nobody knows."""
    line = through((32, 1.2 * 64), (64, 1.2 * 128), (128, 256.0), (256, 512.0))
    for batch in range(65, 128):
        level = line.level(batch, model(2.0))
        for share in (1.0, 1.2):
            assert level.low_bytes <= HELD + share * 2 * batch * MIB <= level.high_bytes


def test_that_what_was_packed_with_gaps_may_be_packed_without():
    """A tenth of 200 MiB lies idle at 128: that much less, and a seventh of it in doubt, may be the truth beside it."""
    tight = through((64, 100.0), (128, 200.0), (256, 400.0))
    loose = tight.with_anchor(Anchor(128, replace(compiled(200 * MIB), peak_bytes=180 * MIB)))
    for batch in (96, 192):
        level, half = loose.level(batch, model(2.0, band=1.0)), 0.1 * BEYOND_DOUBT * batch / 128 * 200 * MIB
        assert level.peak_bytes == tight.level(batch, model(2.0, band=1.0)).peak_bytes
        assert level.peak_bytes - level.low_bytes == pytest.approx(half, abs=2)


def test_that_distant_anchors_widen_the_band_no_further_than_the_estimates():
    wild = through((1, 500.0), (64, 128.0), (128, 256.0)).level(100, model(2.0, band=0.1))
    assert wild.high_bytes - wild.low_bytes <= 0.2 * 2 * 100 * MIB + 2


def test_that_one_anchor_moves_the_estimate_and_the_band_widens_with_the_distance():
    line = through((64, 160.0))  # the model says 128
    near, far = line.level(128, model(2.0)), line.level(1024, model(2.0))
    assert near.peak_bytes == HELD + 320 * MIB
    assert (near.source, far.source) == (Source.LINE, Source.ESTIMATE)
    assert (far.high_bytes - far.low_bytes) / far.peak_bytes > (near.high_bytes - near.low_bytes) / near.peak_bytes


TRUTHS = {
    "as the model": lambda batch: 2.0 * batch,
    "a fifth more": lambda batch: 2.4 * batch,
    "a third less": lambda batch: 1.35 * batch,
    "a constant beside": lambda batch: 150 + 1.9 * batch,
    "broken at 512": lambda batch: 2.0 * batch if batch < 512 else 1.8 * batch,
    "in steps": lambda batch: 2.1 * 8 * -(-batch // 8),
    "kept low as long as it can be": lambda batch: 2.2 * batch if batch < 250 or batch > 470 else 1.9 * batch,
}


@pytest.mark.parametrize("capacity", [150, 700, 1100, 4000, 40000])
@pytest.mark.parametrize("name", TRUTHS)
def test_that_the_largest_batch_and_one_more_are_both_compiled(name: str, capacity: int):
    line, limit = Line(), capacity * MIB
    while (batch := next_for_largest(line, model(2.0), limit)) is not None:
        assert line.anchor(batch) is None
        line = ask(line, TRUTHS[name], batch)
    found = settled(line, limit)
    assert found.confirmed
    fits, above = line.anchor(found.batch), line.anchor(found.above or 0)
    assert found.batch == 0 or (fits is not None and fits.total_bytes <= limit)
    assert above is not None and above.total_bytes > limit
    assert above.batch == found.batch + 1 or above.batch <= 1.001 * found.batch


def test_that_four_compilations_are_enough_for_most():
    counts = []
    for truth in TRUTHS.values():
        for capacity in (150, 700, 1100, 4000, 40000):
            line = Line()
            while (batch := next_for_largest(line, model(2.0), capacity * MIB)) is not None:
                line = ask(line, truth, batch)
            counts.append(len(line.anchors))
    assert sorted(counts)[len(counts) // 2] <= 4
    assert max(counts) <= 12


@pytest.mark.parametrize("last", [4095, 4096])
def test_that_a_jump_beside_a_power_of_two_is_found_there(last: int):
    """A seventh more above 4,095 or 4,096 samples: halving what lies between would take ten compilations."""
    line, capacity = Line(), HELD + 8500 * MIB
    while (batch := next_for_largest(line, model(1.8), capacity)) is not None:
        line = ask(line, lambda batch: (2.0 if batch <= last else 2.3) * batch, batch)
    found = settled(line, capacity)
    assert (found.batch, found.above) == (last, last + 1)
    assert len(line.anchors) <= 6


def test_that_nothing_fits_where_one_sample_does_not():
    line = Line()
    while (batch := next_for_largest(line, model(2.0), 50 * MIB)) is not None:
        line = ask(line, TRUTHS["as the model"], batch)
    assert (settled(line, 50 * MIB).batch, settled(line, 50 * MIB).confirmed) == (0, True)


def test_that_what_was_compiled_before_is_not_compiled_again():
    known = through((199, 398.0), (200, 400.0))
    assert next_for_largest(known, model(2.0), HELD + 399 * MIB) is None


def test_that_a_step_that_never_fills_the_device_ends():
    line = Line()
    while (batch := next_for_largest(line, lambda _: Level(HELD, HELD, HELD), 10 * HELD)) is not None:
        line = ask(line, lambda _: 1.0, batch)
    assert not settled(line, 10 * HELD).confirmed


def test_that_a_line_of_the_chart_takes_at_most_six_compilations():
    line = Line()
    while (batch := next_for_chart(line, model(2.0), 3000 * MIB)) is not None:
        assert batch & (batch - 1) == 0
        line = ask(line, TRUTHS["a fifth more"], batch)
    assert 2 <= len(line.anchors) <= MOST_FOR_CHART
    assert line.anchors[-1].batch == 1024


def test_that_a_chosen_batch_far_down_leaves_the_chart_to_its_largest():
    """It tells nothing of batches that are a hundred times as large."""
    line = ask(Line(), TRUTHS["a fifth more"], 4)
    assert next_for_chart(line, model(2.0), 3000 * MIB) == 1024


def charted(truth: Callable[[int], float]) -> list[int]:
    line, order = Line(), []
    while (batch := next_for_chart(line, model(2.0, band=1.0), 3000 * MIB)) is not None:
        line = ask(line, truth, batch)
        order.append(batch)
    return order


def test_that_a_break_of_the_line_is_compiled_before_batches_further_down():
    """At 1,024 and three octaves below the compiler is of two minds, by a quarter: where it changes comes before 32."""
    assert charted(lambda batch: 2.0 * batch if batch > 300 else 2.5 * batch) == [1024, 128, 512, 256, 32, 384]


def test_that_a_break_between_powers_of_two_is_halved():
    """From 600 on a tenth less."""
    assert charted(lambda batch: (1.8 if batch > 600 else 2.0) * batch) == [1024, 128, 512, 256, 32, 768]


def test_that_anchors_that_disagree_a_little_get_one_between_them():
    """5 % are no reason for a wide band, but as much as the line would be off. Where all agree, only the half of the
    largest is asked for as well."""
    assert charted(lambda batch: 2.0 * batch) == [1024, 128, 32, 512]
    assert charted(lambda batch: 2.0 * batch if batch > 300 else 2.1 * batch) == [1024, 128, 32, 512, 256, 384]


@pytest.mark.parametrize(
    ("capacity", "source", "open_"),
    [
        (100, Source.ESTIMATE, True),
        (119, Source.ESTIMATE, True),
        (79, Source.ESTIMATE, False),
        (120, Source.ESTIMATE, False),
        (100, Source.LINE, True),
        (100, Source.COMPILER, False),
    ],
)
def test_that_a_verdict_is_open_where_the_capacity_lies_inside_the_band(capacity: int, source: Source, open_: bool):
    assert is_open(Level(100, 80, 120, source), capacity) is open_
