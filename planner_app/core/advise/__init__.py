"""What to change so that a training fits: each change is estimated from a real trace and ranked by its cost.

advice = advise(request, needs)
while advice.missing:      # traces to make first; planner/advise.py does
    ...
advice.options[0].changes, advice.options[0].setup
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from planner_app.core.advise.changes import Candidate, candidates
from planner_app.core.advise.hints import hints, loop_hint
from planner_app.core.advise.values import Advice, AdviceRequest, Change, Cost, Hint, Option
from planner_app.core.advise.weigh import Scales
from planner_app.core.estimate.breakdown import Term, snapshot
from planner_app.core.estimate.estimate import Estimate, estimate
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.need import Needs
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.hardware.device import Device, Segment
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.calibration import sentence
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.errors import DeviceError, SetupError

__all__ = ["Advice", "AdviceRequest", "Change", "Cost", "Hint", "Option", "advise"]

ENOUGH = 4  # options that fit, after which costlier ones are not traced
HELPS = 0.03  # changes that save a smaller share of the peak are not mentioned
MOST_TOGETHER = 3
MOST_SETS = 4  # combinations tried of each size
LARGER_DEVICES = 3


def advise(request: AdviceRequest, needs: Needs, impossible: Mapping[StepSetup, str] | None = None) -> Advice:
    """Advice from the available traces. Trace what is `missing`, then call this again.

    Args:
        needs: Memory of the traced steps.
        impossible: Steps that can't be traced, with the reason, such as a size that the model rejects.
    """
    impossible = impossible or {}
    setup, device = request.setup, request.device
    if request.limit_bytes is None and allocator_limit_bytes(device) is None:
        raise DeviceError("The CPU has no memory limit of its own: set one, as in --device cpu:8GiB, or name a GPU.")
    if not needs.has(setup, device):
        step = setup.step(device.target)
        if step in impossible:
            raise SetupError(impossible[step])
        return Advice(request, None, limit_bytes=request.limit_bytes, missing=(step,))
    need = needs.of(setup, device, request.limit_bytes)
    base = estimate(need, setup)
    if base.verdict is None or base.capacity_bytes is None:
        raise AssertionError("There is a limit, so there is a verdict.")
    if base.verdict is Verdict.FITS:
        again = loop_hint(base.peak_bytes, base.state_bytes, base.capacity_bytes)
        calibrated = "" if need.calibration is None else sentence(need.calibration)
        return Advice(
            request, base.verdict, base.peak_bytes, base.capacity_bytes, hints=(again,), calibrated=calibrated
        )
    return _Advising(request, base, Scales(request, needs), impossible).advice()


class _Advising:
    """One round. Tries changes in order of cost, until enough fit or a trace is missing."""

    def __init__(
        self, request: AdviceRequest, base: Estimate, scales: Scales, impossible: Mapping[StepSetup, str]
    ) -> None:
        self.request, self.base, self.scales, self.impossible = request, base, scales, impossible
        self.missing: dict[StepSetup, None] = {}
        self.ways: list[Option] = []
        self.helpful: list[tuple[Candidate, Option]] = []

    def advice(self) -> Advice:
        batch = self.request.setup.per_gpu_batch
        need = self.scales.need(self.request.setup)
        memory = need.memory
        moment = snapshot(memory.trace_at(batch), memory.buffers(batch), batch, memory.point(batch).peak.move)
        singles = candidates(self.request, self.base, moment.held)
        for tier in sorted({candidate.tier for candidate in singles}):
            if len(self.ways) < ENOUGH and not self.missing:
                self._try_alone([candidate for candidate in singles if candidate.tier == tier])
                self._try_together()
        self.ways += self._elsewhere()
        if (plain := self._plain_allocator()) is not None:
            self.ways.append(plain)
        return Advice(
            request=self.request,
            verdict=self.base.verdict,
            before_bytes=self.base.peak_bytes,
            limit_bytes=self.scales.limit_bytes,
            options=tuple(sorted(_useful(self.ways), key=_best_first)),
            helpful=tuple(option for _, option in self.helpful),
            hints=tuple(hints(self.request, self.base)),
            missing=tuple(self.missing),
            calibrated="" if need.calibration is None else sentence(need.calibration),
        )

    def _try_alone(self, singles: Sequence[Candidate]) -> None:
        for candidate in singles:
            option = self._weighed((candidate,))
            if option is None:
                continue
            if self._helps(option):
                self.ways.append(option)
            elif option.saved_bytes >= HELPS * self.base.peak_bytes:
                self.helpful.append((candidate, option))

    def _try_together(self) -> None:
        """The smallest combinations that fit: pairs of helpful changes, then triples."""
        for size in range(2, MOST_TOGETHER + 1):
            if len(self.ways) >= ENOUGH or self.missing:
                return
            sets = [
                together
                for together in combinations([candidate for candidate, _ in self.helpful], size)
                if len({candidate.change.cost for candidate in together}) == size
                and {Cost.ACCUMULATE, Cost.BATCH} - {candidate.change.cost for candidate in together}
            ]
            sets.sort(key=lambda together: sum(candidate.change.cost for candidate in together))
            for together in sets[:MOST_SETS]:
                option = self._weighed(together)
                if option is not None and self._helps(option):
                    self.ways.append(option)

    def _helps(self, option: Option) -> bool:
        """A tight setup is helped only by changes that are sure to fit."""
        return option.verdict.yes(sure=self.base.verdict is Verdict.TIGHT)

    def _weighed(self, together: tuple[Candidate, ...]) -> Option | None:
        """None if it can't be traced, or has not been traced yet."""
        try:
            setup = self.request.setup
            for candidate in together:
                setup = candidate.apply(setup)
        except SetupError:  # a batch that can't be divided
            return None
        return self._of(tuple(candidate.change for candidate in together), setup)

    def _of(self, changes: tuple[Change, ...], setup: Setup) -> Option | None:
        step = setup.step(self.request.device.target)
        if step in self.impossible:
            return None
        if not self.scales.needs.has(setup, self.request.device):
            self.missing[step] = None
            return None
        return self.scales.weigh(changes, setup)

    def _elsewhere(self) -> Iterable[Option]:
        """The same training on the smallest larger GPUs that fit it. They share its trace."""
        larger = [(limit, device) for device in self.request.devices if (limit := _limit(device)) is not None]
        larger.sort(key=lambda each: (each[0], not each[1].cloud_prices, each[1].name))
        found: dict[int, Option] = {}
        for limit, device in larger:
            traced = self.scales.needs.has(self.request.setup, device)
            if limit <= self.scales.limit_bytes or limit >> 30 in found or not traced:
                continue
            change = Change(Cost.DEVICE, f"Train on a larger GPU: {device.name}", (), _price(device))
            option = self.scales.weigh((change,), self.request.setup, device)
            if self._helps(option):
                found[limit >> 30] = option
            if len(found) == LARGER_DEVICES:
                return found.values()
        return found.values()

    def _plain_allocator(self) -> Option | None:
        """cuda_malloc_async does not round or leave holes, so it may fit where only those exceed the limit."""
        overhead = self.base.breakdown.get(str(Term.OVERHEAD), 0)
        held = (self.base.peak_bytes, self.base.low_bytes, self.base.high_bytes)
        peak, low, high = (size - max(overhead, 0) for size in held)
        asked = Level(peak, low, high)
        verdict = judge(asked, limit := self.scales.limit_bytes)
        if not self.request.device.cuda or self.base.xla or not verdict.yes(sure=self.base.verdict is Verdict.TIGHT):
            return None
        return Option(
            changes=(
                Change(
                    Cost.ALLOCATOR,
                    "Use CUDA's own memory pool, which allocates exactly what is requested, without holes",
                    ('os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"', "import tensorflow  # after that line"),
                    "Needs CUDA 11.2 or newer, and treats the limit as soft.",
                ),
            ),
            setup=self.request.setup,
            device=self.request.device,
            before_bytes=self.base.peak_bytes,
            after_bytes=asked.peak_bytes,
            high_bytes=asked.high_bytes,
            limit_bytes=limit,
            verdict=verdict,
            slower=1.0,
            more_arithmetic=1.0,
            environment={"TF_GPU_ALLOCATOR": "cuda_malloc_async"},
        )


def _best_first(way: Option) -> tuple[bool, int, float, int]:
    return way.verdict is not Verdict.FITS, way.cost, way.slower or 1.0, way.after_bytes


def _useful(ways: Sequence[Option]) -> list[Option]:
    """Drops options that are not needed because a subset of their changes already fits."""
    kept = []
    for way in ways:
        costs = {change.cost for change in way.changes}
        if not any({change.cost for change in other.changes} < costs for other in ways if other is not way):
            kept.append(way)
    return kept


def _limit(device: Device) -> int | None:
    """None for devices not worth suggesting: slices, embedded boards, cards of unknown memory."""
    if not device.cuda or device.slice_of is not None or device.unified or device.segment is Segment.EDGE:
        return None
    try:
        return allocator_limit_bytes(device)
    except DeviceError:
        return None


def _price(device: Device) -> str:
    cheapest = min(device.cloud_prices, key=lambda price: price.usd, default=None)
    return "" if cheapest is None else f"From ${cheapest.usd:.2f} an hour ({cheapest.source}, {cheapest.date})."
