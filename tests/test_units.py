"""Bytes in the words people use."""

import pytest

from planner_app.errors import PlannerError
from planner_app.units import count_of, format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1000, "0.98 KiB"),
        (1536, "1.50 KiB"),
        (102_546_848, "97.8 MiB"),
        (1023 << 20, "1.00 GiB"),
        (80 << 30, "80.0 GiB"),
        (131 << 30, "131 GiB"),
        (5 << 40, "5.00 TiB"),
        (-(3 << 30), "-3.00 GiB"),
    ],
)
def test_that_bytes_are_shown_with_three_digits(count, text):
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8GiB", 8 << 30),
        ("8 gib", 8 << 30),
        ("1.5GiB", 3 << 29),
        ("500MB", 500_000_000),
        ("24GB", 24_000_000_000),
        ("1024", 1024),
        ("7 B", 7),
    ],
)
def test_that_amounts_are_understood(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "GiB", "8 gigs", "-1GiB", "1e3MB", "8GiB!"])
def test_that_other_texts_get_a_sentence(text):
    with pytest.raises(PlannerError, match="is not an amount of memory"):
        parse_bytes(text)


def test_that_huge_amounts_are_formatted_and_parsed():
    assert format_bytes(10**400) == format_bytes(10**30)
    assert parse_bytes("9" * 400 + "GiB") == parse_bytes("1" + "0" * 30 + "GiB")


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "³", "9" * 19, "9" * 5000, "x", " 1"])
def test_that_what_is_not_a_positive_integer_counts_nothing(text):
    assert count_of(text) == 0


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("0012", 12), ("9" * 18, 10**18 - 1)])
def test_that_digits_are_counted(text, count):
    assert count_of(text) == count
