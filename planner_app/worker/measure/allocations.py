"""Every allocation of a process as TensorFlow's profiler tells it, and what it comes to.

with watched() as allocations:          # from here on every allocation is noted
    for _ in range(4):
        with step_mark():
            run_a_step()
figures(allocations)
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from planner_app.core.measure.measurement import Growth
from planner_app.core.replay.timeline import Moment, Origin, Timeline
from planner_app.jobs.protocol import FIRST_REGION
from planner_app.worker.graph.attribution import Attribution
from planner_app.worker.measure.devices import held_back_bytes

STEP = "measured_step"  # the mark set around every step
TAKEN, GIVEN_BACK = "MemoryAllocation", "MemoryDeallocation"
MOST_GROWTHS = 10


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory taken or given back.

    Attributes:
        step: 0 before the first step.
        picoseconds: When, by the profiler's clock.
        requested_bytes: What the kernel asked for; the allocator hands out `chunk_bytes`.
        in_use_bytes: All that is handed out afterwards.
        limit_bytes: All that the allocator may hand out.
        scratch: Asked for by a kernel for its own work, not for an output.
    """

    step: int
    picoseconds: int
    allocator: str
    taken: bool
    address: int
    requested_bytes: int
    chunk_bytes: int
    in_use_bytes: int
    limit_bytes: int
    operation: str
    shape: str
    scratch: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """What the steady steps come to: from the second on, since the first also pays for rewriting the graph.

    Attributes:
        live_bytes: Most bytes requested at one moment, scratch not counted, variables and inputs counted.
        live_operation: Who asked for the last of them.
        temp_bytes: Scratch at the moment when most was handed out.
        state_bytes: Requested bytes that stay between steps.
    """

    live_bytes: int
    live_operation: str
    temp_bytes: int
    state_bytes: int


@contextmanager
def watched() -> Iterator[list[Allocation]]:
    """The list is filled at the end, also when memory ran out. The profiler writes a file: without room on the disk
    the list stays empty, and nothing else is lost."""
    found: list[Allocation] = []
    options = tf.profiler.experimental.ProfilerOptions(device_tracer_level=0)  # kernels' own times are not looked at
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tf.profiler.experimental.start(folder, options)
        try:
            yield found
        finally:
            with suppress(tf.errors.OpError, OSError, DecodeError):
                tf.profiler.experimental.stop()
                found += read(Path(folder))


def step_mark() -> Any:
    return tf.profiler.experimental.Trace(STEP)


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
    return Figures(live_peak, who, temp_at_peak, state)


def timeline(allocations: Sequence[Allocation], step: int, device: str, about: Attribution) -> Timeline | None:
    """One step of the allocator that handed out most in it."""
    busiest = Counter[str]()
    for event in allocations:
        if event.step == step:
            busiest[event.allocator] = max(busiest[event.allocator], event.in_use_bytes)
    if not busiest:
        return None
    allocator = max(busiest, key=lambda name: busiest[name])
    events = [event for event in allocations if event.step == step and event.allocator == allocator]
    origins: dict[Origin, int] = {Origin("before the step"): 0}
    makers: dict[int, Allocation] = {}
    moments = []
    for event in events:
        if event.taken:
            makers[event.address] = event
        maker = makers.get(event.address) if event.taken else makers.pop(event.address, None)
        sign = 1 if event.taken else -1
        moments.append(
            Moment(
                microseconds=(event.picoseconds - events[0].picoseconds) // 1_000_000,
                origin=0 if maker is None else origins.setdefault(_origin(maker, about), len(origins)),
                requested_bytes=sign * (maker or event).requested_bytes,
                chunk_bytes=sign * (maker or event).chunk_bytes,
                in_use_bytes=event.in_use_bytes,
                scratch=maker is not None and maker.scratch,
            )
        )
    start = events[0].in_use_bytes - moments[0].chunk_bytes
    return Timeline(device, start, tuple(origins), tuple(moments))


def kept_bytes(allocations: Sequence[Allocation]) -> int | None:
    """Requested and not given back in every steady step at least; None where there are fewer than two."""
    net: dict[int, int] = defaultdict(int)
    for event in allocations:
        net[event.step] += event.requested_bytes if event.taken else -event.requested_bytes
    steady = [net[step] for step in range(2, max(net, default=0) + 1)]
    return min(steady) if len(steady) > 1 else None


def grown(allocations: Sequence[Allocation], about: Attribution) -> tuple[Growth, ...]:
    """What was taken in a step and not given back by the end of the next ones, most bytes first.

    What the last step left may be a variable's new value, which the next step would have replaced: it does not count.
    """
    held: dict[int, Allocation] = {}
    for event in allocations:
        if event.taken:
            held[event.address] = event
        else:
            held.pop(event.address, None)
    last = max((event.step for event in allocations), default=0)
    left = [event for event in held.values() if 1 <= event.step < last]
    total: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for event in left:
        entry = total[event.operation, about.layer(event.operation), event.shape]
        entry[0] += 1
        entry[1] += event.chunk_bytes
    # What every step leaves; less is a variable's new value that a later step will replace.
    growths = [Growth(*key, count, size) for key, (count, size) in total.items() if count >= last - 1]
    return tuple(sorted(growths, key=lambda growth: -growth.total_bytes)[:MOST_GROWTHS])


def read(folder: Path) -> list[Allocation]:
    """The allocations of a profile in their order."""
    space = xplane_pb2.XSpace()
    for file in folder.glob("**/*.xplane.pb"):
        space.MergeFromString(file.read_bytes())
    events = sorted(_events(space), key=lambda event: event[0])  # by time alone: it is told in picoseconds
    allocations, step, held = [], 0, held_back_bytes()
    small = FIRST_REGION - held if held else 0  # the rest of that region, which is not part of the limit
    for when, kind, told in events:
        if kind == STEP:
            step += 1
            continue
        in_use = told["bytes_allocated"] - held
        allocations.append(
            Allocation(
                step=step,
                picoseconds=when,
                allocator=told.get("allocator_name", ""),
                taken=kind == TAKEN,
                address=told["addr"],
                requested_bytes=told["requested_bytes"],
                chunk_bytes=told["allocation_bytes"],
                in_use_bytes=in_use,
                limit_bytes=in_use + told.get("bytes_available", 0) + told.get("bytes_reserved", 0) - small,
                operation=told.get("tf_op", ""),
                shape=told.get("shape", ""),
                scratch=told.get("region_type") == "temp",
            )
        )
    return allocations


def _origin(event: Allocation, about: Attribution) -> Origin:
    return Origin(event.operation, about.layer(event.operation), str(about.phase(event.operation)))


def _events(space: Any) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for plane in space.planes:
        names = {number: stat.name for number, stat in plane.stat_metadata.items()}
        kinds = {number: event.name.partition("#")[0] for number, event in plane.event_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                kind = kinds[event.metadata_id]
                if kind in (STEP, TAKEN, GIVEN_BACK):
                    told = {names[stat.metadata_id]: _value(stat, names) for stat in event.stats}
                    yield line.timestamp_ns * 1000 + event.offset_ps, kind, told


def _value(stat: Any, names: dict[int, str]) -> Any:
    which = stat.WhichOneof("value")
    return names[stat.ref_value] if which == "ref_value" else getattr(stat, which)
