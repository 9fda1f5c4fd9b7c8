"""Which GPUs, and how many, fit a training, and why the others don't.

    request = ShopRequest(Setup(batch=256), precisions=(Precision.MIXED_BFLOAT16,))
    needs = Needs({step: tracer.memory(step) for step in steps(request, devices)})
    offers = shop(request, devices, needs, today=date.today())
    best = ranked(offers.options, By.PRICE, Pay.CLOUD)[0]

Everything is computed from existing traces: another price, budget or batch needs no new one. With fewer traces than
`steps` names, `offers.missing` lists those still needed; with these, a second call may name others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date

from planner_app.core.compile.line import NO_LINE
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.need import Need, Needs
from planner_app.core.estimate.verdict import judge
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.links import link_between
from planner_app.core.hardware.option import Offers, Option, ShopRequest
from planner_app.core.hardware.prices import NEW_TODAY, Accepted, hourly, purchase
from planner_app.core.hardware.refusal import Refusal, Why
from planner_app.core.hardware.roofline import SIXTEEN_BITS, Source, Speed, speed
from planner_app.core.measure.calibration import sentence
from planner_app.core.model.setup import Precision, Setup, StepSetup

# TensorFlow 2.21's wheel has kernels for compute capability 6.0, 7.0, 8.0 and 8.9, and code for 9.0 that newer GPUs
# translate: none for older ones.
OLDEST_CAPABILITY = (6, 0)
BFLOAT16_CAPABILITY = (8, 0)


# Seconds of one update that were measured, by name of the device and setup.
Measured = Mapping[tuple[str, Setup], float]


def steps(request: ShopRequest, devices: Iterable[Device]) -> tuple[StepSetup, ...]:
    """The traces that `shop` asks for."""
    gpus = {min(count, 2) for count in request.counts} | ({1} if request.jax else set())
    accumulates = (1, 2) if request.most_accumulate > 1 else (1,)
    able = [device for device in devices if device.cuda and device.supported]
    roomy = replace(request, setup=request.setup.with_batch(max(request.setup.batch, 4)))
    return tuple(
        dict.fromkeys(
            roomy.trained(precision, count, accumulate).step(target)
            for accumulate in accumulates
            for precision in request.precisions
            for count in sorted(gpus)
            for target in sorted({device.target for device in able if _has(device, precision)})
        )
    )


def shop(
    request: ShopRequest,
    devices: Iterable[Device],
    needs: Needs,
    *,
    today: date,
    measured: Measured | None = None,
    accepted: Accepted = NEW_TODAY,
) -> Offers:
    """Every device in every number: what fits the training, and why the rest does not."""
    counter = _Counter(request, needs, today, measured or {}, accepted)
    options: list[Option] = []
    refusals: list[Refusal] = []
    missing: dict[StepSetup, None] = {}
    for device in devices:
        fastest: Option | None = None
        for gpus in (1,) * (1 in request.counts) if device.alone else request.counts:
            try:
                found = counter.offer(device, gpus)
            except _NoTrace as untraced:
                missing[untraced.step] = None
                continue
            if isinstance(found, Option):
                options.append(_with_reason(found, fastest))
                fastest = max((found, fastest or found), key=_pace)
            else:
                refusals.append(found)
    return Offers(tuple(options), tuple(refusals), tuple(missing))


def _pace(option: Option) -> float:
    return option.speed.samples_per_second if option.speed else 0.0


def _with_reason(option: Option, fewer: Option | None) -> Option:
    """Says why fewer GPUs of the kind are faster, where they are: their link, or that only the fewer are compiled."""
    if fewer is None or option.speed is None or fewer.speed is None or _pace(option) >= _pace(fewer):
        return option
    link = link_between(option.device, option.gpus)
    spent = option.speed.seconds - option.speed.reduce_seconds
    number = f"slower than {fewer.gpus}"
    if link is not None and option.setup.batch / spent > _pace(fewer):
        return replace(option, slower=f"{number}: gradients take that long over {link.name}")
    if fewer.xla and not option.xla and fewer.on_jax and not option.even:
        return replace(option, slower=f"{number}: JAX, which compiles for several GPUs, needs an even share for each")
    if fewer.xla and not option.xla:
        return replace(option, slower=f"{number}: on TensorFlow Keras compiles with XLA for one GPU, not for several")
    return replace(option, slower=f"{number}: each GPU gets too few samples to be busy")


def _has(device: Device, precision: Precision) -> bool:
    """Whether the device supports the precision. One of unknown capability counts as yes."""
    needed = BFLOAT16_CAPABILITY if SIXTEEN_BITS.get(precision) == "bfloat16" else OLDEST_CAPABILITY
    return device.compute_capability is None or device.compute_capability >= needed


class _NoTrace(Exception):
    def __init__(self, step: StepSetup) -> None:
        super().__init__(step)
        self.step = step


# How a number of GPUs trains in some accumulation steps: setup, memory and limit of each GPU.
_Trained = Callable[[Device, Precision, int, int], tuple[Setup, Need, int] | None]


class _Counter:
    """Judges one device and number at a time, and caches what they share."""

    def __init__(self, request: ShopRequest, needs: Needs, today: date, measured: Measured, accepted: Accepted) -> None:
        self._request, self._needs, self._today = request, needs, today
        self._measured, self._accepted = measured, accepted
        self._largest: dict[tuple[int, int | None, object], int] = {}
        self._setups: dict[tuple[Precision, int, int, str], Setup] = {}
        self._found: dict[tuple[str, StepSetup], tuple[Need, int]] = {}

    def offer(self, device: Device, gpus: int) -> Option | Refusal:
        if not device.supported:
            return Refusal(device, gpus, Why.NO_WHEEL)
        if device.total_bytes is None:
            return Refusal(device, gpus, Why.MEMORY_UNKNOWN)
        if device.compute_capability is not None and device.compute_capability < OLDEST_CAPABILITY:
            return Refusal(device, gpus, Why.NO_KERNELS)
        if self._request.setup.batch < gpus:
            return Refusal(device, gpus, Why.TOO_MANY, batch=self._request.setup.batch)
        refusal: Refusal | None = None
        for precision in self._request.precisions:
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
        found = self._on(device, precision, gpus, self._trained)
        if found is None:
            raise AssertionError("TensorFlow takes any share of the batch.")
        if gpus == 1 or not self._request.jax or (isinstance(found, Option) and found.xla):
            return found
        compiled = self._on(device, precision, gpus, self._on_jax)
        if not isinstance(compiled, Option):
            return found
        if not isinstance(found, Option):
            return compiled
        faster = _pace(compiled) > _pace(found)
        return replace(compiled, on_tensorflow=found.speed) if faster else found

    def _on(self, device: Device, precision: Precision, gpus: int, trained: _Trained) -> Option | Refusal | None:
        """In one step if that fits, else in several; None if it can't be trained in this way at all."""
        refusal = None
        if (once := trained(device, precision, gpus, 1)) is not None:
            setup, need, limit = once
            needed = need.level_on_line(setup.per_gpu_batch)
            if judge(needed, limit).yes(sure=self._request.sure):
                return self._option(setup, need, needed, limit)
            refusal = self._refusal(device, setup, needed, limit)
        most = min(self._request.most_accumulate, self._request.setup.batch // gpus)
        if most < 2 or refusal is None:
            return refusal
        found = self._accumulated(device, precision, gpus, most, trained)
        return min(found, refusal, key=lambda each: each.need_bytes) if isinstance(found, Refusal) else found or refusal

    def _accumulated(
        self, device: Device, precision: Precision, gpus: int, most: int, trained: _Trained
    ) -> Option | Refusal | None:
        """In the fewest steps that fit, or up to twice as many if only those divide the batch evenly."""
        batch = self._request.setup.batch
        if (twice := trained(device, precision, gpus, 2)) is None:
            return None
        _, need, limit = twice
        fitting = self._most(need, limit)
        fewest = max(2, -(-batch // (gpus * fitting))) if fitting else most + 1
        even = (n for n in range(fewest, min(2 * fewest, most) + 1) if batch % (gpus * n) == 0)
        if (several := trained(device, precision, gpus, min(next(even, fewest), most))) is None:
            return None
        setup, need, limit = several
        needed = need.level_on_line(setup.per_gpu_batch)
        if fewest > most:
            return self._refusal(device, setup, needed, limit)
        return self._option(setup, need, needed, limit)

    def _refusal(self, device: Device, setup: Setup, needed: Level, limit: int) -> Refusal:
        return Refusal(
            device,
            setup.gpus,
            Why.MEMORY,
            needed.high_bytes if self._request.sure else needed.peak_bytes,
            limit,
            setup.per_gpu_batch,
            str(setup.precision),
            setup.accumulate,
        )

    def _option(self, setup: Setup, need: Need, needed: Level, limit: int) -> Option:
        device = need.device
        return Option(
            device=device,
            setup=setup,
            xla=need.memory.xla,
            level=needed,
            limit_bytes=limit,
            largest_batch=self._most(need, limit) * setup.replicas,
            buy=purchase(device, setup.gpus, self._today, self._accepted),
            hour=hourly(device, setup.gpus, self._today),
            watts=None if device.tdp_watts is None else device.tdp_watts * setup.gpus,
            speed=self._speed(device, setup, need),
            calibrated="" if need.calibration is None else sentence(need.calibration),
        )

    def _speed(self, device: Device, setup: Setup, need: Need) -> Speed | None:
        seconds = self._measured.get((device.name, setup))
        if seconds is not None:
            pace = setup.batch / seconds
            return Speed(seconds, pace, source=Source.MEASURED, best_samples_per_second=pace)
        return speed(
            need.memory.work,
            device,
            setup.precision,
            xla=need.memory.xla,
            batch=setup.batch,
            per_gpu_batch=setup.per_gpu_batch,
            gpus=setup.gpus,
            accumulate=setup.accumulate,
        )

    def _trained(self, device: Device, precision: Precision, gpus: int, accumulate: int) -> tuple[Setup, Need, int]:
        key = (precision, gpus, accumulate, device.target)
        if key not in self._setups:
            self._setups[key] = self._request.trained(precision, gpus, accumulate)
        setup = self._setups[key]
        place = device.name, setup.step(device.target)
        if place not in self._found:
            if not self._needs.has(setup, device):
                raise _NoTrace(place[1])
            need = self._needs.of(setup, device)
            if (limit := need.capacity_bytes) is None:
                raise AssertionError("shop never offers the CPU.")
            self._found[place] = need, limit
        return setup, *self._found[place]

    def _on_jax(
        self, device: Device, precision: Precision, gpus: int, accumulate: int
    ) -> tuple[Setup, Need, int] | None:
        """Each of several GPUs runs the step that one GPU runs, with its share of the batch, and sums gradients in
        place: a trace of its own says the same within a percent. Without measurements, which are TensorFlow's."""
        setup = self._request.on_jax(precision, gpus, accumulate)
        if setup is None:
            return None
        _, alone, _ = self._trained(device, precision, 1, accumulate)
        if not alone.memory.xla:
            return None  # its author switched the compiler off
        need = replace(alone, calibration=None, line=NO_LINE)
        return (setup, need, limit) if (limit := need.capacity_bytes) is not None else None

    def _most(self, need: Need, limit: int) -> int:
        key = (id(need.memory), limit, need.calibration)
        if key not in self._largest:
            self._largest[key] = need.largest_on_lines(sure=self._request.sure) or 0
        return self._largest[key]


def with_prices(
    options: Sequence[Option], devices: Mapping[str, Device], today: date, accepted: Accepted = NEW_TODAY
) -> tuple[Option, ...]:
    """The same options at other prices, as of another day."""
    return tuple(
        replace(
            option,
            device=(device := devices.get(option.device.name, option.device)),
            buy=purchase(device, option.gpus, today, accepted),
            hour=hourly(device, option.gpus, today),
        )
        for option in options
    )
