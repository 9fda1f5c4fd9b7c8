"""Offers as rows, as a spreadsheet and as a page to print."""

import csv
import io
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from offers import TODAY, an_hour, card, offered, wanted

from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.ranking import By, front, ranked
from planner_app.reports.buying.scatter_svg import Dot, scatter
from planner_app.reports.buying.shop_report import recommended, report
from planner_app.reports.buying.shop_rows import as_csv, as_json, option_row

WANT = wanted(64, counts=(1, 2))
PRICED = card("NVIDIA Priced", 24, cloud_prices=(an_hour(0.5), an_hour(0.4, "2020-01-01", "Gone")))
UNPRICED = card("NVIDIA Unpriced", 80)
SMALL = card("NVIDIA Small", 4)
OFFERS = offered(WANT, PRICED, UNPRICED, SMALL)
VOID = frozenset({"meta", "line", "circle", "polyline"})


class Checked(HTMLParser):
    """What a page says, whether its tags are closed in order, and what it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page(options=None, model="resnet", offers=OFFERS, **more) -> Checked:
    options = ranked(offers.options) if options is None else options
    return Checked(report(model, WANT, offers, options, today=TODAY, **more))


def test_that_the_page_says_what_to_take_and_why_not_the_others():
    text = page().text
    assert "1 × NVIDIA Priced fits it, for $0.50 an hour (Cloud, 2026-11-01)" in text  # noqa: RUF001
    assert "64 samples per update" in text
    assert "Small: needs" in text
    assert "half of such estimates are within 15 %" in text
    assert "have not been compared with a GPU yet" in text


def test_that_the_page_needs_nothing_else():
    shown = page()
    assert shown.fetched == []
    assert "@import" not in shown.text
    assert "url(" not in shown.text


def test_that_names_cannot_write_into_the_page():
    evil = "<script>alert(1)</script>&amp;"
    assert evil in page(model=evil).text
    assert "<script" not in report(evil, WANT, OFFERS, OFFERS.options, today=TODAY)


def test_that_a_missing_price_is_unknown_on_the_page_too():
    shown = page([option for option in OFFERS.options if option.device is UNPRICED])
    assert "at an unknown price" in shown.text
    assert "unknown" in shown.text
    assert "$0" not in shown.text


def test_that_a_page_without_an_offer_says_so():
    text = page([], offers=offered(WANT, SMALL)).text
    assert "Nothing within the limits fits." in text
    assert "Small: needs" in text


def test_that_old_prices_are_marked():
    old = card("NVIDIA Old", 24, cloud_prices=(an_hour(1.0, "2025-01-01"),))
    assert "2025-01-01, old" in page(offers=offered(WANT, old)).text


@pytest.mark.parametrize("by", list(By))
@pytest.mark.parametrize("pay", list(Pay))
def test_that_every_order_makes_a_page(by, pay):
    assert page(ranked(OFFERS.options, by, pay), by=by, pay=pay).text


def test_that_the_recommended_offer_is_sure_to_fit_before_it_is_cheap():
    tight = card("NVIDIA Tight", 8.5, cloud_prices=(an_hour(0.1),))
    offers = offered(WANT, tight, PRICED, constant=0, band=1.2)
    cheapest = ranked(offers.options)[0]
    assert (cheapest.device, cheapest.verdict) == (tight, Verdict.TIGHT)
    assert recommended(offers.options, Pay.CLOUD).verdict is Verdict.FITS
    assert "Cheaper, but tight or with an uneven share" in page(offers=offers).text


def test_that_rows_keep_bytes_and_say_what_is_not_known():
    row = option_row(next(option for option in OFFERS.options if option.device is UNPRICED))
    assert (row["usd"], row["usd_per_hour"], row["usd_per_million_samples"]) == (None, None, None)
    assert row["headroom_bytes"] == row["limit_bytes"] - row["peak_bytes"]
    assert row["speed_source"] == "estimate"


def test_that_a_spreadsheet_never_has_an_empty_price():
    best = front(OFFERS.options)
    table = list(csv.DictReader(io.StringIO(as_csv(OFFERS.options, best))))
    assert len(table) == len(OFFERS.options)
    assert {row["usd_per_hour"] for row in table} == {"0.5", "1.0", "unknown"}
    assert {row["usd"] for row in table} == {"unknown"}
    assert as_csv([], []) == ""


def test_that_json_has_options_in_order_and_reasons():
    best = front(OFFERS.options)
    found = as_json(WANT, OFFERS, ranked(OFFERS.options), best)
    assert [row["device"] for row in found["options"]][-1] == "NVIDIA Unpriced"
    assert [row["device"] for row in found["why_not"]] == ["NVIDIA Small"]
    assert any(row["front"] for row in found["options"])


def test_that_a_picture_of_one_dot_or_many_can_be_drawn():
    assert scatter([], "x", "y", str) == ""
    one = scatter([Dot(1, 1, "a", True)], "x", "y", str)
    many = scatter([Dot(10.0**n, 10.0**-n, f"<{n}>", n % 2 == 0) for n in range(-6, 7)], "x & y", "y", str)
    for drawn in (one, many):
        assert Checked(drawn).open == []
    assert "x & y" in Checked(many).text


def test_that_options_of_unknown_speed_are_drawn_by_their_batch():
    slow = [replace(option, speed=None) for option in offered(WANT, PRICED).options]
    assert "largest batch" in page(slow).text
