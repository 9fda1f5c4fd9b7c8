"""Devices as descriptions for the XLA compiler: from OpenXLA's published list, or derived from the catalogue."""

from dataclasses import replace
from functools import cache

import msgspec

from planner_app import data
from planner_app.core.compile.target import Target, derived_target
from planner_app.core.hardware.device import Device

PUBLISHED_FILE = data.FOLDER / "targets.json"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    targets: dict[str, Target]
    about: tuple[str, ...] = ()


def target_of(device: Device) -> Target:
    """Raises a `DeviceError` if there is nothing to compile for: the CPU, or a card of unknown capability."""
    return published_targets().get(device.name) or derived_target(device)


@cache
def published_targets() -> dict[str, Target]:
    """By the device's name in the catalogue."""
    read = msgspec.json.decode(PUBLISHED_FILE.read_bytes(), type=_File)
    return {name: replace(target, published=True) for name, target in read.targets.items()}
