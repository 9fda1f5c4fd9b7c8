"""Imports prices and quotes from a table (CSV, XLSX or ODS) into the user's own device list:

    device,usd_per_hour,usd,price,currency,rate,condition,provider,date,note
    NVIDIA L4,0.71,,,,,,our reseller's cloud,2026-11-02,
    RTX 4090,,1850,,,,new,local computer shop,2026-11-02,with VAT
    RTX 4090,,,1640,EUR,1.09,used,another shop,2026-11-03,

Each line has a price per hour of one GPU, or the price to buy one (a board, where a board carries several), in dollars
or as a `price` in a `currency` with the `rate` of the day. `device`, `provider` and `date` are required, the other
columns optional. Quotes of several providers stay side by side. Nothing is imported unless every line is valid.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import msgspec

from planner_app.core.hardware.catalogue import Catalogue
from planner_app.core.hardware.device import QUOTE, Condition, Device
from planner_app.core.hardware.prices import day_of
from planner_app.errors import DeviceError
from planner_app.files.devices.catalogue import read_entries
from planner_app.files.devices.entries import DATE, VERSION, CatalogueFile, CloudPrice, Entry, MarketPrice
from planner_app.files.devices.tables import read_table
from planner_app.files.writing import alone, reason, write_atomically
from planner_app.foreign_text import is_plain

HOURLY, TO_BUY, PRICE = "usd_per_hour", "usd", "price"
NEEDED = ("device", "provider", "date")
COLUMNS = (*NEEDED, HOURLY, TO_BUY, PRICE, "currency", "rate", "condition", "note")
TEMPLATE = "device,usd_per_hour,usd,price,currency,rate,condition,provider,date,note\n"
DOLLARS = "USD"
CURRENCY = re.compile("[A-Z]{3}", re.ASCII)
SIGNS = {"$": DOLLARS, "€": "EUR", "£": "GBP"}
SPREADSHEET_DAY_0 = date(1899, 12, 30)
MOST_SHOWN = 5  # errors in one message
MOST_ERRORS = 100  # then it is another kind of file, and searching for similar names would take minutes
LARGEST_USD = 1e9


@dataclass(frozen=True, slots=True)
class PriceLine:
    """One line of the file: `usd` is per hour, or the price to buy; `amount` as asked in another `currency`."""

    device: Device
    usd: float
    hourly: bool
    provider: str
    date: str
    note: str = ""
    condition: Condition = Condition.NEW
    currency: str = DOLLARS
    amount: float | None = None


def read_prices(path: Path, catalogue: Catalogue, today: date) -> tuple[PriceLine, ...]:
    rows = _rows(path)
    lines: dict[object, tuple[int, PriceLine]] = {}  # by what a line would replace; the same line twice counts once
    errors: list[str] = []
    for number, row in rows:
        try:
            line = _line(row, catalogue, today)
            other, before = lines.setdefault(_replaces(line), (number, line))
            if before != line:
                raise DeviceError(f"line {other} has another price of the same provider for it: keep one of them")
        except DeviceError as error:
            errors.append(f"line {number}: {str(error).rstrip('.')}")
            if len(errors) == MOST_ERRORS:
                break
    if errors:
        more = f"; and {len(errors) - MOST_SHOWN} more" if len(errors) > MOST_SHOWN else ""
        raise DeviceError(f"No prices were imported from {path}: {'; '.join(errors[:MOST_SHOWN])}{more}.")
    if not lines:
        raise DeviceError(f"{path} has no prices: expected a header line ({', '.join(COLUMNS)}) followed by prices.")
    return tuple(line for _, line in lines.values())


def _replaces(line: PriceLine) -> object:
    """Quotes that have it in common replace one another."""
    return line.device.name, line.provider.casefold(), "an hour" if line.hourly else line.condition


def keep_prices(lines: Sequence[PriceLine], users: Path) -> None:
    """Add the prices to the user's list. A provider's new price replaces its old one; all else stays."""
    try:
        with alone(users.parent):
            write_atomically(users, _with_prices(lines, users), private=True)
    except OSError as error:
        raise DeviceError(f"The prices can't be written to {users}: {reason(error)}.") from error


def _with_prices(lines: Sequence[PriceLine], users: Path) -> bytes:
    entries = {entry.name.casefold(): entry for entry in (read_entries(users) if users.exists() else ())}
    for device in {line.device.name: line.device for line in lines}.values():
        own = entries.get(device.name.casefold(), Entry(name=device.name))
        entries[device.name.casefold()] = _priced(own, device, [line for line in lines if line.device is device])
    file = CatalogueFile(schema_version=VERSION, devices=tuple(entries.values()))
    return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"


def _priced(entry: Entry, device: Device, lines: Iterable[PriceLine]) -> Entry:
    cloud = {
        (price.source, price.kind): CloudPrice(price.usd, price.source, price.date, price.kind, price.note)
        for price in device.cloud_prices
    }
    asked = {
        (price.source.casefold(), price.condition): MarketPrice(
            price.usd, price.source, price.date, price.condition, price.kind, price.note, price.currency, price.amount
        )
        for price in device.market_prices
    }
    changed: dict[str, object] = {}
    for line in lines:
        if line.hourly:
            for key in [key for key in cloud if key[0].casefold() == line.provider.casefold()]:
                del cloud[key]
            cloud[line.provider, QUOTE] = CloudPrice(line.usd, line.provider, line.date, QUOTE, line.note)
            changed["cloud_prices"] = tuple(cloud.values())
        else:
            asked[line.provider.casefold(), line.condition] = MarketPrice(
                line.usd, line.provider, line.date, line.condition, QUOTE, line.note, line.currency, line.amount
            )
            changed["market_prices"] = tuple(asked.values())
    return msgspec.structs.replace(entry, **changed)


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Line numbers and values by column name, without empty lines."""
    table = read_table(path)
    names = [name.lower() for name in table[0][1]] if table else []
    unknown, lacking = [n for n in names if n and n not in COLUMNS], [name for name in NEEDED if name not in names]
    if twice := [name for name in COLUMNS if names.count(name) > 1]:
        raise DeviceError(f"The first line of {path} names {twice[0]} twice: keep one of the columns.")
    if unknown or lacking or not {HOURLY, TO_BUY, PRICE} & set(names):
        raise DeviceError(
            f"The first line of {path} must be a header with {', '.join(NEEDED)}, at least one of {HOURLY}, {TO_BUY} "
            f"and {PRICE}, "
            f"and no columns but {', '.join(COLUMNS)}; it has {', '.join(map(repr, names))[:200] or 'none'}."
        )
    return [(number, dict(zip(names, row, strict=False))) for number, row in table[1:]]


def _line(row: Mapping[str, str], catalogue: Catalogue, today: date) -> PriceLine:
    for name in NEEDED:
        if not row.get(name):
            raise DeviceError(f"{name} is empty")
    for name in ("provider", "note"):
        if not is_plain(row.get(name) or ""):
            raise DeviceError(f"{name} holds characters that can't be printed")
    device = catalogue.find(row["device"])
    if not device.whole:
        raise DeviceError(f"{device.name} is a variant of a card: give the price of the card itself")
    given = [name for name in (HOURLY, TO_BUY, PRICE) if row.get(name)]
    if len(given) != 1:
        raise DeviceError(f"expected a figure in one of {HOURLY}, {TO_BUY} and {PRICE}")
    usd, currency, amount = _dollars(row, given[0])
    return PriceLine(
        device=device,
        usd=usd,
        hourly=given[0] == HOURLY,
        provider=row["provider"],
        date=_past(row["date"], today),
        note=row.get("note") or "",
        condition=_condition(row.get("condition") or ""),
        currency=currency,
        amount=amount,
    )


def _dollars(row: Mapping[str, str], column: str) -> tuple[float, str, float | None]:
    """In dollars; and, where it was asked in another currency, that and how much of it."""
    currency = (row.get("currency") or DOLLARS).upper()
    if not CURRENCY.fullmatch(currency):
        raise DeviceError(f"{row.get('currency')!r:.60} is not a currency: expected three letters such as EUR")
    amount = _amount(_bare(row[column], currency), small=column == HOURLY)
    if currency == DOLLARS:
        return amount, DOLLARS, None
    if column != PRICE:
        raise DeviceError(f"{column} is in dollars: put a price in {currency} into the column {PRICE}")
    if not row.get("rate"):
        raise DeviceError(f"a price in {currency} needs a rate: the dollars that one {currency} cost that day")
    try:
        rate = _amount(row["rate"], small=True)
    except DeviceError:
        raise DeviceError(f"{row['rate']!r:.60} is not a rate: expected a positive number such as 1.09") from None
    return round(amount * rate, 2), currency, amount


def _bare(text: str, currency: str) -> str:
    """Without the sign or letters of the currency, before it or behind: "€ 1.640" or "1.640,00 EUR"."""
    for sign, meant in (*SIGNS.items(), (currency, currency)):
        bare = text.removeprefix(sign).removesuffix(sign).strip()
        if bare != text and meant != currency:
            raise DeviceError(f"{text!r:.60} is in {meant}: put it into {PRICE}, with the currency {meant} and a rate")
        text = bare
    return text


def _condition(text: str) -> Condition:
    try:
        return Condition(text.lower()) if text else Condition.NEW
    except ValueError:
        raise DeviceError(f"{text!r:.60} is not a condition: expected new or used") from None


def _past(text: str, today: date) -> str:
    """A day that has been: a price of the future would never become old. Clocks and time zones may differ by a day."""
    day = _day(text)
    if (known := day_of(day)) is not None and known > today + timedelta(days=1):
        raise DeviceError(f"{text!r:.60} is in the future: give the day of the quote")
    return day


def _day(text: str) -> str:
    """A date; spreadsheets also write days since the end of 1899, and times after the date."""
    day = re.split("[T ]", text, maxsplit=1)[0]
    if re.fullmatch(r"\d{5}(\.\d*)?", day, re.ASCII):
        return (SPREADSHEET_DAY_0 + timedelta(days=int(day[:5]))).isoformat()
    if (dotted := re.fullmatch(r"(\d\d?)\.(\d\d?)\.(\d{4})", day, re.ASCII)) is not None:
        day = f"{dotted[3]}-{dotted[2]:0>2}-{dotted[1]:0>2}"
    if not re.fullmatch(DATE, day, re.ASCII) or day_of(day) is None:
        raise DeviceError(f"{text!r:.60} is not a date: expected one such as 2026-11-02")
    return day


def _amount(text: str, *, small: bool = False) -> float:
    """Of money, as people write it: 1299, $1,299.00, 1.299,00 or 1 299,00.

    Args:
        small: Of an hour, or a rate: a comma is never that of thousands.
    """
    figure = "".join(text.split()).replace("'", "")
    if not small and re.fullmatch(r"\d{1,2}\.\d{3}", figure, re.ASCII):
        raise DeviceError(f"{text!r:.60} can mean {figure} or {figure.replace('.', '')}: write it without separators")
    point = figure.rfind(".") if figure.rfind(".") > figure.rfind(",") else figure.rfind(",")
    thousands = not small and re.fullmatch(r"\d{1,3}(,\d{3})+", figure, re.ASCII)
    if "," in figure and figure.replace(",", "").replace(".", "").isdecimal():
        whole = figure if thousands else figure[:point]
        if figure.endswith(",") or not re.fullmatch(r"\d+|\d{1,3}([.,])\d{3}(\1\d{3})*", whole, re.ASCII):
            raise DeviceError(f"{text!r:.60} is not a price: expected a positive number such as 1299.00")
        figure = re.sub("[.,]", "", whole) + ("" if thousands else "." + figure[point + 1 :])
    try:
        usd = float(figure)
    except ValueError:
        usd = 0.0
    if not 0 < usd < LARGEST_USD:
        raise DeviceError(f"{text!r:.60} is not a price: expected a positive number such as 1299.00")
    return usd
