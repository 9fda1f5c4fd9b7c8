"""The page a boss signs: what it says, as HTML and as PDF."""

import re
import zlib
from dataclasses import replace

import pytest
from offers import an_hour
from test_buying import CARD, MARKET, TODAY, option

from planner_app.core.buying.run import Run, propose
from planner_app.core.hardware.device import Price
from planner_app.core.hardware.option import ShopRequest
from planner_app.core.model.setup import Setup
from planner_app.reports.signing.canvas import width, wrapped
from planner_app.reports.signing.drawing import Label
from planner_app.reports.signing.html_page import html_page
from planner_app.reports.signing.page import page
from planner_app.reports.signing.pdf_page import pdf_page
from planner_app.reports.signing.spans import days

HUNDRED = Run(360_000, 10, power_usd_per_kwh=0.5, runs=100)
REQUEST = ShopRequest(Setup(batch=64))


def made(run=HUNDRED, name="resnet"):
    other = replace(CARD, name="NVIDIA Other <b>", market_prices=(), cloud_prices=(an_hour(20.0),))
    proposals = propose([option(), option(other, speed=300.0)], run, MARKET, TODAY)
    return page(name, REQUEST, run, proposals, TODAY)


def texts(pdf: bytes) -> str:
    (content,) = re.findall(rb"stream\n(.*)\nendstream", pdf, re.DOTALL)
    return zlib.decompress(content).decode("cp1252")


def test_that_the_answer_is_the_cheaper_way_with_its_grounds():
    found = made()
    assert found.answer == "Buy 1 x X1 in a tower: $4,150 for 100 runs, 10.0 h each"
    assert "Buying pays from run 41 on" in found.grounds
    assert found.rows[0][4:] == ("$10,000", "$4,150", "41 runs")


def test_that_renting_is_the_answer_for_one_run():
    assert made(Run(360_000, 10)).answer.startswith("Rent 1 x Other")


def test_that_risks_and_sources_are_named():
    found = made()
    assert any("not measured" in risk for risk in found.risks)
    assert "X1 to buy: $1,000 each, shop, new, 2026-11-01" in found.sources
    assert "tower: $3,000, quote, 2026-11-01" in found.sources
    assert "X1 for rent: $10.00 an hour of the machine, Cloud, big, here, 2026-11-01" in found.sources


def test_that_an_answer_without_a_price_to_buy_names_the_purchase_that_pays_first():
    # 3 dollars an hour for 10 hours a run, against 4,000 dollars and 1.50 of energy a run: from run 141 on
    free = replace(CARD, name="NVIDIA Free", market_prices=(), cloud_prices=(an_hour(3.0),))
    cheap = replace(CARD, name="NVIDIA Cheap", market_prices=(Price(10.0, "shop", "2026-11-01"),), cloud_prices=())
    tight = replace(option(cheap), limit_bytes=option().level.high_bytes - 1)
    slow = option(cheap, speed=10.0)  # 15 dollars of energy a run: from run 201 on
    found = page("m", REQUEST, HUNDRED, propose([option(), tight, slow, option(free)], HUNDRED, MARKET, TODAY), TODAY)
    assert found.answer.startswith("Rent 1 x Free: $3,000 for 100 runs")
    assert "All 100 runs on one machine, one after the other: 41.7 days" in found.grounds
    expected = "No price to buy it is known. Of what has one, 1 x X1 pays first: from run 140 on"
    assert expected in found.grounds
    assert any("storage" in risk for risk in found.risks)


def test_that_no_answer_says_what_stands_in_the_way():
    found = made(Run(360_000, 10, deadline_seconds=60))
    assert found.answer == "Nothing that is known meets the limits."
    assert found.grounds == ("The fastest that fits, 1 x Other <b>, takes 3.3 h",)
    assert "Nothing that is known" in texts(pdf_page(found))


def test_that_what_has_no_price_has_alternatives_without_one():
    cards = [replace(CARD, name=f"NVIDIA {name}", market_prices=(), cloud_prices=()) for name in ("A", "B", "C")]
    paces = zip(cards, (100.0, 300.0, 200.0), strict=True)
    proposals = propose([option(card, speed=speed) for card, speed in paces], HUNDRED, MARKET, TODAY)
    assert [row[0] for row in page("m", REQUEST, HUNDRED, proposals, TODAY).rows] == ["1 x B", "1 x C", "1 x A"]


def test_that_a_training_that_fits_nowhere_is_told_how_near_it_came():
    found = page("m", REQUEST, HUNDRED, (), TODAY, nearest="needs 300 GiB per GPU, B300 gives 264 GiB")
    assert found.answer == "Nothing that is known fits the training."
    assert found.grounds == ("The nearest: needs 300 GiB per GPU, B300 gives 264 GiB",)
    assert page("m", REQUEST, HUNDRED, (), TODAY).grounds[0].startswith("Nothing that fits the training has")


def test_that_data_larger_than_the_disk_is_a_risk():
    terabytes = replace(HUNDRED, data_bytes=20 << 40)
    assert any(risk.startswith("The tower has") and "20.0 TiB" in risk for risk in made(terabytes).risks)
    assert not any("disk" in risk for risk in made().risks)


def test_that_unknown_memory_of_what_is_rented_is_a_risk_only_to_data_that_is_large():
    alone = replace(CARD, name="NVIDIA Alone", market_prices=(), cloud_prices=(an_hour(3.0),))

    def of(host_bytes):
        run = Run(360_000, 10, host_bytes=host_bytes)
        return page("m", REQUEST, run, propose([option(alone)], run, MARKET, TODAY), TODAY).risks

    assert any("the input pipeline holds 32.0 GiB" in risk for risk in of(32 << 30))
    assert not any("input pipeline" in risk for risk in of(1 << 30))


def test_that_costs_over_time_show_how_many_runs_are_planned():
    texts = [shape.text for shape in made().over_time if isinstance(shape, Label)]
    assert "100 planned" in texts and "41 runs" in texts


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "less than 1 s"), (90, "2 min"), (36_000, "10.0 h"), (864_000, "10.0 days"), (1e8, "3.2 years")],
)
def test_that_spans_are_said_in_the_unit_that_fits(seconds, said):
    assert days(seconds) == said


def test_that_html_and_pdf_say_the_same():
    found = made()
    html, pdf = html_page(found), texts(pdf_page(found))
    assert "Other &lt;b&gt;" in html and "<b>Buy" in html
    for line in (found.answer, found.rows[1][0], "approved"):
        assert line.replace("<", "&lt;").replace(">", "&gt;") in html
        assert line in pdf


def test_that_the_pdf_is_one_sheet_whatever_the_names():
    pdf = pdf_page(made(name="x (\\) \N{SNOWMAN} " * 30))
    assert pdf.startswith(b"%PDF-1.4") and pdf.endswith(b"%%EOF\n")
    assert pdf.count(b"/Type /Page ") == 1
    start = int(re.search(rb"startxref\n(\d+)", pdf)[1])
    assert pdf[start : start + 4] == b"xref"


def test_that_lines_are_wrapped_to_their_room():
    rows = wrapped("a line of several words and " + "w" * 200, 9, 100)
    assert all(width(row, 9) <= 100 for row in rows)
    assert "".join(rows).replace(" ", "") == "alineofseveralwordsand" + "w" * 200
