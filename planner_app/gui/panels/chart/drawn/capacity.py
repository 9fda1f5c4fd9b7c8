"""The capacities of devices on the chart, grouped where their lines lie too close to be named apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from planner_app.core.hardware.device import Device
from planner_app.core.hardware.refusal import short_name
from planner_app.core.hardware.runtime import allocator_limit_bytes, context_bytes, free_bytes, min_system_memory_bytes
from planner_app.units import format_bytes

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Capacity:
    """A device's capacity line. `sold_gib` is its marketed size in GiB, drawn faintly above it."""

    name: str
    limit_gib: float
    sold_gib: float | None
    chosen: bool
    why: str


@dataclass(frozen=True, slots=True)
class Group:
    """Capacities that share a label, the highest first; the chosen one is named first."""

    members: tuple[Capacity, ...]

    @property
    def top_gib(self) -> float:
        return self.members[0].limit_gib

    @property
    def chosen(self) -> Capacity | None:
        return next((each for each in self.members if each.chosen), None)

    @property
    def why(self) -> str:
        return "\n\n".join(each.why for each in self.members)

    def names(self, most: int) -> tuple[str, ...]:
        """A name and size for each but the chosen; devices of one size share it, and what is too much is counted."""
        by_size: dict[str, list[str]] = {}
        for each in self.members:
            if not each.chosen:
                by_size.setdefault(f"{each.limit_gib:.1f} GiB", []).append(each.name)
        texts: list[str] = []
        for size, names in by_size.items():
            text = f"{', '.join(names)}: {size}"
            if len("  ".join([*texts, text])) > most and (texts or self.chosen):
                left = sum(map(len, by_size.values())) - sum(len(by_size[each]) for each in list(by_size)[: len(texts)])
                return (*texts, f"+{left} more")
            texts.append(text)
        return tuple(texts)


def groups(capacities: Sequence[Capacity], near_gib: float) -> tuple[Group, ...]:
    """From the highest down; a group reaches `near_gib` below its first line."""
    found: list[list[Capacity]] = []
    for each in sorted(capacities, key=lambda capacity: -capacity.limit_gib):
        if found and found[-1][0].limit_gib - each.limit_gib < near_gib:
            found[-1].append(each)
        else:
            found.append([each])
    return tuple(Group(tuple(members)) for members in found)


@lru_cache(maxsize=256)
def capacity_of(device: Device, chosen: bool) -> Capacity:
    limit = allocator_limit_bytes(device) or 0
    sold = None if device.marketed_gb is None else device.marketed_gb * 1e9 / GIB
    if sold is not None and device.total_bytes and sold < device.total_bytes / GIB:
        sold = device.marketed_gb  # its makers mean GiB
    name = short_name(device) if device.cuda else "CPU"
    return Capacity(name, limit / GIB, sold, chosen, why_less(device))


def why_less(device: Device) -> str:
    """Why less than the card's memory is usable."""
    limit = allocator_limit_bytes(device)
    if limit is None or device.total_bytes is None:
        return "Nothing limits TensorFlow's allocator here."
    if not device.cuda:
        return f"A limit of {format_bytes(limit)} on TensorFlow's allocator."
    sold = "" if device.marketed_gb is None else f"sold as {device.marketed_gb:g} GB; "
    derived = " (derived, not confirmed)" if device.total_is_derived else ""
    reserve = min_system_memory_bytes(free_bytes(device).expected_bytes, device.compute_capability)
    return (
        f"{device.name}: {sold}its driver reports {format_bytes(device.total_bytes)}{derived}. "
        f"The driver and a CUDA context take about {format_bytes(context_bytes(device).expected_bytes)}, "
        f"TensorFlow leaves {format_bytes(reserve)} for CUDA's libraries: "
        f"{format_bytes(limit)} remain for its allocator."
    )
