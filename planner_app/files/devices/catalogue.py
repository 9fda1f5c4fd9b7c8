"""The device catalogue: the project's own list, extended or overridden by the user's file."""

import re
from functools import cache
from pathlib import Path

import msgspec

from planner_app import data
from planner_app.core.hardware.catalogue import Catalogue
from planner_app.core.hardware.device import Device, cpu_device, custom_device
from planner_app.errors import DeviceError
from planner_app.files.devices.building import build, variants
from planner_app.files.devices.entries import VERSION, CatalogueFile, Entry
from planner_app.files.home import config_folder
from planner_app.files.reading import read_at_most
from planner_app.foreign_text import unreadable
from planner_app.units import parse_bytes

OWN_FILE = data.FOLDER / "devices.json"
MAX_FILE_BYTES = 4 << 20  # fifty times our own list
_SIZE = re.compile(r"(\d+(?:\.\d+)?\s*[kmgtp]i?b)(?::(\d{1,2})\.(\d))?", re.IGNORECASE | re.ASCII)


def user_file() -> Path:
    return config_folder() / "devices.json"


@cache
def catalogue() -> Catalogue:
    """Read once. The user's file takes precedence."""
    return load_catalogue(user_file())


def load_catalogue(users: Path | None = None) -> Catalogue:
    lists = [(read_entries(OWN_FILE), "")]
    if users is not None and users.exists():
        lists.append((read_entries(users), str(users)))
    devices: dict[str, Device] = {}
    others: dict[str, dict[str, Device]] = {}  # variants by card, such as its MIG slices
    for entries, source in lists:
        for entry in entries:
            key = entry.name.casefold()
            devices[key] = build(entry, devices.get(key), source)
            others.setdefault(key, {}).update((made.name.casefold(), made) for made in variants(entry, devices[key]))
    return Catalogue(
        tuple(
            device
            for key, card in devices.items()
            for device in (card, *(made for name, made in others[key].items() if name not in devices))
        )
    )


def find_device(text: str) -> Device:
    """What `--device` takes: a name, `cpu`, `cpu:8GiB`, a size, or a size with a compute capability: `24GiB:8.9`."""
    given = text.strip()
    if given.lower() == "cpu":
        return cpu_device()
    if given.lower().startswith("cpu:"):
        return cpu_device(parse_bytes(given[4:]))
    if size := _SIZE.fullmatch(given):
        capability = (int(size[2]), int(size[3])) if size[2] else None
        return custom_device(given, parse_bytes(size[1]), capability)
    return catalogue().find(given)


def read_entries(path: Path) -> tuple[Entry, ...]:
    """The entries of one list, checked."""
    try:
        data = read_at_most(path, MAX_FILE_BYTES)
    except OSError as error:
        raise DeviceError(_unusable(path, error.strerror or "it can't be read")) from error
    if len(data) > MAX_FILE_BYTES:
        raise DeviceError(_unusable(path, f"it has more than {MAX_FILE_BYTES >> 20} MiB: not a list of devices"))
    try:
        read = msgspec.json.decode(data, type=CatalogueFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DeviceError(_unusable(path, _newer(data) or f"{error}")) from error
    if read.schema_version != VERSION:
        raise DeviceError(_unusable(path, _newer(data)))
    if (text := unreadable(msgspec.to_builtins(read))) is not None:
        raise DeviceError(_unusable(path, f"{text[:60]!r} contains unprintable characters"))
    seen: set[str] = set()
    for entry in read.devices:
        if (key := entry.name.casefold()) in seen:
            raise DeviceError(_unusable(path, f"it names {entry.name!r} twice"))
        seen.add(key)
    return read.devices


def schema() -> bytes:
    """The JSON Schema that the file is checked against."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(CatalogueFile)), indent=2)


class _Version(msgspec.Struct):
    schema_version: int


def _newer(data: bytes) -> str:
    """Why a file of another version can't be read; empty if the version is ours or missing."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return "" if version == VERSION else f"it has schema_version {version}, but this plimsoll reads {VERSION}"


def _unusable(path: Path, why: str) -> str:
    return f"The device list {path} can't be used: {why}. Fix or remove the file."
