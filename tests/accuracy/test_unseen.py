"""What XLA's compiler said of programs of many families, kept in unseen_results.json, against estimate and line."""

from collections import defaultdict
from statistics import median

import pytest
from unseen import LOW, Program, is_within, left_out, read

from planner_app.core.compile.anchoring import MOST_FOR_CHART, SURE_ENOUGH
from planner_app.core.compile.check import Compiled
from planner_app.core.compile.line import Anchor, Line
from planner_app.core.estimate.level import Level
from planner_app.core.replay.memory import FUSION_BAND


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return read()


def test_that_unseen_families_are_estimated_within_eight_percent(programs: list[Program]):
    assert len(programs) >= 150
    assert median(abs(program.error) for program in programs) <= 0.05


def test_that_a_band_set_by_other_families_holds(programs: list[Program]):
    bands = left_out(programs)
    within = [is_within(program, bands[program.family]) for program in programs]
    assert sum(within) / len(within) >= 0.9
    too_low = [program for program in programs if program.error < LOW]
    assert all(is_within(program, bands[program.family]) for program in too_low)


def test_that_the_estimates_band_holds_most_programs(programs: list[Program]):
    assert sum(is_within(program, FUSION_BAND) for program in programs) / len(programs) >= 0.9


def curves(programs: list[Program]) -> list[dict[int, Program]]:
    lines: dict[tuple[str, ...], dict[int, Program]] = defaultdict(dict)
    for program in programs:
        lines[program.line][program.batch] = program
    return [line for line in lines.values() if len(line) >= 8]


def drawn(curve: dict[int, Program]) -> tuple[Line, dict[int, Level]]:
    """The line through powers of two, the least sure first, and what it says of the other batches."""

    def model(batch: int) -> Level:
        program = curve[batch]
        temp = program.estimated_bytes - program.held_bytes
        low, high = (program.held_bytes + int(temp * share) for share in FUSION_BAND)
        return Level(program.estimated_bytes, low, high)

    line = Line()
    while len(line.anchors) < MOST_FOR_CHART:
        levels = {batch: line.level(batch, model) for batch in curve if batch & (batch - 1) == 0}
        doubt, batch = max(((at.high_bytes - at.low_bytes) / at.peak_bytes, b) for b, at in levels.items())
        if doubt <= SURE_ENOUGH:
            break
        told = curve[batch]
        line = line.with_anchor(Anchor(batch, Compiled(told.held_bytes, 0, 0, told.temp_bytes, told.temp_bytes)))
    return line, {batch: line.level(batch, model) for batch in curve if line.anchor(batch) is None}


def test_that_the_compilers_line_is_near_a_compilation_between_its_anchors(programs: list[Program]):
    errors, within = [], []
    for curve in curves(programs):
        line, others = drawn(curve)
        assert len(line.anchors) <= MOST_FOR_CHART
        for batch, level in others.items():
            errors.append(abs(level.peak_bytes / curve[batch].total_bytes - 1))
            within.append(level.low_bytes <= curve[batch].total_bytes <= level.high_bytes)
    assert len(errors) >= 15
    assert median(errors) <= 0.01
    assert sum(error <= 0.05 for error in errors) / len(errors) >= 0.8
    assert max(errors) <= 0.08
    assert sum(within) / len(within) >= 0.9
