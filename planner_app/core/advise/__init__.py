"""What to change so that a training fits: each change estimated by a real trace, ranked by what it costs the user.

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

ENOUGH = 4  # ways that fit, after which the dearer ones are not traced
HELPS = 0.03  # a change that saves less of the peak is not spoken of
MOST_TOGETHER = 3
MOST_SETS = 4  # combinations of one size that are tried
LARGER_DEVICES = 3


def advise(request: AdviceRequest, needs: Needs, impossible: Mapping[StepSetup, str] | None = None) -> Advice:
    """As far as the traces go: what is `missing` is to be traced, then this is asked again.

    Args:
        needs: Of the steps that were traced.
        impossible: Steps that can't be traced, with the reason: a size the model can't take, say.
    """
    impossible = impossible or {}
    setup, device = request.setup, request.device
    if request.limit_bytes is None and allocator_limit_bytes(device) is None:
        raise DeviceError("The CPU has no limit of its own: give one, as in --device cpu:8GiB, or name a GPU.")
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
    """One round. Ways are looked for in the order of their cost, until there are enough or a trace is missing."""

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
        moment = snapshot(memory.trace, memory.buffers(batch), batch, memory.point(batch).peak.move)
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
        """The smallest sets that fit: pairs of what helps, then threes."""
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
        """What is tight now is helped only by what surely fits."""
        return option.verdict.yes(sure=self.base.verdict is Verdict.TIGHT)

    def _weighed(self, together: tuple[Candidate, ...]) -> Option | None:
        """None if it can't be traced, or not yet."""
        try:
            setup = self.request.setup
            for candidate in together:
                setup = candidate.apply(setup)
        except SetupError:  # a batch that can't be shared out
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
        """The same training on larger GPUs: the smallest that carry it. The same trace answers for them."""
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
        """cuda_malloc_async gives out what is asked for: it fits where only holes and rounding are too much."""
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
                    "Take memory from CUDA's own pool: it gives out what is asked for, without holes",
                    ('os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"', "import tensorflow  # after that line"),
                    "Needs CUDA 11.2 or newer; the limit is soft there.",
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
    """Without those that another one makes needless: fewer of the same changes already fit."""
    kept = []
    for way in ways:
        costs = {change.cost for change in way.changes}
        if not any({change.cost for change in other.changes} < costs for other in ways if other is not way):
            kept.append(way)
    return kept


def _limit(device: Device) -> int | None:
    """None for what nobody would take instead: a slice, a board for robots, a card of unknown memory."""
    if not device.cuda or device.slice_of is not None or device.unified or device.segment is Segment.EDGE:
        return None
    try:
        return allocator_limit_bytes(device)
    except DeviceError:
        return None


def _price(device: Device) -> str:
    cheapest = min(device.cloud_prices, key=lambda price: price.usd, default=None)
    return "" if cheapest is None else f"From ${cheapest.usd:.2f} an hour ({cheapest.source}, {cheapest.date})."
