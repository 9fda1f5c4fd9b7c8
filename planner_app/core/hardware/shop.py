"""Which GPUs, and how many, can carry a training, and why the others can't.

    want = Want(Setup(batch=256), precisions=(Precision.MIXED_BFLOAT16,))
    memories = {step: tracer.memory(step) for step in steps(want, devices)}
    offers = shop(want, devices, memories, today=date.today())
    best = ranked(offers.options, By.PRICE, Pay.CLOUD)[0]

All is worked out from traces that are there: another price, budget or batch needs no new one. With fewer traces than
`steps` names, `offers.missing` are those that would tell more; asked again with them, it may name others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date

from planner_app.core.estimate.curve import Level, largest_on_lines, level
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Offers, Option, Want
from planner_app.core.hardware.prices import hourly, purchase
from planner_app.core.hardware.refusal import Refusal, Why
from planner_app.core.hardware.roofline import SIXTEEN_BITS, Source, Speed, speed
from planner_app.core.hardware.runtime import allocator_limits
from planner_app.core.measure.calibration import (
    Calibration,
    Taught,
    calibrated_level,
    sentence,
    uncalibrated_limit,
    untaught,
)
from planner_app.core.model.setup import Precision, Setup, StepSetup
from planner_app.core.replay.memory import Memory

# TensorFlow 2.21's wheel has kernels for compute capability 6.0, 7.0, 8.0 and 8.9, and code for 9.0 that newer GPUs
# translate: none for older ones.
OLDEST_CAPABILITY = (6, 0)
BFLOAT16_CAPABILITY = (8, 0)


# Seconds of one update that were measured, by name of the device and setup.
Measured = Mapping[tuple[str, Setup], float]


def steps(want: Want, devices: Iterable[Device]) -> tuple[StepSetup, ...]:
    """The traces that `shop` asks for."""
    gpus = {min(count, 2) for count in want.counts}
    accumulates = (1, 2) if want.most_accumulate > 1 else (1,)
    able = [device for device in devices if device.cuda]
    roomy = replace(want, setup=want.setup.with_batch(max(want.setup.batch, 4)))
    return tuple(
        dict.fromkeys(
            roomy.trained(precision, count, accumulate).step(target)
            for accumulate in accumulates
            for precision in want.precisions
            for count in sorted(gpus)
            for target in sorted({device.target for device in able if _has(device, precision)})
        )
    )


def shop(
    want: Want,
    devices: Iterable[Device],
    memories: Mapping[StepSetup, Memory],
    *,
    today: date,
    measured: Measured | None = None,
    taught: Taught = untaught,
) -> Offers:
    """Every device in every number: what carries the training, and why the rest does not."""
    counter = _Counter(want, memories, today, measured or {}, taught)
    options: list[Option] = []
    refusals: list[Refusal] = []
    missing: dict[StepSetup, None] = {}
    for device in devices:
        # A process can use one slice of a GPU, and not several.
        for gpus in want.counts if device.slice_of is None else (1,) if 1 in want.counts else ():
            try:
                found = counter.offer(device, gpus)
            except _NoTrace as untraced:
                missing[untraced.step] = None
                continue
            if isinstance(found, Option):
                options.append(found)
            else:
                refusals.append(found)
    return Offers(tuple(options), tuple(refusals), tuple(missing))


def _has(device: Device, precision: Precision) -> bool:
    """Whether the device computes in the precision. One of unknown capability may."""
    needed = BFLOAT16_CAPABILITY if SIXTEEN_BITS.get(precision) == "bfloat16" else OLDEST_CAPABILITY
    return device.compute_capability is None or device.compute_capability >= needed


class _NoTrace(Exception):
    def __init__(self, step: StepSetup) -> None:
        super().__init__(step)
        self.step = step


class _Counter:
    """Answers for one device and number at a time, and remembers what many of them share."""

    def __init__(
        self, want: Want, memories: Mapping[StepSetup, Memory], today: date, measured: Measured, taught: Taught
    ) -> None:
        self._want, self._memories, self._today, self._measured = want, memories, today, measured
        self._taught = taught
        self._levels: dict[tuple[int, int], Level] = {}
        self._largest: dict[tuple[int, int], int] = {}
        self._limits: dict[str, int] = {}
        self._setups: dict[tuple[Precision, int, int, str], tuple[Setup, Memory]] = {}

    def offer(self, device: Device, gpus: int) -> Option | Refusal:
        if device.total_bytes is None:
            return Refusal(device, gpus, Why.MEMORY_UNKNOWN)
        if device.compute_capability is not None and device.compute_capability < OLDEST_CAPABILITY:
            return Refusal(device, gpus, Why.NO_KERNELS)
        if self._want.setup.batch < gpus:
            return Refusal(device, gpus, Why.TOO_MANY, batch=self._want.setup.batch)
        refusal: Refusal | None = None
        for precision in self._want.precisions:
            found = self._in_precision(device, gpus, precision)
            if isinstance(found, Option):
                return found
            refusal = found if refusal is None or found.badness < refusal.badness else refusal
        if refusal is None:
            raise AssertionError("At least one precision is allowed.")
        return refusal

    def _in_precision(self, device: Device, gpus: int, precision: Precision) -> Option | Refusal:
        if not _has(device, precision):
            return Refusal(device, gpus, Why.NO_BFLOAT16)
        setup, memory = self._trained(device, precision, gpus, 1)
        limit = self._limit(device, memory)
        needed = self._level(device, memory, setup.per_gpu_batch)
        if self._need(needed) <= limit:
            return self._option(device, setup, memory, needed, limit)
        refusal = self._refusal(device, setup, needed, limit)
        most = min(self._want.most_accumulate, self._want.setup.batch // gpus)
        if most < 2:
            return refusal
        found = self._accumulated(device, precision, gpus, limit, most)
        return min(found, refusal, key=lambda each: each.need_bytes) if isinstance(found, Refusal) else found

    def _accumulated(self, device: Device, precision: Precision, gpus: int, limit: int, most: int) -> Option | Refusal:
        """In the fewest steps in which it fits, or up to twice as many where only those share the batch out evenly."""
        batch = self._want.setup.batch
        _, memory = self._trained(device, precision, gpus, 2)
        fitting = self._most(device, memory, limit)
        fewest = max(2, -(-batch // (gpus * fitting))) if fitting else most + 1
        even = (n for n in range(fewest, min(2 * fewest, most) + 1) if batch % (gpus * n) == 0)
        setup, memory = self._trained(device, precision, gpus, min(next(even, fewest), most))
        needed = self._level(device, memory, setup.per_gpu_batch)
        if fewest > most:
            return self._refusal(device, setup, needed, limit)
        return self._option(device, setup, memory, needed, limit)

    def _refusal(self, device: Device, setup: Setup, needed: Level, limit: int) -> Refusal:
        return Refusal(
            device,
            setup.gpus,
            Why.MEMORY,
            self._need(needed),
            limit,
            setup.per_gpu_batch,
            str(setup.precision),
            setup.accumulate,
        )

    def _option(self, device: Device, setup: Setup, memory: Memory, needed: Level, limit: int) -> Option:
        return Option(
            device=device,
            setup=setup,
            xla=memory.xla,
            level=needed,
            limit_bytes=limit,
            largest_batch=self._most(device, memory, limit) * setup.gpus,
            buy=purchase(device, setup.gpus, self._today),
            hour=hourly(device, setup.gpus, self._today),
            watts=None if device.tdp_watts is None else device.tdp_watts * setup.gpus,
            speed=self._speed(device, setup, memory),
            calibrated="" if (learnt := self._learnt(device, memory)) is None else sentence(learnt),
        )

    def _speed(self, device: Device, setup: Setup, memory: Memory) -> Speed | None:
        seconds = self._measured.get((device.name, setup))
        if seconds is not None:
            return Speed(seconds, setup.batch / seconds, source=Source.MEASURED)
        return speed(
            memory.work,
            device,
            setup.precision,
            batch=setup.batch,
            per_gpu_batch=setup.per_gpu_batch,
            gpus=setup.gpus,
            accumulate=setup.accumulate,
        )

    def _trained(self, device: Device, precision: Precision, gpus: int, accumulate: int) -> tuple[Setup, Memory]:
        key = (precision, gpus, accumulate, device.target)
        if key not in self._setups:
            setup = self._want.trained(precision, gpus, accumulate)
            memory = self._memories.get(step := setup.step(device.target))
            if memory is None:
                raise _NoTrace(step)
            self._setups[key] = setup, memory
        return self._setups[key]

    def _need(self, needed: Level) -> int:
        return needed.high_bytes if self._want.surely else needed.peak_bytes

    def _learnt(self, device: Device, memory: Memory) -> Calibration | None:
        return self._taught(device, memory.xla)

    def _limit(self, device: Device, memory: Memory) -> int:
        learnt = self._learnt(device, memory)
        if learnt is not None and learnt.limit_bytes is not None:
            return learnt.limit_bytes
        if device.name not in self._limits:
            limits = allocator_limits(device)
            if limits is None:
                raise AssertionError("The CPU is for sale nowhere here.")
            self._limits[device.name] = limits.low_bytes if self._want.surely else limits.expected_bytes
        return self._limits[device.name]

    def _level(self, device: Device, memory: Memory, batch: int) -> Level:
        key = (id(memory), batch)
        if key not in self._levels:
            self._levels[key] = level(memory, batch)
        learnt = self._learnt(device, memory)
        return self._levels[key] if learnt is None else calibrated_level(self._levels[key], learnt)

    def _most(self, device: Device, memory: Memory, limit: int) -> int:
        learnt = self._learnt(device, memory)
        room = limit if learnt is None else uncalibrated_limit(limit, learnt)
        key = (id(memory), room)
        if key not in self._largest:
            self._largest[key] = largest_on_lines(memory, room, surely=self._want.surely)
        return self._largest[key]


def with_prices(options: Sequence[Option], devices: Mapping[str, Device], today: date) -> tuple[Option, ...]:
    """The same options at other prices, as of another day."""
    return tuple(
        replace(
            option,
            device=(device := devices.get(option.device.name, option.device)),
            buy=purchase(device, option.gpus, today),
            hour=hourly(device, option.gpus, today),
        )
        for option in options
    )
