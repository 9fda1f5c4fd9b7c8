import pytest

from planner_app.core.advise.loops import Loop, explain_leak, explain_loop, explain_shapes, shapes_of
from planner_app.core.measure.leak import Leak, Verdict

GIB = 1 << 30


def test_that_models_that_are_kept_pile_up():
    """3 GiB at the peak, 1 GiB stays of each: in 8 GiB six can be trained, at 8 GiB in the end."""
    loop = Loop(3 * GIB, GIB)
    assert loop.models_within(8 * GIB) == 6
    assert loop.held_bytes(6) == 8 * GIB
    assert loop.held_bytes(7) > 8 * GIB
    assert "the 7th does not fit 8.00 GiB any more" in explain_loop(loop, 8 * GIB)


def test_that_nothing_piles_up_where_nothing_stays():
    assert Loop(GIB, 0).models_within(2 * GIB) is None
    assert Loop(3 * GIB, GIB).models_within(2 * GIB) == 0
    assert "Not even the first fits" in explain_loop(Loop(3 * GIB, GIB), 2 * GIB)


@pytest.mark.parametrize(
    ("samples", "batch", "lengths", "count"),
    [(64, 32, (), 1), (65, 32, (), 2), (64, 32, (10, 20, 20), 2), (65, 32, (10, 20, 30), 6)],
)
def test_that_shapes_are_counted(samples, batch, lengths, count):
    assert shapes_of(samples, batch, lengths) == count


def test_that_shapes_are_explained():
    assert explain_shapes(1, xla=True) == ""
    assert "traced and compiled once for each" in explain_shapes(2, xla=True)
    assert "drop_remainder=True" in explain_shapes(2, xla=False)
    assert "pad to a few lengths" in explain_shapes(30, xla=False)


def test_that_a_leak_is_explained():
    growing = Leak(Verdict.GROWING, 2.0 * (1 << 20), 1.5 * (1 << 20), 2.5 * (1 << 20), 20 << 20)
    text = explain_leak(growing, room_bytes=GIB)
    assert "grows by 2.00 MiB per step (1.50 MiB to 2.50 MiB with 95 % confidence)" in text
    assert "after 512 more steps" in text
    assert "does not grow" in explain_leak(Leak(Verdict.STEADY, 0.0, -1.0, 1.0, 0), per="fit")
    assert "measure more" in explain_leak(Leak(Verdict.UNCLEAR, 0.0, -1.0, 1.0, 0))
