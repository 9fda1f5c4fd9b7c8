"""What to compute before hardware can be ranked, in small pieces, so that other questions don't wait long."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from planner_app.core.estimate.curve import LARGEST_BATCH, anchors
from planner_app.core.estimate.need import FindCalibration, FindLine, Needs, not_compiled, uncalibrated
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Offers, ShopRequest
from planner_app.core.hardware.prices import NEW_TODAY, Accepted
from planner_app.core.hardware.runtime import allocator_limits
from planner_app.core.hardware.shop import shop
from planner_app.core.hardware.work import StepWork
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.replay.memory import Memory, Point

FIRST_BATCHES = 16  # computed first, before it is known how memory grows


@dataclass(frozen=True, slots=True)
class PointOf:
    """Memory at one batch, cached by `memory` itself."""

    memory: Memory
    batch: int

    def answer(self) -> Point:
        return self.memory.point(self.batch)


@dataclass(frozen=True, slots=True)
class WorkOf:
    """Arithmetic and traffic, from which speed is estimated."""

    memory: Memory

    def answer(self) -> StepWork:
        return self.memory.work


@dataclass(frozen=True, slots=True)
class OffersOf:
    """The basis of the ranking: every device in every number.

    Attributes:
        figures: How many the compiler has given, since `line` gives others with every one.
    """

    request: ShopRequest
    devices: tuple[Device, ...] = field(hash=False)  # always the same, and a hundred of them
    memories: tuple[tuple[StepSetup, Memory], ...]
    today: date
    measured: tuple[tuple[tuple[str, Setup], float], ...] = ()
    calibration: FindCalibration = uncalibrated
    accepted: Accepted = NEW_TODAY
    line: FindLine = not_compiled
    figures: int = 0

    def answer(self) -> Offers:
        needs, measured = Needs(dict(self.memories), self.calibration, self.line), dict(self.measured)
        return shop(self.request, self.devices, needs, today=self.today, measured=measured, accepted=self.accepted)


def most_bytes(devices: tuple[Device, ...]) -> int:
    """The largest capacity on sale, up to which memory must be known."""
    limits = (allocator_limits(device) for device in devices if device.total_bytes is not None)
    return max((limit.high_bytes for limit in limits if limit is not None), default=0)


def groundwork(request: ShopRequest, memories: Mapping[StepSetup, Memory], up_to_bytes: int) -> list[PointOf | WorkOf]:
    """What `OffersOf` would replay and is not known yet: the batches of each memory up to the capacity, and those
    around what GPUs would get."""
    wanted: list[PointOf | WorkOf] = [WorkOf(memory) for memory in memories.values()]
    for memory in memories.values():
        known = {point.batch: point for point in memory.points}
        batches = [*_around(request), *_towards(known, up_to_bytes)]
        wanted += [PointOf(memory, batch) for batch in dict.fromkeys(batches) if batch not in known]
    return wanted


def _towards(known: Mapping[int, Point], up_to_bytes: int) -> Iterator[int]:
    """The next batches needed after the known ones, judged by the line through the last two."""
    marks = anchors(LARGEST_BATCH)
    line: list[Point] = []
    for batch in marks:
        if batch in known:
            line = [*line[-1:], known[batch]]
            if known[batch].in_use_bytes > up_to_bytes:
                return
            continue
        yield batch
        if len(line) < 2:
            if batch >= FIRST_BATCHES:
                return
        elif _on_line(line[0], line[1], batch) > up_to_bytes:
            return


def _on_line(left: Point, right: Point, batch: int) -> float:
    rise = (right.in_use_bytes - left.in_use_bytes) / (right.batch - left.batch)
    return right.in_use_bytes + max(rise, 1.0) * (batch - right.batch)


def _around(request: ShopRequest) -> Iterator[int]:
    batch = request.setup.batch
    for gpus in request.counts:
        if gpus <= batch:
            each = request.trained(request.precisions[0], gpus).per_gpu_batch
            marks = anchors(each)
            place = bisect_left(marks, each)
            yield marks[place]
            if marks[place] != each:
                yield marks[place - 1]
