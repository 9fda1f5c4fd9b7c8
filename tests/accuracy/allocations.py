"""Every allocation of a process as TensorFlow's profiler tells it, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorflow.tsl.profiler.protobuf import xplane_pb2

STEP = "measured_step"  # the mark set around every step
TAKEN, GIVEN_BACK = "MemoryAllocation", "MemoryDeallocation"


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory taken or given back.

    Attributes:
        step: 0 before the first step.
        requested_bytes: What the kernel asked for; the allocator hands out `chunk_bytes`.
        scratch: Asked for by a kernel for its own work, not for an output.
    """

    step: int
    taken: bool
    address: int
    requested_bytes: int
    chunk_bytes: int
    operation: str
    shape: str
    scratch: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """What the steady steps come to: from the second on, since the first also pays for rewriting the graph.

    Attributes:
        live_bytes: Most bytes requested at one moment, scratch not counted, variables and inputs counted.
        live_operation: Who asked for the last of them.
        chunk_bytes: Most bytes handed out at one moment, scratch counted.
        temp_bytes: Scratch at that moment.
        state_bytes: Requested bytes that stay between steps.
    """

    live_bytes: int
    live_operation: str
    chunk_bytes: int
    temp_bytes: int
    state_bytes: int


def figures(allocations: Sequence[Allocation]) -> Figures:
    held: dict[int, Allocation] = {}
    live = chunks = temp = state = 0
    live_peak, chunk_peak, temp_at_peak, who = 0, 0, 0, ""
    for event in allocations:
        if event.taken:
            held[event.address] = event
        elif event.address not in held:
            continue  # taken before the profiler looked
        one, sign = (event, 1) if event.taken else (held.pop(event.address), -1)
        chunks += sign * one.chunk_bytes
        if one.scratch:
            temp += sign * one.requested_bytes
        else:
            live += sign * one.requested_bytes
        if event.step < 2:
            state = live
            continue
        if live > live_peak:
            live_peak, who = live, event.operation
        if chunks > chunk_peak:
            chunk_peak, temp_at_peak = chunks, temp
    return Figures(live_peak, who, chunk_peak, temp_at_peak, state)


def read(folder: Path) -> list[Allocation]:
    """The allocations of a profile in their order."""
    space = xplane_pb2.XSpace()
    space.ParseFromString(next(folder.glob("**/*.xplane.pb")).read_bytes())
    events = sorted(_events(space), key=lambda event: event[0])  # by time alone: it is told in picoseconds
    allocations, step = [], 0
    for _, kind, told in events:
        if kind == STEP:
            step += 1
            continue
        allocations.append(
            Allocation(
                step=step,
                taken=kind == TAKEN,
                address=told["addr"],
                requested_bytes=told["requested_bytes"],
                chunk_bytes=told["allocation_bytes"],
                operation=told.get("tf_op", ""),
                shape=told.get("shape", ""),
                scratch=told.get("region_type") == "temp",
            )
        )
    return allocations


def _events(space: Any) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for plane in space.planes:
        names = {number: stat.name for number, stat in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                kind = plane.event_metadata[event.metadata_id].name.partition("#")[0]
                if kind in (STEP, TAKEN, GIVEN_BACK):
                    told = {names[stat.metadata_id]: _value(stat, names) for stat in event.stats}
                    yield line.timestamp_ns * 1000 + event.offset_ps, kind, told


def _value(stat: Any, names: dict[int, str]) -> Any:
    which = stat.WhichOneof("value")
    return names[stat.ref_value] if which == "ref_value" else getattr(stat, which)
