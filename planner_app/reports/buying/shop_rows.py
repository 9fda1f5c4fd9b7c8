"""Offers as plain rows for JSON and spreadsheets. Unknown values are null."""

from collections.abc import Iterable, Sequence
from typing import Any

from planner_app.core.hardware.option import Later, Offers, Option, ShopRequest
from planner_app.core.hardware.prices import Cost
from planner_app.core.hardware.refusal import Refusal, short_name
from planner_app.core.hardware.roofline import Source
from planner_app.reports.csv_rows import csv_text
from planner_app.units import format_bytes

UNKNOWN = "unknown"


def format_usd(usd: float) -> str:
    if 0 < usd < 0.005:
        return "<$0.01"
    return f"${usd:,.2f}" if usd < 1000 else f"${usd:,.0f}"


def format_rate(samples_per_second: float) -> str:
    """Three significant digits, but all digits before the point: 0.512, 17.3, 1,277."""
    return f"{samples_per_second:,.0f}" if samples_per_second >= 100 else f"{samples_per_second:.3g}"


def pace_text(option: Option) -> str:
    """Expected, or more than that (>); and with which backend, where it is not TensorFlow."""
    if option.speed is None:
        return UNKNOWN
    about = "" if option.speed.source is Source.MEASURED else ">" if option.speed.at_least else "~"
    return about + format_rate(option.speed.samples_per_second) + (" JAX" if option.on_jax else "")


def pace_band(option: Option) -> str:
    """What nine of ten published figures lie within."""
    found = option.speed
    if found is None or found.source is Source.MEASURED:
        return ""
    return f"{format_rate(found.low_samples_per_second)} to {format_rate(found.high_samples_per_second)}"


def option_row(option: Option, front: Iterable[Option] = ()) -> dict[str, Any]:
    setup, found = option.setup, option.speed
    return {
        "device": option.device.name,
        "segment": str(option.device.segment),
        "gpus": setup.gpus,
        "batch": setup.batch,
        "per_gpu_batch": setup.per_gpu_batch,
        "accumulate": setup.accumulate,
        "precision": str(setup.precision),
        "backend": str(setup.backend),
        "jit": option.xla,
        "peak_bytes": option.level.peak_bytes,
        "low_bytes": option.level.low_bytes,
        "high_bytes": option.level.high_bytes,
        "limit_bytes": option.limit_bytes,
        "headroom_bytes": option.headroom_bytes,
        "verdict": str(option.verdict),
        "largest_batch": option.largest_batch,
        **_cost("usd_per_hour", option.hour),
        **_cost("usd", option.buy),
        "watts": option.watts,
        "seconds_per_update": None if found is None else round(found.seconds, 6),
        "samples_per_second": None if found is None else round(found.samples_per_second, 2),
        "speed_source": None if found is None else str(found.source),
        "speed_at_least": None if found is None else found.at_least,
        "low_samples_per_second": None if found is None else round(found.low_samples_per_second, 2),
        "high_samples_per_second": None if found is None else round(found.high_samples_per_second, 2),
        "best_samples_per_second": None if found is None else round(found.best_samples_per_second, 2),
        "tensorflow_samples_per_second": _on_tensorflow(option),
        "usd_per_million_samples": _rounded(option.usd_per_million_samples),
        "front": any(option is each for each in front),
        "notes": list(option.notes),
    }


def _on_tensorflow(option: Option) -> float | None:
    """The same on TensorFlow; None if it does not fit there, or its speed is unknown."""
    found = option.on_tensorflow if option.on_jax else option.speed
    return None if found is None else round(found.samples_per_second, 2)


def _cost(name: str, cost: Cost | None) -> dict[str, Any]:
    price = cost.price if cost else None
    return {
        name: _rounded(cost.usd if cost else None),
        f"{name}_old": cost.old if cost else None,
        f"{name}_source": price.source if price else None,
        f"{name}_date": price.date if price else None,
        f"{name}_note": (price.note or price.kind) if price else None,
    }


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 4)


def refusal_row(refusal: Refusal) -> dict[str, Any]:
    return {
        "device": refusal.device.name,
        "gpus": refusal.gpus,
        "reason": refusal.sentence,
        "need_bytes": refusal.need_bytes or None,
        "limit_bytes": refusal.limit_bytes or None,
    }


def later_row(later: Later) -> dict[str, Any]:
    return {
        "what": later.growth.what,
        "inputs": dict(later.growth.at(later.size)),
        "carrying": later.carrying,
        "best": None if later.best is None else option_row(later.best),
        "why_not": later.why_not or None,
    }


def later_text(later: Later) -> str:
    """A sentence without its period."""
    if later.why_not:
        return f"{later.what}: the model can't be built with it ({later.why_not.rstrip('.')})"
    best = later.best
    if best is None:
        return f"{later.what}: nothing within the limits fits"
    prices = [f"{format_usd(best.hour.usd)} an hour"] if best.hour else []
    prices += [f"{format_usd(best.buy.usd)} to buy"] if best.buy else []
    cost = " or ".join(prices) or "at an unknown price"
    need = format_bytes(best.level.peak_bytes)
    called = f"{best.gpus} x {short_name(best.device)}"
    return f"{later.what}: {called}, {cost}, {need} on each GPU; {later.carrying:,} offers fit"


def request_row(request: ShopRequest) -> dict[str, Any]:
    return {
        "batch": request.setup.batch,
        "precisions": [str(precision) for precision in request.precisions],
        "optimizer": str(request.setup.optimizer),
        "most_accumulate": request.most_accumulate,
        "counts": list(request.counts),
        "jit": str(request.setup.jit),
        "sure": request.sure,
        "backends": ["tensorflow", "jax"] if request.jax else ["tensorflow"],
    }


def as_json(request: ShopRequest, offers: Offers, options: Sequence[Option], front: Sequence[Option]) -> dict[str, Any]:
    """`options` are those to show, in order."""
    return {
        "want": request_row(request),
        "options": [option_row(option, front) for option in options],
        "why_not": [refusal_row(refusal) for refusal in offers.why_not()],
        "refused": [refusal_row(refusal) for refusal in offers.refusals],
    }


def as_csv(options: Sequence[Option], front: Sequence[Option]) -> str:
    """For spreadsheets: unknown values say so, since an empty cell would count as zero."""
    rows = [option_row(option, front) for option in options]
    return csv_text([*rows[:1], *(map(cell, row.values()) for row in rows)])


def cell(value: Any) -> Any:
    if isinstance(value, list):
        return "; ".join(value)
    return UNKNOWN if value is None else value
