"""What to change so that a training fits: each change estimated by a real trace, ranked by what it costs the user.

advice = advise(want, memories)
while advice.missing:      # traces to make first; jobs/advising.py does
    ...
advice.options[0].changes, advice.options[0].setup
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from planner_app.core.advise.changes import Candidate, candidates
from planner_app.core.advise.hints import hints, loop_hint
from planner_app.core.advise.values import Advice, Change, Cost, Hint, Option, Want
from planner_app.core.advise.weigh import Scales
from planner_app.core.estimate.breakdown import Term, snapshot
from planner_app.core.estimate.estimate import Estimate, estimate
from planner_app.core.hardware.device import Device, Segment
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.calibration import Taught, sentence, untaught
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.errors import DeviceError, SetupError

__all__ = ["Advice", "Change", "Cost", "Hint", "Option", "Want", "advise"]

ENOUGH = 4  # ways that fit, after which the dearer ones are not traced
HELPS = 0.03  # a change that saves less of the peak is not spoken of
MOST_TOGETHER = 3
MOST_SETS = 4  # combinations of one size that are tried
LARGER_DEVICES = 3


def advise(
    want: Want,
    memories: Mapping[StepSetup, Memory],
    impossible: Mapping[StepSetup, str] | None = None,
    taught: Taught = untaught,
) -> Advice:
    """As far as the traces go: what is `missing` is to be traced, then this is asked again.

    Args:
        memories: Of the steps that were traced.
        impossible: Steps that can't be traced, with the reason: a size the model can't take, say.
        taught: What measurements say of a device.
    """
    impossible = impossible or {}
    limit = want.limit_bytes if want.limit_bytes is not None else allocator_limit_bytes(want.device)
    if limit is None:
        raise DeviceError("The CPU has no limit of its own: give one, as in --device cpu:8GiB, or name a GPU.")
    base_step = want.setup.step(want.device.target)
    if base_step not in memories:
        if base_step in impossible:
            raise SetupError(impossible[base_step])
        return Advice(want, False, limit_bytes=limit, missing=(base_step,))
    scales = Scales(want, limit, memories, taught)
    if (
        want.limit_bytes is None
        and (learnt := scales.learnt(want.setup)) is not None
        and learnt.limit_bytes is not None
    ):
        scales.limit_bytes = limit = learnt.limit_bytes
    if scales.fits(want.setup, want.setup.per_gpu_batch, limit):
        peak = scales.level(want.setup).peak_bytes
        state = memories[base_step].point(want.setup.per_gpu_batch).state_bytes
        again = loop_hint(peak, state, limit)
        return Advice(want, True, peak, limit, hints=(again,), calibrated=_calibrated(scales))
    base = estimate(memories[base_step], want.setup, want.device)
    return _Advising(want, base, scales, impossible).advice(limit)


def _calibrated(scales: Scales) -> str:
    learnt = scales.learnt(scales.want.setup)
    return "" if learnt is None else sentence(learnt)


class _Advising:
    """One round. Ways are looked for in the order of their cost, until there are enough or a trace is missing."""

    def __init__(self, want: Want, base: Estimate, scales: Scales, impossible: Mapping[StepSetup, str]) -> None:
        self.want, self.base, self.scales, self.impossible = want, base, scales, impossible
        self.missing: dict[StepSetup, None] = {}
        self.ways: list[Option] = []
        self.helpful: list[tuple[Candidate, Option]] = []

    def advice(self, limit: int) -> Advice:
        batch = self.want.setup.per_gpu_batch
        memory = self.scales.memory(self.want.setup)
        moment = snapshot(memory.trace, memory.buffers(batch), batch, memory.point(batch).peak.move)
        singles = candidates(self.want, self.base, moment.held)
        for tier in sorted({candidate.tier for candidate in singles}):
            if len(self.ways) < ENOUGH and not self.missing:
                self._try_alone([candidate for candidate in singles if candidate.tier == tier])
                self._try_together()
        self.ways += self._elsewhere()
        if (plain := self._plain_allocator(limit)) is not None:
            self.ways.append(plain)
        return Advice(
            want=self.want,
            fits=False,
            before_bytes=self.scales.level(self.want.setup).peak_bytes,
            limit_bytes=limit,
            options=tuple(sorted(_useful(self.ways), key=lambda way: (way.cost, way.slower or 1.0, way.after_bytes))),
            helpful=tuple(option for _, option in self.helpful),
            hints=tuple(hints(self.want, self.base)),
            missing=tuple(self.missing),
            calibrated=_calibrated(self.scales),
        )

    def _try_alone(self, singles: Sequence[Candidate]) -> None:
        for candidate in singles:
            option = self._weighed((candidate,))
            if option is None:
                continue
            if option.fits:
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
                if option is not None and option.fits:
                    self.ways.append(option)

    def _weighed(self, together: tuple[Candidate, ...]) -> Option | None:
        """None if it can't be traced, or not yet."""
        try:
            setup = self.want.setup
            for candidate in together:
                setup = candidate.apply(setup)
        except SetupError:  # a batch that can't be shared out
            return None
        return self._of(tuple(candidate.change for candidate in together), setup)

    def _of(self, changes: tuple[Change, ...], setup: Setup) -> Option | None:
        step = setup.step(self.want.device.target)
        if step in self.impossible:
            return None
        if step not in self.scales.memories:
            self.missing[step] = None
            return None
        return self.scales.weigh(changes, setup)

    def _elsewhere(self) -> Iterable[Option]:
        """The same training on larger GPUs: the smallest that carry it. The same trace answers for them."""
        larger = [(limit, device) for device in self.want.devices if (limit := _limit(device)) is not None]
        larger.sort(key=lambda each: (each[0], not each[1].cloud_prices, each[1].name))
        found: dict[int, Option] = {}
        for limit, device in larger:
            step = self.want.setup.step(device.target)
            if limit <= self.scales.limit_bytes or limit >> 30 in found or step not in self.scales.memories:
                continue
            change = Change(Cost.DEVICE, f"Train on a larger GPU: {device.name}", (), _price(device))
            option = self.scales.weigh((change,), self.want.setup, device, limit)
            if option.fits:
                found[limit >> 30] = option
            if len(found) == LARGER_DEVICES:
                return found.values()
        return found.values()

    def _plain_allocator(self, limit: int) -> Option | None:
        """cuda_malloc_async gives out what is asked for: it fits where only holes and rounding are too much."""
        overhead = self.base.breakdown.get(str(Term.OVERHEAD), 0)
        asked = self.base.peak_bytes - max(overhead, 0)
        if not self.want.device.cuda or self.base.xla or asked > limit:
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
            setup=self.want.setup,
            device=self.want.device,
            before_bytes=self.scales.level(self.want.setup).peak_bytes,
            after_bytes=asked,
            high_bytes=asked,
            limit_bytes=limit,
            fits=True,
            slower=1.0,
            more_arithmetic=1.0,
            environment={"TF_GPU_ALLOCATOR": "cuda_malloc_async"},
        )


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
