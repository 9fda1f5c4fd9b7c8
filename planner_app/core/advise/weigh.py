"""What a setup takes: does it fit with a limit, and how long does a step take, against the setup before?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner_app.core.advise.changes import accumulation, smaller_batch
from planner_app.core.advise.values import Change, Cost, Option, Want
from planner_app.core.estimate.curve import Level, level_at
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.roofline import speed
from planner_app.core.hardware.work import StepWork, step_work
from planner_app.core.measure.calibration import Calibration, Taught, calibrated_level, uncalibrated_limit, untaught
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.plan.ladder import accumulations
from planner_app.core.replay.allocate import STARTS, allocate
from planner_app.core.replay.memory import Memory

# Seven eighths down to a half, then halves of a quarter, an eighth and so on.
SMALLER = (*((0, eighths) for eighths in (7, 6, 5, 4, 3)), *((halved, 8) for halved in range(2, 25)))


@dataclass
class Scales:
    """The memories there are, with the limit to weigh them against. Work is looked up once for each."""

    want: Want
    limit_bytes: int
    memories: Mapping[StepSetup, Memory]
    taught: Taught = untaught

    def __post_init__(self) -> None:
        self._works: dict[StepSetup, StepWork] = {}

    def memory(self, setup: Setup, device: Device | None = None) -> Memory:
        return self.memories[setup.step((device or self.want.device).target)]

    def weigh(self, changes: tuple[Change, ...], setup: Setup, device: Device | None = None, limit: int = 0) -> Option:
        """With how far it goes worked out, where one of the changes leaves that open."""
        limit = limit or self.limit_bytes
        costs = {change.cost for change in changes}
        if Cost.ACCUMULATE in costs:
            setup = self._accumulated(setup, limit)
            changes = tuple(accumulation(setup) if c.cost is Cost.ACCUMULATE else c for c in changes)
        elif Cost.BATCH in costs:
            setup = self._smaller(setup, limit)
            changes = tuple(smaller_batch(setup) if c.cost is Cost.BATCH else c for c in changes)
        memory = self.memory(setup, device)
        level = self.level(setup, device)
        return Option(
            changes=changes,
            setup=setup,
            device=device or self.want.device,
            before_bytes=self.level(self.want.setup).peak_bytes,
            after_bytes=level.peak_bytes,
            high_bytes=level.high_bytes,
            limit_bytes=limit,
            fits=self.fits(setup, setup.per_gpu_batch, limit, device),
            xla=memory.xla,
            slower=self._slower(setup, device),
            more_arithmetic=self._more_arithmetic(setup),
        )

    def learnt(self, setup: Setup, device: Device | None = None) -> Calibration | None:
        return self.taught(device or self.want.device, self.memory(setup, device).xla)

    def level(self, setup: Setup, device: Device | None = None) -> Level:
        level, learnt = level_at(self.memory(setup, device).point(setup.per_gpu_batch)), self.learnt(setup, device)
        return level if learnt is None else calibrated_level(level, learnt)

    def fits(self, setup: Setup, batch: int, limit: int, device: Device | None = None) -> bool:
        learnt = self.learnt(setup, device)
        return fits(self.memory(setup, device), batch, limit if learnt is None else uncalibrated_limit(limit, learnt))

    def _accumulated(self, setup: Setup, limit: int) -> Setup:
        """The fewest steps with which it fits; the most there can be, where it does not."""
        tried = [replace(setup, accumulate=count) for count in accumulations(setup) if count > 1]
        for one in tried:
            if self.fits(setup, one.per_gpu_batch, limit):
                return one
        return tried[-1] if tried else setup

    def _smaller(self, setup: Setup, limit: int) -> Setup:
        """Eighths of the batch, from the largest down: each one that is tried takes a replay in every order."""
        share = setup.gpus * setup.accumulate
        whole = setup.per_gpu_batch
        tried = dict.fromkeys(_rounded(max(whole * eighths // 8 >> halved, 1)) for halved, eighths in SMALLER)
        for batch in tried:
            if batch < whole and self.fits(setup, batch, limit):
                return setup.with_batch(batch * share)
        return setup.with_batch(share)

    def _slower(self, setup: Setup, device: Device | None) -> float | None:
        before, after = self._seconds(self.want.setup, self.want.device), self._seconds(setup, device)
        return None if before is None or after is None else after / before

    def _seconds(self, setup: Setup, device: Device | None) -> float | None:
        """For each sample, by the roofline."""
        device = device or self.want.device
        found = speed(
            self._work(setup),
            device,
            setup.precision,
            batch=setup.batch,
            per_gpu_batch=setup.per_gpu_batch,
            gpus=setup.gpus,
            accumulate=setup.accumulate,
        )
        return None if found is None else 1 / found.samples_per_second

    def _more_arithmetic(self, setup: Setup) -> float | None:
        before, after = self._work(self.want.setup), self._work(setup)
        one, other = (
            work.flops(each.per_gpu_batch) / each.per_gpu_batch
            for work, each in ((before, self.want.setup), (after, setup))
        )
        return other / one if one else None

    def _work(self, setup: Setup) -> StepWork:
        step = setup.step(self.want.device.target)
        if step not in self._works:
            self._works[step] = step_work(self.memories[step].trace)
        return self._works[step]


def fits(memory: Memory, batch: int, limit_bytes: int) -> bool:
    """Within the limit, in every piece.

    The high end of the band counts where it stands for orders or a compiler that may go other ways. What a convolution
    would like as workspace on a GPU does not: refused, it takes less.
    """
    on_cpu = memory.setup.target == "cpu"
    if not memory.xla:
        buffers = memory.buffers(batch)
        for start in STARTS if on_cpu else STARTS[:1]:  # before the band, which takes many replays more
            if allocate(memory.trace, buffers, batch, growth=on_cpu, limit_bytes=limit_bytes, start=start) is None:
                return False
    point = memory.point(batch)
    return (point.high_bytes if memory.xla or on_cpu else point.in_use_bytes) <= limit_bytes


def _rounded(batch: int) -> int:
    return batch // 8 * 8 if batch > 8 else batch
