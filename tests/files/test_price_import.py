"""Prices from a spreadsheet into the user's own list."""

import json
import zipfile
from dataclasses import replace
from datetime import date

import jsonschema
import pytest

from planner_app.core.hardware.device import Price
from planner_app.core.hardware.prices import Accepted, hourly, purchase
from planner_app.errors import DeviceError
from planner_app.files.devices.catalogue import load_catalogue, schema
from planner_app.files.devices.prices import keep_prices, read_prices

OWN = load_catalogue()
TODAY = date(2026, 11, 16)


@pytest.fixture
def take_over(tmp_path):
    """Prices taken over into a user's file, and the catalogue with it."""
    users = tmp_path / "deep" / "devices.json"

    def take(text: str):
        path = tmp_path / "prices.csv"
        path.write_bytes(text.encode())
        keep_prices(read_prices(path, load_catalogue(users), TODAY), users)
        return load_catalogue(users)

    take.users = users
    return take


def test_that_prices_per_hour_and_to_buy_are_imported(take_over):
    found = take_over(
        "device,usd_per_hour,usd,provider,date,note\n"
        "NVIDIA L4,0.11,,our cloud,2026-11-02,\n"
        "RTX 4090,,$1850,the shop,2026-11-03,with VAT\n"
    )
    cost = hourly(found.find("L4"), 2, TODAY)
    assert (cost.usd, cost.price.source, cost.old) == (0.22, "our cloud", False)
    bought = purchase(found.find("4090"), 1, TODAY)
    assert (bought.usd, bought.price.source, bought.price.kind, bought.price.note, bought.old) == (
        1850,
        "the shop",
        "quote",
        "with VAT",
        False,
    )
    assert found.find("L4").total_bytes == OWN.find("L4").total_bytes


def test_that_a_provider_s_price_replaces_its_older_one_and_others_stay(take_over):
    before = {price.source for price in OWN.find("L4").cloud_prices}
    take_over("device,usd_per_hour,provider,date\nL4,0.9,Somebody,2026-10-01\n")
    found = take_over("device;usd_per_hour;provider;date\nL4;0.8;somebody;2026-11-01\n")
    prices = {price.source: price.usd for price in found.find("L4").cloud_prices}
    assert set(prices) == before | {"somebody"}
    assert prices["somebody"] == 0.8


def test_that_what_the_user_s_file_said_before_stays(take_over):
    take_over.users.parent.mkdir()
    entry = {"name": "My Card", "total_mib": 30000, "compute_capability": "8.6"}
    take_over.users.write_text(json.dumps({"schema_version": 1, "devices": [entry]}))
    found = take_over("device,usd,provider,date\nMy Card,900,me,2026-11-01\n")
    assert (found.find("My Card").total_bytes, found.find("My Card").market_prices[0].usd) == (30000 << 20, 900)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("device,usd,provider,date\nL40X,1,me,2026-11-01\n", "line 2: No device is called 'L40X'"),
        ("device,usd,provider,date\nA100,1,me,2026-11-01\n", "is ambiguous"),
        ("device,usd,provider,date\nL4,0,me,2026-11-01\n", "line 2: '0' is not a price"),
        ("device,usd,provider,date\nL4,free,me,2026-11-01\n", "'free' is not a price"),
        ("device,usd,provider,date\nL4,nan,me,2026-11-01\n", "'nan' is not a price"),
        ("device,usd,provider,date\nL4,5,me,yesterday\n", "'yesterday' is not a date"),
        ("device,usd,provider,date\nL4,5,me,2026-02-30\n", "'2026-02-30' is not a date"),
        ("device,usd,provider,date\nL4,5,me,2026-1-2\n", "'2026-1-2' is not a date"),
        ("device,usd,provider,date\nL4,5,me," + "9" * 5000 + "\n", "is not a date"),
        ("device,usd,provider,date\nL4,5,me,2026-99999999999999999999\n", "is not a date"),
        ("device,usd,provider,date\nL4,5,,2026-11-01\n", "provider is empty"),
        ("device,usd,usd_per_hour,provider,date\nL4,5,1,me,2026-11-01\n", "one of usd_per_hour, usd and price"),
        ("device,usd,provider,date\nA40 ECC off,5,me,2026-11-01\n", "the price of the card itself"),
        ("gpu,price\nL4,5\n", "must be a header with device"),
        ("", "must be a header"),
        ("device,usd,provider,date\n", "has no prices"),
        ("\x00\x01", "bytes that no text has"),
        ("device,usd,provider,date\nL4,5,me,2062-11-01\n", "line 2: '2062-11-01' is in the future"),
        ("device,usd,usd,provider,date\nL4,5,6,me,2026-11-01\n", "names usd twice"),
        ("device,usd,provider,date\nL4,€5,me,2026-11-01\n", "'€5' is in EUR: put it into price"),
        ("device,price,currency,rate,provider,date\nL4,5,EUR,0,me,2026-11-01\n", "'0' is not a rate"),
        (
            "device,usd,provider,date\nL4,5,me,2026-11-01\nL4,6,Me,2026-11-02\n",
            "line 3: line 2 has another price of the same provider for it",
        ),
    ],
)
def test_that_a_mistake_is_reported_and_nothing_is_imported(take_over, text, why):
    with pytest.raises(DeviceError, match=why):
        take_over(text)
    assert not take_over.users.exists()


def test_that_one_wrong_line_keeps_all_others_out(take_over):
    with pytest.raises(DeviceError, match="line 3"):
        take_over("device,usd,provider,date\nL4,5,me,2026-11-01\nL4,-5,me,2026-11-01\n")
    assert not take_over.users.exists()


def test_that_a_missing_file_is_reported(tmp_path):
    with pytest.raises(DeviceError, match="can't be read"):
        read_prices(tmp_path / "none.csv", OWN, TODAY)
    with pytest.raises(DeviceError, match="can't be read"):
        read_prices(tmp_path, OWN, TODAY)


def test_that_the_schema_is_of_the_file():
    described = json.loads(schema())
    jsonschema.validate({"schema_version": 1, "devices": [{"name": "X", "total_mib": 1000}]}, described)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema_version": 1, "devices": [{"name": "X", "total_gb": 1}]}, described)


def test_that_quotes_stay_side_by_side_and_the_cheapest_counts(take_over):
    take_over(
        "device,usd,condition,provider,date\nRTX 4090,1700,new,one,2026-11-01\nRTX 4090,900,used,one,2026-11-01\n"
    )
    found = take_over("device,price,currency,rate,provider,date\nRTX 4090,1500,EUR,1.1,two,2026-11-02\n").find("4090")
    quotes = {(price.source, price.condition): price for price in found.market_prices if price.kind == "quote"}
    assert set(quotes) == {("one", "new"), ("one", "used"), ("two", "new")}
    assert (quotes["two", "new"].usd, quotes["two", "new"].amount) == (pytest.approx(1650), 1500)
    assert purchase(found, 2, TODAY).usd == pytest.approx(3300)
    assert purchase(found, 2, TODAY, Accepted(used=True)).usd == pytest.approx(1800)


def test_that_a_launch_price_counts_only_where_it_is_asked_for():
    card = OWN.find("RTX 4080")
    assert purchase(card, 1, TODAY) is None
    assert purchase(card, 1, TODAY, Accepted(launch=True)).price.date == card.released


def test_that_a_board_is_bought_whole():
    board = replace(OWN.find("A16"), market_prices=(Price(4000, "shop", "2026-11-01"),))
    assert [purchase(board, gpus, TODAY).usd for gpus in (1, 4, 5)] == [4000, 4000, 8000]


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c>'
    '<c r="D1" t="s"><v>3</v></c></row>'
    '<row r="2"><c r="A2" t="s"><v>4</v></c><c r="B2"><v>1800</v></c><c r="C2" t="inlineStr"><is><t>shop</t></is></c>'
    '<c r="D2"><v>46328</v></c></row></sheetData></worksheet>'
)
STRINGS = "<sst>" + "".join(f"<si><t>{each}</t></si>" for each in ("device", "usd", "provider", "date", "RTX 4090"))
ODS = (
    '<d xmlns:table="t" xmlns:text="x" xmlns:office="o"><table:table>'
    "<table:table-row><table:table-cell><text:p>device</text:p></table:table-cell>"
    "<table:table-cell><text:p>usd</text:p></table:table-cell><table:table-cell><text:p>provider</text:p>"
    "</table:table-cell><table:table-cell><text:p>date</text:p></table:table-cell></table:table-row>"
    "<table:table-row><table:table-cell><text:p>RTX 4090</text:p></table:table-cell>"
    '<table:table-cell office:value="1800"/><table:table-cell><text:p>shop</text:p></table:table-cell>'
    '<table:table-cell office:date-value="2026-11-02"/><table:table-cell table:number-columns-repeated="16380"/>'
    '</table:table-row><table:table-row table:number-rows-repeated="1048574"/></table:table></d>'
)


def spreadsheet(path, **parts: str):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name.replace("__", "/") + ".xml", text)
    return path


@pytest.mark.parametrize(
    "parts", [{"xl__worksheets__sheet1": SHEET, "xl__sharedStrings": STRINGS + "</sst>"}, {"content": ODS}]
)
def test_that_spreadsheets_are_read(tmp_path, parts):
    (line,) = read_prices(spreadsheet(tmp_path / "quotes", **parts), OWN, TODAY)
    assert (line.device.name, line.usd, line.provider, line.date) == (
        "NVIDIA GeForce RTX 4090", 1800, "shop", "2026-11-02",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"content": '<!DOCTYPE d [<!ENTITY a "aaaa">]><d>&a;</d>'}, "has a document type"),
        ({"content": "<d>" + " " * (17 << 20) + "</d>"}, "has more than 16 MiB"),
        ({"content": "<d>" * 100 + "</d>" * 100}, "is nested too deeply"),
        ({"content": "<d>"}, "is not XML"),
        ({"other": "<d/>"}, "it has no sheet"),
        (
            {"xl__worksheets__sheet1": SHEET, "xl__workbook": '<b><workbookPr date1904="1"/></b>'},
            "it counts days from 1904",
        ),
    ],
)
def test_that_a_spreadsheet_that_asks_for_too_much_is_refused(tmp_path, parts, why):
    with pytest.raises(DeviceError, match=why):
        read_prices(spreadsheet(tmp_path / "quotes.ods", **parts), OWN, TODAY)


def test_that_a_damaged_archive_is_refused(tmp_path):
    path = tmp_path / "quotes.xlsx"
    path.write_bytes(b"PK\x03\x04" + b"\0" * 100)
    with pytest.raises(DeviceError, match="the archive is damaged"):
        read_prices(path, OWN, TODAY)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("$1,850.00", 1850),
        ("1,850", 1850),
        ("1 850.5", 1850.5),
        ("1'850.50", 1850.5),
        ("1.850,50", 1850.5),
        ("1850,5", 1850.5),
        ("12,345,678", 12345678),
    ],
)
def test_that_amounts_are_read_as_people_write_them(take_over, written, meant):
    found = take_over(f"device;usd;provider;date\nL4;{written};me;2026-11-01\n")
    assert found.find("L4").market_prices[-1].usd == meant


def test_that_a_comma_in_the_price_of_an_hour_and_in_a_rate_is_a_point(take_over):
    found = take_over("device;usd_per_hour;provider;date\nL4;1,006;me;2026-11-01\n")
    assert next(price.usd for price in found.find("L4").cloud_prices if price.source == "me") == 1.006
    found = take_over("device;price;currency;rate;provider;date\nA30;2000;EUR;1,090;me;2026-11-01\n")
    assert found.find("A30").market_prices[-1].usd == pytest.approx(2180)


@pytest.mark.parametrize("written", ["1.640", "1,64,0", "1.2.3", "1,850.00,00", ",", "1,"])
def test_that_an_amount_that_can_mean_two_things_is_refused(take_over, written):
    with pytest.raises(DeviceError, match=r"can mean 1\.640 or 1640|is not a price"):
        take_over(f"device;usd;provider;date\nL4;{written};me;2026-11-01\n")


def test_that_dates_with_points_and_with_times_are_read(take_over):
    for written in ("3.11.2026", "2026-11-03 14:05:00", "46329.5868"):
        found = take_over(f"device,usd,provider,date\nL4,5,{written},{written}\n")
        assert found.find("L4").market_prices[-1].date == "2026-11-03"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_that_tables_in_the_letters_that_spreadsheets_write_are_read(tmp_path, encoding):
    path = tmp_path / "quotes.csv"
    path.write_bytes("device\tusd\tprovider\tdate\nL4\t5\tBüro Müller\t2026-11-01\n".encode(encoding))
    assert [line.provider for line in read_prices(path, OWN, TODAY)] == ["Büro Müller"]


@pytest.mark.parametrize(
    "text",
    [
        "device|usd|provider|date\nRTX 4090|1850|shop|2026-11-02\n",
        "sep=;\ndevice;usd;provider;date\nRTX 4090;1850;shop;2026-11-02\n",
        "device,usd,provider,date,\rRTX 4090,1850 USD,shop,2026-11-02,\r",
        "device,usd,provider,date\nRTX 4090,$1850,shop,2026-11-02\nRTX 4090,$1850,shop,2026-11-02\n",
    ],
)
def test_that_tables_are_read_as_spreadsheet_programs_write_them(take_over, text):
    quotes = [price for price in take_over(text).find("RTX 4090").market_prices if price.kind == "quote"]
    assert [(price.usd, price.source) for price in quotes] == [(1850, "shop")]


@pytest.mark.parametrize("written", ["1.640,00 €", "€1640", "1640 EUR"])
def test_that_a_price_may_carry_the_sign_of_its_currency(take_over, written):
    found = take_over(f"device;price;currency;rate;provider;date\nL4;{written};EUR;1,1;shop;2026-11-02\n").find("L4")
    assert [(price.amount, price.currency) for price in found.market_prices] == [(1640, "EUR")]
