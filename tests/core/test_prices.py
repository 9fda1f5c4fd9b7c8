"""Prices and their age."""

from datetime import date

import pytest
from offers import an_hour, card

from planner_app.core.hardware.prices import cheapest, day_of, hourly, is_old, purchase

TODAY = date(2026, 11, 16)


@pytest.mark.parametrize(
    ("day", "old"),
    [
        ("2026-11-16", False),
        ("2026-08-18", False),  # 90 days before
        ("2026-08-17", True),  # 91
        ("2026-11", False),
        ("2026-08", True),  # may have been its first day
        ("2026", True),
        (None, True),
        ("2027-01-01", False),
        ("2026-13-45", True),  # no day at all
    ],
)
def test_that_a_price_is_old_after_ninety_days_or_without_a_date(day, old):
    assert is_old(an_hour(1.0, day), TODAY) is old


def test_that_a_price_of_today_counts_more_than_a_lower_one_of_last_year():
    fresh, stale = an_hour(2.0, "2026-11-01"), an_hour(1.0, "2025-11-01")
    assert cheapest((stale, fresh), TODAY) is fresh
    assert cheapest((stale,), TODAY) is stale
    assert cheapest((), TODAY) is None


def test_that_an_option_without_a_price_has_an_unknown_cost():
    assert hourly(card(), 4, TODAY) is None
    assert purchase(card(), 4, TODAY) is None


def test_that_an_invalid_date_is_none():
    assert [day_of(text) for text in ("2026-02-31", "", None)] == [None, None, None]
    assert day_of("2026-02") == date(2026, 2, 1)
