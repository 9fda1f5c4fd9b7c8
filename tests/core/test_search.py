"""The search for the largest batch: few tries, and no claim that was not tried."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner_app.core.measure.search import MOST_TRIES, Try, next_batch, stands


def searched(boundary: int, guess: int, multiple: int = 1, most: int = MOST_TRIES) -> list[Try]:
    tries: list[Try] = []
    while (batch := next_batch(tries, guess, multiple, most)) is not None:
        tries.append(Try(batch, batch <= boundary))
    return tries


@pytest.mark.parametrize("boundary", [1, 2, 7, 16, 50, 99, 100, 101, 200])
@pytest.mark.parametrize("off", [-0.04, -0.01, 0.0, 0.01, 0.04])
def test_that_a_guess_right_to_four_percent_takes_at_most_eight_tries(boundary, off):
    tries = searched(boundary, max(1, round(boundary * (1 + off))))
    found = stands(tries)
    assert (found.batch, found.above, found.exact) == (boundary, boundary + 1, True)
    assert len(tries) <= MOST_TRIES


def test_that_a_right_guess_takes_two_tries():
    assert [(each.batch, each.fits) for each in searched(40, 40)] == [(40, True), (41, False)]


def test_that_a_guess_one_too_large_takes_two_tries():
    assert [(each.batch, each.fits) for each in searched(39, 40)] == [(40, False), (39, True)]


@given(st.integers(0, 3000), st.integers(1, 3000), st.sampled_from([1, 2, 8]))
def test_that_every_search_ends_and_what_it_says_was_tried(boundary, guess, multiple):
    tries = searched(boundary, guess, multiple, most=40)
    found = stands(tries, multiple)
    assert len({each.batch for each in tries}) == len(tries)
    assert all(each.batch % multiple == 0 for each in tries)
    assert found.exact
    assert found.batch == boundary // multiple * multiple
    assert any(each.batch == found.above and not each.fits for each in tries)


def test_that_where_nothing_fits_one_sample_was_tried():
    tries = searched(0, 30)
    assert tries[-1] == Try(1, False)
    assert stands(tries).batch == 0


def test_that_a_search_is_gone_on_with():
    whole = searched(37, 40)
    for done in range(len(whole)):
        assert next_batch(whole[:done], 40) == whole[done].batch


def test_that_no_more_than_the_tries_allowed_are_made():
    tries = searched(2900, 100, most=3)
    assert len(tries) == 3
    assert not stands(tries).exact


def test_that_what_fitted_once_above_what_did_not_does_not_count():
    found = stands([Try(100, True), Try(98, False), Try(97, True)])
    assert (found.batch, found.above, found.exact) == (97, 98, True)


def test_that_an_answer_is_confirmed_and_given_up_if_it_does_not_fit_again():
    tries = [Try(40, True), Try(41, False)]
    assert next_batch(tries, 40) is None
    assert next_batch(tries, 40, confirm=2) == 40
    assert next_batch([*tries, Try(40, True)], 40, confirm=2) is None
    assert stands([*tries, Try(40, False)]).above == 40
    assert next_batch([*tries, Try(40, False)], 40, confirm=2) < 40
