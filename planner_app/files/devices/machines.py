"""Machines that GPUs go into: our templates, replaced by those of the user's file; and machines that clouds rent."""

from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from planner_app import data
from planner_app.core.buying.machines import Chassis, CloudMachine, Market
from planner_app.core.hardware.device import Price
from planner_app.errors import DeviceError
from planner_app.files.devices.entries import Amount, Count, Date, Name, Strict
from planner_app.files.home import config_folder
from planner_app.files.reading import read_at_most
from planner_app.foreign_text import unreadable

VERSION = 1
TEMPLATES, CLOUD = data.FOLDER / "machines.json", data.FOLDER / "instances.json"
MAX_FILE_BYTES = 1 << 20
GIB = 1 << 30
T = TypeVar("T", "MachineFile", "InstanceFile")


class MachineEntry(Strict, frozen=True):
    name: Name
    most_gpus: Count
    supply_watts: Count
    memory_gib: Count
    slots: int = 0
    host_watts: int = 0
    disk_gib: int = 0
    modules: bool = False
    usd: Amount | None = None
    source: str = ""
    date: Date | None = None


class MachineFile(Strict, frozen=True):
    schema_version: int
    machines: tuple[MachineEntry, ...]
    about: tuple[str, ...] = ()


class InstanceEntry(Strict, frozen=True):
    provider: Name
    name: Name
    device: Name
    gpus: Count
    vcpus: Count
    memory_gib: Count
    usd_per_hour: Amount
    region: str
    date: Date | None = None


class InstanceFile(Strict, frozen=True):
    schema_version: int
    instances: tuple[InstanceEntry, ...]
    source: str = ""


def user_file() -> Path:
    return config_folder() / "machines.json"


def user_cloud_file() -> Path:
    return config_folder() / "instances.json"


@cache
def market() -> Market:
    """Read once. The user's files take precedence."""
    return load_market(user_file(), user_cloud_file())


def load_market(machines: Path | None = None, instances: Path | None = None) -> Market:
    chassis: dict[str, Chassis] = {}
    for path in (TEMPLATES, machines):
        if path is not None and path.exists():
            chassis |= {entry.name.casefold(): _chassis(entry) for entry in _read(path, MachineFile).machines}
    cloud: dict[tuple[str, str, str], CloudMachine] = {}
    for path in (CLOUD, instances):
        if path is not None and path.exists():
            for entry in _read(path, InstanceFile).instances:
                cloud[entry.provider.casefold(), entry.name.casefold(), entry.region] = _rented(entry)
    return Market(tuple(chassis.values()), tuple(cloud.values()))


def as_file(known: Market) -> bytes:
    """The machines that cards go into, as a file to edit and to keep as one's own."""
    entries = tuple(_entry(each) for each in known.chassis)
    return msgspec.json.format(msgspec.json.encode(MachineFile(schema_version=VERSION, machines=entries)), indent=2)


def _entry(of: Chassis) -> MachineEntry:
    return MachineEntry(
        name=of.name,
        most_gpus=of.most_gpus,
        supply_watts=of.supply_watts,
        memory_gib=of.memory_bytes // GIB,
        slots=of.slots,
        host_watts=of.host_watts,
        disk_gib=of.disk_bytes // GIB,
        modules=of.modules,
        usd=None if of.price is None else of.price.usd,
        source="" if of.price is None else of.price.source,
        date=None if of.price is None else of.price.date,
    )


def _chassis(entry: MachineEntry) -> Chassis:
    price = None if entry.usd is None else Price(entry.usd, entry.source, entry.date)
    return Chassis(
        name=entry.name,
        slots=entry.slots,
        most_gpus=entry.most_gpus,
        supply_watts=entry.supply_watts,
        host_watts=entry.host_watts,
        memory_bytes=entry.memory_gib * GIB,
        disk_bytes=entry.disk_gib * GIB,
        modules=entry.modules,
        price=price,
    )


def _rented(entry: InstanceEntry) -> CloudMachine:
    return CloudMachine(
        provider=entry.provider,
        name=entry.name,
        device=entry.device,
        gpus=entry.gpus,
        vcpus=entry.vcpus,
        memory_bytes=entry.memory_gib * GIB,
        usd_per_hour=entry.usd_per_hour,
        region=entry.region,
        date=entry.date,
    )


def _read(path: Path, kind: type[T]) -> T:
    try:
        found = read_at_most(path, MAX_FILE_BYTES)
    except OSError as error:
        raise DeviceError(_unusable(path, error.strerror or "it can't be read")) from error
    if len(found) > MAX_FILE_BYTES:
        raise DeviceError(_unusable(path, f"it has more than {MAX_FILE_BYTES >> 20} MiB: not a list of machines"))
    try:
        read = msgspec.json.decode(found, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DeviceError(_unusable(path, f"{error}")) from error
    if read.schema_version != VERSION:
        raise DeviceError(
            _unusable(path, f"it has schema_version {read.schema_version}, this plimsoll reads {VERSION}")
        )
    if (text := unreadable(msgspec.to_builtins(read))) is not None:
        raise DeviceError(_unusable(path, f"{text[:60]!r} contains unprintable characters"))
    return read


def _unusable(path: Path, why: str) -> str:
    return f"The list of machines {path} can't be used: {why}. Fix or remove the file."
