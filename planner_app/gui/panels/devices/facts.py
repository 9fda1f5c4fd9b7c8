"""The known figures of a device, with their sources."""

from datetime import date

from planner_app.core.hardware.device import Basis, Device, Price
from planner_app.core.hardware.prices import cheapest, is_old
from planner_app.core.hardware.shop import OLDEST_CAPABILITY
from planner_app.gui.panels.chart.drawn.capacity import why_less
from planner_app.reports.buying.shop_rows import format_usd

UNKNOWN = "unknown"
Fact = tuple[str, str]


def facts(device: Device, today: date) -> tuple[Fact, ...]:
    """Names and values; unknown values say so."""
    if not device.cuda:
        return (("Memory", why_less(device)),)
    return (
        ("Memory", _memory(device)),
        ("Compute capability", _capability(device)),
        ("Bandwidth", _bandwidth(device)),
        ("Power", UNKNOWN if device.tdp_watts is None else f"{device.tdp_watts} W"),
        ("Per hour", _price(cheapest(device.cloud_prices, today), today)),
        ("To buy", _price(cheapest(device.market_prices, today) or device.launch_price, today)),
        *((("Note", "; ".join(device.notes)),) if device.notes else ()),
        ("Figures from", _sources(device)),
    )


def _memory(device: Device) -> str:
    if device.total_bytes is None:
        sold = "" if device.marketed_gb is None else f"Sold as {device.marketed_gb:g} GB; "
        return f"{sold}the memory its driver reports is unknown."
    return why_less(device)


def _capability(device: Device) -> str:
    if device.compute_capability is None:
        return f"{UNKNOWN}: TensorFlow's largest reserve is assumed"
    family = f" ({device.architecture})" if device.architecture else ""
    old = ": TensorFlow 2.21 has no kernels for it" if device.compute_capability < OLDEST_CAPABILITY else ""
    return ".".join(map(str, device.compute_capability)) + family + old


def _bandwidth(device: Device) -> str:
    rate = device.bandwidth_bytes_per_second
    kind = f", {device.memory_type}" if device.memory_type else ""
    return UNKNOWN if rate is None else f"{rate / 1e9:,.0f} GB/s{kind}"


def _price(price: Price | None, today: date) -> str:
    if price is None:
        return UNKNOWN
    about = [price.source, price.kind, price.note, price.date or "undated", "old" if is_old(price, today) else ""]
    return f"{format_usd(price.usd)} ({', '.join(filter(None, about))})"


def _sources(device: Device) -> str:
    """The source of the memory figure first, since it decides what fits."""
    said = device.provenance.get("total_bytes")
    memory = UNKNOWN if said is None else said.source
    if said is not None and said.basis is not Basis.QUOTED:
        memory = f"{said.basis}, {said.source}"
    others = dict.fromkeys(each.source for name, each in device.provenance.items() if name != "total_bytes")
    rest = f"; the rest: {'; '.join(others)}" if others else ""
    return f"memory: {memory}{rest}"
