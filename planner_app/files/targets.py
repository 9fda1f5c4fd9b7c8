"""Devices as the XLA compiler is told of them: from OpenXLA's published list, else worked out from the catalogue."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec

from planner_app.core.device import Device
from planner_app.core.target import Target, derived_target

PUBLISHED_FILE = Path(__file__).parent.parent / "data" / "targets.json"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    targets: dict[str, Target]
    about: tuple[str, ...] = ()


def target_of(device: Device) -> Target:
    """Raises a `DeviceError` where there is nothing to compile for: the CPU, a card of unknown capability."""
    return published_targets().get(device.name) or derived_target(device)


@cache
def published_targets() -> dict[str, Target]:
    """By the device's name in the catalogue."""
    read = msgspec.json.decode(PUBLISHED_FILE.read_bytes(), type=_File)
    return {name: replace(target, published=True) for name, target in read.targets.items()}
