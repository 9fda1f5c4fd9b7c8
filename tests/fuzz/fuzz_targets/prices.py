"""A spreadsheet of prices into the user's own list of devices."""

from datetime import date

from fuzz_changes import changed_text as mutate

from fuzz_targets.common import READ, corpus, emptied, refused, written
from planner_app.errors import DeviceError
from planner_app.files.devices.catalogue import catalogue, load_catalogue
from planner_app.files.devices.prices import keep_prices, read_prices

KIND = "lists of prices"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("prices/*.csv")


def run(data: bytes) -> str:
    users = emptied("prices") / "devices.json"
    try:
        keep_prices(read_prices(written(data, "prices.csv"), catalogue(), date(2026, 11, 16)), users)
    except DeviceError as error:
        return refused(error)
    load_catalogue(users)
    return READ
