"""Weighs a changed setup: does it fit, and how long does a step take compared with before?"""

from dataclasses import dataclass, replace

from planner_app.core.advise.changes import accumulation, smaller_batch
from planner_app.core.advise.values import AdviceRequest, Change, Cost, Option
from planner_app.core.estimate.need import Need, Needs
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.roofline import speed
from planner_app.core.hardware.work import StepWork, step_work
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.plan.ladder import accumulations


@dataclass
class Scales:
    """What setups need, and the limit to compare them with. The work of each step is computed once."""

    request: AdviceRequest
    needs: Needs

    def __post_init__(self) -> None:
        self._works: dict[StepSetup, StepWork] = {}

    def need(self, setup: Setup, device: Device | None = None) -> Need:
        """Within the requested limit; on another device, within that device's own."""
        limit = self.request.limit_bytes if device is None else None
        return self.needs.of(setup, device or self.request.device, limit)

    @property
    def limit_bytes(self) -> int:
        capacity = self.need(self.request.setup).capacity_bytes
        if capacity is None:
            raise AssertionError("Advice needs a memory limit.")
        return capacity

    def weigh(self, changes: tuple[Change, ...], setup: Setup, device: Device | None = None) -> Option:
        """Calculates the extent of a change that leaves it open."""
        costs = {change.cost for change in changes}
        largest = None
        if Cost.ACCUMULATE in costs:
            setup = self._accumulated(setup, device)
            changes = tuple(accumulation(setup) if c.cost is Cost.ACCUMULATE else c for c in changes)
        elif Cost.BATCH in costs:
            setup, largest = self._smaller(setup, device)
            changes = tuple(smaller_batch(setup) if c.cost is Cost.BATCH else c for c in changes)
        need = self.need(setup, device)
        level = need.level(setup.per_gpu_batch)
        limit = need.capacity_bytes or self.limit_bytes
        return Option(
            changes=changes,
            setup=setup,
            device=device or self.request.device,
            before_bytes=self.peak_bytes,
            after_bytes=level.peak_bytes,
            high_bytes=level.high_bytes,
            limit_bytes=limit,
            verdict=judge(level, limit),
            xla=need.memory.xla,
            slower=self._slower(setup, device),
            more_arithmetic=self._more_arithmetic(setup),
            largest=largest,
        )

    @property
    def peak_bytes(self) -> int:
        """Of the unchanged training."""
        return self.need(self.request.setup).level(self.request.setup.per_gpu_batch).peak_bytes

    def _accumulated(self, setup: Setup, device: Device | None) -> Setup:
        """The fewest steps with which it is sure to fit, else with which it is tight, else the most possible."""
        tried = [replace(setup, accumulate=count) for count in accumulations(setup) if count > 1]
        tight = None
        for one in tried:
            verdict = self.need(one, device).verdict(one.per_gpu_batch)
            if verdict is Verdict.FITS:
                return one
            if verdict is Verdict.TIGHT and tight is None:
                tight = one
        return tight or (tried[-1] if tried else setup)

    def _smaller(self, setup: Setup, device: Device | None) -> tuple[Setup, int | None]:
        """The largest batch that is sure to fit, else the largest that is tight; and the largest counting tight."""
        share = setup.shares
        need = self.need(setup, device)
        largest, sure = need.largest(), need.largest(sure=True)
        if largest is None or sure is None:
            return setup, None
        return setup.with_batch(max(sure.batch or largest.batch, 1) * share), largest.batch * share

    def _slower(self, setup: Setup, device: Device | None) -> float | None:
        before, after = self._seconds(self.request.setup, self.request.device), self._seconds(setup, device)
        return None if before is None or after is None else after / before

    def _seconds(self, setup: Setup, device: Device | None) -> float | None:
        """Per sample, by the roofline."""
        device = device or self.request.device
        found = speed(
            self._work(setup),
            device,
            setup.precision,
            xla=setup.step(device.target).xla,
            batch=setup.batch,
            per_gpu_batch=setup.per_gpu_batch,
            gpus=setup.gpus,
            accumulate=setup.accumulate,
        )
        return None if found is None else 1 / found.samples_per_second

    def _more_arithmetic(self, setup: Setup) -> float | None:
        before, after = self._work(self.request.setup), self._work(setup)
        one, other = (
            work.flops(each.per_gpu_batch) / each.per_gpu_batch
            for work, each in ((before, self.request.setup), (after, setup))
        )
        return other / one if one else None

    def _work(self, setup: Setup) -> StepWork:
        step = setup.step(self.request.device.target)
        if step not in self._works:
            self._works[step] = step_work(self.needs.memories[step].trace)
        return self._works[step]
