"""Imports prices from a spreadsheet into the user's own device list:

    device,usd_per_hour,usd,provider,date,note
    NVIDIA L4,0.71,,our reseller's cloud,2026-11-02,
    RTX 4090,,1850,local computer shop,2026-11-02,with VAT

Each line has a price per hour of one GPU, or the price to buy one. `device`, `provider` and `date` are required, the
other columns optional. Nothing is imported unless every line is valid.
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
MOST_SHOWN = 5  # errors in one message
MOST_ERRORS = 100  # then it is another kind of file, and searching for similar names would take minutes
LARGEST_USD = 1e9
QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class PriceLine:
    """One line of the file: `usd` is per hour, or the price to buy."""

    device: Device
    usd: float
    hourly: bool
    provider: str
    date: str
    note: str = ""


def read_prices(path: Path, catalogue: Catalogue) -> tuple[PriceLine, ...]:
    rows = _rows(path)
    lines: list[PriceLine] = []
    errors: list[str] = []
    for number, row in rows:
        try:
            lines.append(_line(row, catalogue))
        except DeviceError as error:
            errors.append(f"line {number}: {str(error).rstrip('.')}")
            if len(errors) == MOST_ERRORS:
                break
    if errors:
        more = f"; and {len(errors) - MOST_SHOWN} more" if len(errors) > MOST_SHOWN else ""
        raise DeviceError(f"No prices were imported from {path}: {'; '.join(errors[:MOST_SHOWN])}{more}.")
    if not lines:
        raise DeviceError(f"{path} has no prices: expected a header line ({', '.join(COLUMNS)}) followed by prices.")
    return tuple(lines)


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
    """Line numbers and values by column name, without empty lines."""
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
            f"The first line of {path} must be a header with {', '.join(NEEDED)}, at least one of {HOURLY} and "
            f"{TO_BUY}, "
            f"and no columns but {', '.join(COLUMNS)}; it has {', '.join(map(repr, names))[:200] or 'none'}."
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
        raise DeviceError(f"{device.name} is a variant of a card: give the price of the card itself")
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
