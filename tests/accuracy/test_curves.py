"""The compiler's line against compilations at other batches, as kept in curves_results.json."""

from statistics import median

import pytest
from curves import NEAR, Curve, HeldOut, read

from planner_app.core.compile.anchoring import MOST_FOR_CHART


@pytest.fixture(scope="module")
def curves() -> list[Curve]:
    return [curve for curve in read() if not curve.refused]


@pytest.fixture(scope="module")
def held_out(curves: list[Curve]) -> list[HeldOut]:
    return [each for curve in curves for each in curve.held_out]


def test_that_precisions_and_generations_are_all_among_them(curves: list[Curve]):
    assert len({curve.precision for curve in curves}) == 4
    assert len({curve.device for curve in curves}) == 3


def test_that_the_line_is_near_a_compilation_between_its_anchors(held_out: list[HeldOut]):
    errors = [abs(each.error) for each in held_out]
    assert median(errors) <= 0.01
    assert sum(error <= NEAR for error in errors) / len(errors) >= 0.9


def test_that_its_band_holds(held_out: list[HeldOut]):
    assert sum(each.in_band for each in held_out) / len(held_out) >= 0.95


def test_that_a_line_and_a_largest_batch_take_few_compilations(curves: list[Curve]):
    assert max(len(curve.chart) for curve in curves) <= MOST_FOR_CHART
    assert median(len(curve.largest) for curve in curves) <= 4


def test_that_the_largest_batch_and_the_next_are_compiled(curves: list[Curve]):
    for curve in curves:
        assert curve.fits in curve.largest
        assert curve.above in curve.largest
