"""Devices as the XLA compiler is told of them: from OpenXLA's published list, else worked out from the catalogue."""

from functools import cache
from pathlib import Path

import msgspec

from planner_app.core.device import Device
from planner_app.core.target import Target, derived_target

PUBLISHED_FILE = Path(__file__).parent.parent / "data" / "targets.json"


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    device: str
    name: str
    compute_capability: tuple[int, int]
    core_count: int
    fpus_per_core: int
    shared_memory_per_core: int
    shared_memory_per_block_optin: int
    threads_per_core_limit: int
    memory_bandwidth: int
    l2_cache_size: int
    clock_rate_ghz: float
    device_memory_size: int


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    targets: tuple[_Entry, ...]
    about: tuple[str, ...] = ()


def target_of(device: Device) -> Target:
    """Raises a `DeviceError` where there is nothing to compile for: the CPU, a card of unknown capability."""
    return published_targets().get(device.name) or derived_target(device)


@cache
def published_targets() -> dict[str, Target]:
    """By the device's name in the catalogue."""
    read = msgspec.json.decode(PUBLISHED_FILE.read_bytes(), type=_File)
    return {entry.device: _target(entry) for entry in read.targets}


def _target(entry: _Entry) -> Target:
    figures = msgspec.structs.asdict(entry)
    del figures["device"]
    return Target(**figures, published=True)
