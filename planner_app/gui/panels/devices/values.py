"""The devices panel as plain values: devices of this machine, found by the search, and others on the chart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from planner_app.core.hardware.catalogue import Catalogue
from planner_app.core.hardware.device import Device, Segment
from planner_app.core.hardware.machine import Gpu, Machine, device_of
from planner_app.core.hardware.refusal import short_name
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.errors import DeviceError
from planner_app.gui.state.choice import Choice
from planner_app.units import format_bytes

GROUPS = {
    Segment.DATACENTER: "Data centre",
    Segment.WORKSTATION: "Workstation",
    Segment.CONSUMER: "Consumer",
    Segment.LAPTOP: "Laptop",
    Segment.EDGE: "Edge",
    Segment.CUSTOM: "Your own",
}
ALSO, HERE, DRAWN = "Also on the chart", "This machine", "On the chart"
GIB = 1 << 30
LOOKING = "Asking the driver …"
NOTHING_FOUND = "No device has all these words in its name, architecture or segment: try fewer, or add a size below."


class Kind(StrEnum):
    HEADING = "heading"
    NOTE = "note"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the list.

    Attributes:
        group: Its heading; a device may be under several.
        device: What to draw and choose; None if it can't be estimated for.
        size: What TensorFlow's allocator gets of it.
        live: The memory in use now, in words; `used` is the same as a share.
        trouble: What is wrong with it; empty if nothing is.
    """

    kind: Kind
    group: str
    name: str
    device: Device | None = None
    size: str = ""
    drawn: bool = False
    chosen: bool = False
    live: str = ""
    used: float | None = None
    trouble: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.group, "" if self.kind is Kind.NOTE else self.name

    @property
    def spoken(self) -> str:
        """Text for screen readers."""
        states = ("chosen" if self.chosen else "", "drawn on the chart" if self.drawn else "", self.trouble)
        return ", ".join(filter(None, (self.name, self.size and f"{self.size} usable", self.live, *states)))


def rows(
    choice: Choice,
    machine: Machine | None,
    catalogue: Catalogue,
    search: str = "",
    only: Sequence[Device] | None = None,
) -> tuple[Row, ...]:
    """Every device has its place, on the chart or not. Slices appear only in a search; the newest comes first.

    Args:
        only: The devices to show, if not all of them.
    """
    if only is not None:
        return Row(Kind.HEADING, DRAWN, DRAWN), *(_row(DRAWN, device, choice) for device in only)
    listed = (
        Row(Kind.HEADING, HERE, HERE),
        *_of_machine(choice, machine, catalogue),
        *_of_catalogue(choice, catalogue, search),
    )
    seen = {row.device for row in listed}
    own = [device for device in choice.devices if device not in seen]  # by their size, or left out by the search
    heading = [Row(Kind.HEADING, ALSO, ALSO)] if own else []
    return *heading, *(_row(ALSO, device, choice) for device in own), *listed


def _of_machine(choice: Choice, machine: Machine | None, catalogue: Catalogue) -> Iterator[Row]:
    if machine is None or machine.sentence:
        yield Row(Kind.NOTE, HERE, machine.sentence if machine else LOOKING)
        return
    for gpu in machine.gpus:
        if not gpu.slices:
            yield from _of_gpu(f"GPU {gpu.index}", gpu, choice, catalogue)
        for each in gpu.slices:
            yield from _of_gpu(f"GPU {gpu.index}, slice {each.index}", each, choice, catalogue)


def _of_gpu(where: str, gpu: Gpu, choice: Choice, catalogue: Catalogue) -> Iterator[Row]:
    name = f"{where}: {(gpu.name or 'unnamed').removeprefix('NVIDIA ')}"
    device = machine_device(gpu, catalogue) if gpu.usable and gpu.total_bytes else None
    if device is None:
        trouble = gpu.sentence or f"The driver does not report the memory of {where}."
        yield Row(Kind.DEVICE, HERE, name, trouble=trouble)
        yield Row(Kind.NOTE, HERE, trouble)
        return
    used, total = gpu.used_bytes, gpu.total_bytes or 1
    yield _row(
        HERE,
        device,
        choice,
        name=name,
        live="" if used is None else f"{used / GIB:.1f} of {total / GIB:.1f} GiB used",
        used=None if used is None else min(used / total, 1.0),
    )


def machine_device(gpu: Gpu, catalogue: Catalogue) -> Device:
    """The driver's figures, completed from the catalogue if it has a card of this exact name."""
    try:
        return device_of(gpu, catalogue.find(gpu.name or ""))
    except DeviceError:
        return device_of(gpu)


def _of_catalogue(choice: Choice, catalogue: Catalogue, search: str) -> Iterator[Row]:
    wanted = search.strip()
    found = [device for device in catalogue.search(wanted) if wanted or device.slice_of is None]
    if not found:
        yield Row(Kind.HEADING, "Catalogue", "Catalogue")
        yield Row(Kind.NOTE, "Catalogue", NOTHING_FOUND)
    for segment, title in GROUPS.items():
        under = [device for device in found if device.segment is segment]
        under.sort(key=lambda device: device.released or "", reverse=True)
        if under:
            yield Row(Kind.HEADING, title, title)
        for device in under:
            if device.total_bytes is None:
                yield Row(Kind.DEVICE, title, short_name(device), trouble="its reported memory is unknown")
            else:
                yield _row(title, device, choice)


def _row(group: str, device: Device, choice: Choice, name: str = "", live: str = "", used: float | None = None) -> Row:
    return Row(
        Kind.DEVICE,
        group,
        name or name_of(device),
        device,
        _size(device),
        device in choice.devices,
        device == choice.device,
        live,
        used,
    )


def name_of(device: Device) -> str:
    if device.cuda:
        return short_name(device)
    return "CPU" if device.total_bytes is None else f"CPU with {format_bytes(device.total_bytes)}"


@lru_cache(maxsize=512)
def _size(device: Device) -> str:
    limit = allocator_limit_bytes(device)
    return "no limit" if limit is None else f"{'~' if device.total_is_derived else ''}{format_bytes(limit)}"
