"""Prices from a spreadsheet into the user's own list."""

import json
from datetime import date

import jsonschema
import pytest

from planner_app.core.hardware.prices import hourly, purchase
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
        keep_prices(read_prices(path, load_catalogue(users)), users)
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
    assert (bought.usd, bought.price.source, bought.price.kind, bought.old) == (
        1850,
        "the shop, with VAT",
        "quote",
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
    assert (found.find("My Card").total_bytes, found.find("My Card").launch_price.usd) == (30000 << 20, 900)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("device,usd,provider,date\nL40X,1,me,2026-11-01\n", "line 2: No device is called 'L40X'"),
        ("device,usd,provider,date\nA100,1,me,2026-11-01\n", "is ambiguous"),
        ("device,usd,provider,date\nL4,0,me,2026-11-01\n", "line 2: '0' is not a price in dollars"),
        ("device,usd,provider,date\nL4,free,me,2026-11-01\n", "'free' is not a price"),
        ("device,usd,provider,date\nL4,nan,me,2026-11-01\n", "'nan' is not a price"),
        ("device,usd,provider,date\nL4,5,me,yesterday\n", "'yesterday' is not a date"),
        ("device,usd,provider,date\nL4,5,me,2026-02-30\n", "'2026-02-30' is not a date"),
        ("device,usd,provider,date\nL4,5,me,2026-1-2\n", "'2026-1-2' is not a date"),
        ("device,usd,provider,date\nL4,5,me," + "9" * 5000 + "\n", "is not a date"),
        ("device,usd,provider,date\nL4,5,me,2026-99999999999999999999\n", "is not a date"),
        ("device,usd,provider,date\nL4,5,,2026-11-01\n", "provider is empty"),
        ("device,usd,usd_per_hour,provider,date\nL4,5,1,me,2026-11-01\n", "one of usd_per_hour and usd"),
        ("device,usd,provider,date\nA40 ECC off,5,me,2026-11-01\n", "the price of the card itself"),
        ("gpu,price\nL4,5\n", "must be a header with device"),
        ("", "must be a header"),
        ("device,usd,provider,date\n", "has no prices"),
        ("\x00\x01", "must be a header|not a CSV"),
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
        read_prices(tmp_path / "none.csv", OWN)
    with pytest.raises(DeviceError, match="can't be read"):
        read_prices(tmp_path, OWN)


def test_that_the_schema_is_of_the_file():
    described = json.loads(schema())
    jsonschema.validate({"schema_version": 1, "devices": [{"name": "X", "total_mib": 1000}]}, described)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema_version": 1, "devices": [{"name": "X", "total_gb": 1}]}, described)
