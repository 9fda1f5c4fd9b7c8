"""Prices from a spreadsheet into the user's own list of devices:

    device,usd_per_hour,usd,provider,date,note
    NVIDIA L4,0.71,,our reseller's cloud,2026-11-02,
    RTX 4090,,1850,shop round the corner,2026-11-02,with VAT

A line has a price an hour, of one GPU, or a price to buy one; the other columns but `device`, `provider` and `date` may
be left out. Nothing is taken over unless every line is right.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import msgspec

from planner_app.core.hardware.catalogue import Catalogue
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.prices import day_of
from planner_app.errors import DeviceError
from planner_app.files.devices.catalogue import MAX_FILE_BYTES, read_entries
from planner_app.files.devices.entries import DATE, VERSION, CatalogueFile, CloudPrice, Entry, LaunchPrice
from planner_app.files.reading import read_at_most
from planner_app.files.writing import alone, reason, write_atomically
from planner_app.foreign_text import is_plain

HOURLY, TO_BUY = "usd_per_hour", "usd"
NEEDED = ("device", "provider", "date")
COLUMNS = (*NEEDED, HOURLY, TO_BUY, "note")
MOST_TOLD = 5  # slips in one message
MOST_SLIPS = 100  # then it is another kind of file, and looking for names like those in it would take minutes
LARGEST_USD = 1e9
QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class PriceLine:
    """One line that was read: `usd` an hour, or to buy."""

    device: Device
    usd: float
    hourly: bool
    provider: str
    date: str
    note: str = ""


def read_prices(path: Path, catalogue: Catalogue) -> tuple[PriceLine, ...]:
    rows = _rows(path)
    lines: list[PriceLine] = []
    slips: list[str] = []
    for number, row in rows:
        try:
            lines.append(_line(row, catalogue))
        except DeviceError as error:
            slips.append(f"line {number}: {str(error).rstrip('.')}")
            if len(slips) == MOST_SLIPS:
                break
    if slips:
        more = f"; and {len(slips) - MOST_TOLD} more" if len(slips) > MOST_TOLD else ""
        raise DeviceError(f"No price of {path} was taken over: {'; '.join(slips[:MOST_TOLD])}{more}.")
    if not lines:
        raise DeviceError(f"{path} has no prices: expected a line of names ({', '.join(COLUMNS)}) and lines below it.")
    return tuple(lines)


def keep_prices(lines: Sequence[PriceLine], users: Path) -> None:
    """Into the user's list: a provider's price replaces that provider's older one, all else stays."""
    try:
        with alone(users.parent):
            write_atomically(users, _with_prices(lines, users), private=True)
    except OSError as error:
        raise DeviceError(f"The prices can't be kept in {users}: {reason(error)}.") from error


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
    changed = False
    for line in lines:
        if line.hourly:
            for key in [key for key in cloud if key[0].casefold() == line.provider.casefold()]:
                del cloud[key]
            cloud[line.provider, ""] = CloudPrice(line.usd, line.provider, line.date, note=line.note)
            changed = True
        else:
            source = f"{line.provider}, {line.note}" if line.note else line.provider
            entry = msgspec.structs.replace(entry, launch_price=LaunchPrice(line.usd, source, line.date, QUOTE))
    return msgspec.structs.replace(entry, cloud_prices=tuple(cloud.values())) if changed else entry


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Lines by name of column, with their numbers; empty ones left out."""
    try:
        data = read_at_most(path, MAX_FILE_BYTES)
    except OSError as error:
        raise DeviceError(f"The prices in {path} can't be read: {error.strerror or error}.") from error
    if len(data) > MAX_FILE_BYTES:
        raise DeviceError(f"{path} has more than {MAX_FILE_BYTES >> 20} MiB: that is not a list of prices.")
    try:
        text = data.decode("utf-8-sig")
        first = text.partition("\n")[0]
        reader = csv.reader(StringIO(text), delimiter=";" if first.count(";") > first.count(",") else ",")
        numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DeviceError(f"{path} is not a table of comma-separated values: {error}.") from error
    table = [(number, row) for number, row in numbered if any(row)]
    names = [name.lower() for name in table[0][1]] if table else []
    unknown, lacking = [name for name in names if name not in COLUMNS], [name for name in NEEDED if name not in names]
    if unknown or lacking or not {HOURLY, TO_BUY} & set(names):
        raise DeviceError(
            f"The first line of {path} must name columns out of {', '.join(COLUMNS)}, with {', '.join(NEEDED)} and at "
            f"least one of {HOURLY} and {TO_BUY}; it has {', '.join(map(repr, names))[:200] or 'none'}."
        )
    return [(number, dict(zip(names, row, strict=False))) for number, row in table[1:]]


def _line(row: Mapping[str, str], catalogue: Catalogue) -> PriceLine:
    for name in NEEDED:
        if not row.get(name):
            raise DeviceError(f"{name} is empty")
    for name in ("provider", "note"):
        if not is_plain(row.get(name) or ""):
            raise DeviceError(f"{name} holds characters that can't be printed")
    device = catalogue.find(row["device"])
    if not device.whole:
        raise DeviceError(f"{device.name} is a way to run a card: give the price of the card itself")
    given = [name for name in (HOURLY, TO_BUY) if row.get(name)]
    if len(given) != 1:
        raise DeviceError(f"expected a figure in one of {HOURLY} and {TO_BUY}")
    if not re.fullmatch(DATE, row["date"], re.ASCII) or day_of(row["date"]) is None:
        raise DeviceError(f"{row['date']!r:.60} is not a date: expected one such as 2026-11-02")
    return PriceLine(
        device, _usd(row[given[0]]), given[0] == HOURLY, row["provider"], row["date"], row.get("note") or ""
    )


def _usd(text: str) -> float:
    try:
        usd = float(text.removeprefix("$"))
    except ValueError:
        usd = 0.0
    if not 0 < usd < LARGEST_USD:
        raise DeviceError(f"{text!r:.60} is not a price in dollars: expected a positive number such as 1299.00")
    return usd
