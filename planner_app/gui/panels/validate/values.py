"""The validate panel as plain values: what to check, where, and the results."""

from dataclasses import dataclass
from enum import StrEnum

from planner_app.core.compile.check import CompileCheck
from planner_app.core.measure.compare import Comparison
from planner_app.core.measure.measurable import check_measurable
from planner_app.core.measure.measurement import Measurement, Order, Place, parse_place
from planner_app.core.measure.search import Found, Try
from planner_app.core.model.setup import Backend, Jit, Setup
from planner_app.errors import SetupError
from planner_app.gui.panels.validate.words import OnChart, explanation, speed_text
from planner_app.units import count_of, format_bytes, parse_bytes


class Kind(StrEnum):
    SETUP = "Measure the chosen setup"
    SERIES = "Measure a series of batches"
    LARGEST = "Find the largest batch by trying"
    COMPILE = "Compile for the chosen device"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The text of the panel's fields."""

    kind: Kind
    place: str
    limit: str
    batches: str
    processes: int
    one_by_one: bool

    def resolved_place(self) -> Place:
        return parse_place(self.place, parse_bytes(self.limit) if self.limit.strip() else None)

    def order(self, setup: Setup) -> Order:
        """One by one is possible only on the CPU, without replicas and XLA."""
        can = self.place.strip().lower() == "cpu" and setup.gpus == 1 and setup.jit is not Jit.ON
        can = can and setup.backend is not Backend.JAX
        return Order.INLINE if self.one_by_one and can else Order.ORDINARY

    def setups(self, chosen: Setup) -> tuple[Setup, ...]:
        """On GPUs, as many as are named; on the CPU, replicas share it."""
        place = self.resolved_place()
        check_measurable(chosen, place)
        gpus = len(place.gpus) or chosen.gpus
        on = chosen.on_gpus(gpus)
        share = on.shares
        if self.kind is not Kind.SERIES:
            return (on.with_batch(max(chosen.batch, share)),)
        parts = [part.strip() for part in self.batches.split(",") if part.strip()]
        if not parts or not all(count_of(part) >= share for part in parts):
            raise SetupError(
                f'"{self.batches}" is not a series of batches: expected numbers from {share} on, as in 32, 64.'
            )
        return tuple(on.with_batch(int(part)) for part in parts)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement and its estimate, if there is a peak to compare."""

    measurement: Measurement
    comparison: Comparison | None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the result table. `bad` marks out of memory, or a result outside the estimate's band."""

    setup: str
    where: str
    estimated: str
    found: str
    error: str
    speed: str
    bad: bool = False
    detail: str = ""


def measured_row(result: Measured, chart: OnChart | None = None) -> Row:
    """`chart` is what the chart shows for the same setup."""
    measurement, comparison = result.measurement, result.comparison
    where = measurement.hardware if measurement.place.on_gpu else f"CPU, {measurement.order}"
    if measurement.oom is not None:
        oom = measurement.oom
        who = f"{oom.operation or 'an operation'}{f' of {oom.layer}' if oom.layer else ''}"
        return Row(
            where=where,
            setup=_setup_text(measurement.setup),
            estimated="" if comparison is None else format_bytes(comparison.estimated_bytes),
            found="out of memory",
            error="",
            speed="",
            bad=True,
            detail=f"Out of memory in {oom.during}: {who} requested {oom.shape or 'memory'}.",
        )
    peaks = sorted(peak for each in measurement.peaks.values() for peak in each)
    return Row(
        where=where,
        setup=_setup_text(measurement.setup),
        estimated="" if comparison is None else format_bytes(comparison.estimated_bytes),
        found=_range(peaks),
        error="" if comparison is None else _error_text(comparison.error),
        speed=speed_text(measurement.samples_per_second),
        bad=comparison is not None and not comparison.in_band,
        detail=" ".join(filter(None, (_explained(measurement, comparison, chart), measurement.ended))),
    )


def _explained(measurement: Measurement, comparison: Comparison | None, chart: OnChart | None) -> str:
    return "" if comparison is None else " ".join((explanation(measurement, comparison, chart), *comparison.notes))


def _error_text(error: float) -> str:
    return f"{error:+.1%}".replace("-0.0%", "+0.0%").replace("%", " %")


def compiled_row(check: CompileCheck, estimated_bytes: int | None) -> Row:
    error = "" if not estimated_bytes else _error_text(estimated_bytes / check.total_bytes - 1)
    return Row(
        where=f"compiled for {check.device}",
        setup=_setup_text(check.setup),
        estimated="" if estimated_bytes is None else format_bytes(estimated_bytes),
        found=format_bytes(check.total_bytes),
        error=error,
        speed="",
        bad=check.fits is False,
        detail=" ".join(check.warnings),
    )


def try_text(tried: Try) -> str:
    verdict = "fits" if tried.fits else f"does not fit: {tried.reason}"
    peak = "" if tried.peak_bytes is None else f", {format_bytes(tried.peak_bytes)} in use"
    return f"{tried.batch:,} per GPU: {verdict}{peak if tried.fits else ''} ({tried.seconds:.0f} s)"


def found_text(found: Found, share: int) -> str:
    if not found.batch:
        return f"Not even {found.above or 1} per GPU fit."
    beyond = "; larger batches were not tried" if found.above is None else f"; {found.above * share:,} do not"
    return f"{found.batch * share:,} samples per update fit, measured{beyond}."


def _setup_text(setup: Setup) -> str:
    gpus = f", {setup.gpus} GPUs" if setup.gpus > 1 else ""
    return f"batch {setup.batch:,}, {setup.precision}{gpus}"


def _range(peaks: list[int]) -> str:
    if not peaks:
        return ""
    low, high = format_bytes(peaks[0]), format_bytes(peaks[-1])
    return low if low == high else f"{low} to {high}"
