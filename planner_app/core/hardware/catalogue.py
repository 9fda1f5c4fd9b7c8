"""Finds devices by whole words of their names: "L40S" does not match "L4".

A name is a set of words, in any order and case; hyphens count as spaces, and "NVIDIA", "GeForce" and "Tesla" may be
left out: "Tesla T4" and "t4", "NVIDIA A100-SXM4-80GB" and "a100 80gb sxm4". An ambiguous name is an error.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from planner_app.core.hardware.device import Device
from planner_app.errors import DeviceError

Key = tuple[str, ...]
NEAREST = 4  # names listed in an error
SHOWN_LENGTH = 60  # of an unknown name
_BREAKS = re.compile(r"[\s\-_()/,]+")
_SIZE = re.compile(r"\b(\d+)\s+(g[bi]b?)\b")
_WHERE = "`plimsoll devices --search TEXT` lists them"


def words(name: str) -> frozenset[str]:
    spaced = _BREAKS.sub(" ", name.lower()).strip()
    return frozenset(_SIZE.sub(r"\1\2", spaced).split()) - {"nvidia"}


def _spellings(name: str) -> Iterator[Key]:
    """The name's words, with and without those that people leave out."""
    full = words(name)
    yield _key(full)
    if shorter := full - {"geforce", "tesla"}:
        yield _key(shorter)
    if "geforce" in full and (number := full - {"geforce", "rtx", "gtx"}):
        yield _key(number)


def _key(some: Iterable[str]) -> Key:
    return tuple(sorted(some))


@dataclass(frozen=True)
class Catalogue:
    """All known devices, in the order of the list."""

    devices: tuple[Device, ...]

    @cached_property
    def _full(self) -> dict[Key, list[Device]]:
        return _indexed((_key(words(device.name)), device) for device in self.devices)

    @cached_property
    def _any(self) -> dict[Key, list[Device]]:
        return _indexed(
            (key, device)
            for device in self.devices
            for key in {key for name in _all_names(device) for key in _spellings(name)}
        )

    def find(self, name: str) -> Device:
        """The one device of this name."""
        key = _key(words(name))
        found = self._full.get(key) or self._any.get(key) or []
        if len(found) == 1:
            return found[0]
        raise DeviceError(self._why_not(name, found or self._longer(words(name))))

    def search(self, text: str) -> tuple[Device, ...]:
        """Devices in whose name, architecture or segment every word of the text occurs."""
        wanted = text.lower().split()
        return tuple(device for device in self.devices if all(word in _description(device) for word in wanted))

    def _longer(self, wanted: frozenset[str]) -> list[Device]:
        """Devices whose names contain all wanted words and more. Slices only if no whole card matches."""
        if not wanted:
            return []
        found = [device for device in self.devices if any(wanted <= words(name) for name in _all_names(device))]
        return [device for device in found if device.slice_of is None] or found

    def _why_not(self, name: str, candidates: list[Device]) -> str:
        shown = repr(name if len(name) <= SHOWN_LENGTH else f"{name[:SHOWN_LENGTH]}...")
        if candidates:
            return f"{shown} is ambiguous: write {_listed(candidates)} ({_WHERE})."
        by_name = {device.name.lower(): device for device in self.devices}
        close = get_close_matches(f"nvidia {name.lower().removeprefix('nvidia ')}"[:100], by_name, NEAREST, 0.5)
        nearest = f"similar names are {_listed([by_name[found] for found in close])}; " if close else ""
        return f"No device is called {shown}: {nearest}{_WHERE}, and --device also takes a size such as 24GiB."


def _indexed(pairs: Iterable[tuple[Key, Device]]) -> dict[Key, list[Device]]:
    index: dict[Key, list[Device]] = {}
    for key, device in pairs:
        index.setdefault(key, []).append(device)
    return index


def _all_names(device: Device) -> tuple[str, ...]:
    return (device.name, *device.aliases)


def _description(device: Device) -> str:
    return " ".join((*_all_names(device), device.architecture or "", device.segment)).lower()


def _listed(devices: list[Device]) -> str:
    names = [f'"{device.name}"' for device in devices[:NEAREST]]
    more = f" or {len(devices) - NEAREST} more" if len(devices) > NEAREST else ""
    return (", ".join(names) if more else " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))) + more
