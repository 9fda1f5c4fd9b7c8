"""Turns catalogue entries into devices. The only place where units become bytes."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from msgspec import UNSET, UnsetType

from planner_app.core.hardware.device import (
    ECC_OFF,
    LAUNCH,
    Basis,
    Device,
    NvLink,
    Price,
    Provenance,
    Segment,
    Tflops,
)
from planner_app.files.devices.entries import (
    CloudPrice,
    Entry,
    Figure,
    LaunchPrice,
    Link,
    MarketPrice,
    Mig,
    Profile,
    Tensor,
)

MIB, GB = 1 << 20, 10**9
PLAIN = (
    "aliases", "vendor", "segment", "architecture", "memory_type", "unified", "ecc", "board_gpus", "pcie", "slots",
    "notes",
)  # fmt: skip
LINKS = ("nvlink", "pcie")


def build(entry: Entry, base: Device | None = None, source: str = "") -> Device:
    """What the entry leaves out comes from `base`, or is unknown. `source` applies to figures that name none."""
    own = base or Device(name=entry.name, segment=Segment.CUSTOM)
    said: dict[str, Any] = {key: value for key in PLAIN if (value := getattr(entry, key)) is not UNSET}
    provenance = dict(own.provenance)
    for attribute, value, origin in _figures(entry, entry.source or source):
        said[attribute] = value
        provenance[attribute] = origin
    for attribute in LINKS:
        if getattr(entry, attribute) is not UNSET:
            provenance[attribute] = Provenance(entry.source or source, date=entry.source_date)
    said["tflops"] = _tflops(entry, own.tflops, provenance, entry.source or source)
    if isinstance(entry.nvlink, Link):
        said["nvlink"] = _nvlink(entry.nvlink)
    if isinstance(entry.launch_price, LaunchPrice):
        paid = entry.launch_price
        price = Price(paid.usd, paid.source or source, paid.date or said.get("released", own.released), paid.kind)
        if paid.kind:  # as files of earlier versions held quotes
            said["market_prices"] = (*own.market_prices, price)
        else:
            said["launch_price"] = replace(price, kind=LAUNCH)
    if not isinstance(entry.market_prices, UnsetType):
        said["market_prices"] = tuple(map(_asked, entry.market_prices))
    if not isinstance(entry.cloud_prices, UnsetType):
        said["cloud_prices"] = tuple(map(_hourly, entry.cloud_prices))
    return replace(own, **said, provenance=MappingProxyType(provenance))


def variants(entry: Entry, device: Device) -> Iterator[Device]:
    """Variants of the same card: with ECC switched off, and its MIG slices."""
    if not isinstance(entry.ecc_off_total_mib, UnsetType):
        mib, origin = _split(entry.ecc_off_total_mib, entry.source, entry.source_date)
        yield replace(
            device,
            name=f"{device.name}{ECC_OFF}",
            aliases=tuple(f"{alias}{ECC_OFF}" for alias in device.aliases),
            total_bytes=mib * MIB,
            ecc=False,
            provenance=MappingProxyType({**device.provenance, "total_bytes": origin}),
        )
    if isinstance(entry.mig, Mig):
        for profile in entry.mig.profiles:
            yield _slice(device, profile, entry.mig)


def _figures(entry: Entry, source: str) -> Iterator[tuple[str, Any, Provenance]]:
    figures = (
        ("compute_capability", entry.compute_capability, _capability),
        ("marketed_gb", entry.marketed_gb, float),
        ("total_bytes", entry.total_mib, lambda mib: mib * MIB),
        ("bandwidth_bytes_per_second", entry.bandwidth_gb_s, lambda gb: round(gb * GB)),
        ("tdp_watts", entry.tdp_watts, int),
        ("released", entry.released, str),
    )
    for attribute, figure, convert in figures:
        if figure is not UNSET:
            value, origin = _split(figure, source, entry.source_date)
            yield attribute, convert(value), origin


def _split(figure: Any, source: str, date: str | None) -> tuple[Any, Provenance]:
    if isinstance(figure, Figure):
        own = figure.date or (None if figure.source else date)
        return figure.value, Provenance(figure.source or source, figure.basis, own)
    return figure, Provenance(source, date=date)


def _capability(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def _tflops(entry: Entry, before: Tflops, provenance: dict[str, Provenance], source: str) -> Tflops:
    after = before
    if entry.fp32_tflops is not UNSET:
        value, provenance["tflops.float32"] = _split(entry.fp32_tflops, source, entry.source_date)
        after = replace(after, float32=value)
    if isinstance(entry.tensor_dense_tflops, Tensor):
        tensor = entry.tensor_dense_tflops
        provenance["tflops.tensor"] = Provenance(tensor.source or source, tensor.basis, tensor.date)
        after = replace(after, tensorfloat32=tensor.tf32, float16=tensor.fp16, bfloat16=tensor.bf16)
    return after


def _nvlink(link: Link) -> NvLink:
    return NvLink(link.name, None if link.gb_s is None else round(link.gb_s * GB), link.bridge)


def _asked(price: MarketPrice) -> Price:
    return Price(
        price.usd, price.source, price.date, price.kind, price.note, price.condition, price.currency, price.amount
    )


def _hourly(price: CloudPrice) -> Price:
    return Price(price.usd_per_hour, price.provider, price.date, price.kind, price.note)


def _slice(card: Device, profile: Profile, mig: Mig) -> Device:
    """Memory as `nvidia-smi mig -lgip` lists it; speed by the slice's share. Slices have no NVLink and no price."""
    bandwidth, part = card.bandwidth_bytes_per_second, Fraction(profile.multiprocessors, mig.multiprocessors)
    derived = Provenance(f"{card.name}, by the slice's share", Basis.DERIVED)
    return replace(
        card,
        name=f"{card.name} MIG {profile.name}",
        aliases=tuple(f"{alias} MIG {profile.name}" for alias in card.aliases),
        slice_of=card.name,
        marketed_gb=None,
        total_bytes=profile.total_mib * MIB,
        bandwidth_bytes_per_second=None if bandwidth is None else int(bandwidth * Fraction(profile.memory_share)),
        tflops=Tflops(*(_scaled(getattr(card.tflops, key), part) for key in Tflops.__slots__)),
        nvlink=None,
        tdp_watts=None,
        launch_price=None,
        market_prices=(),
        cloud_prices=(),
        provenance=MappingProxyType(
            {
                **card.provenance,
                "total_bytes": Provenance(mig.source),
                "bandwidth_bytes_per_second": derived,
                "tflops.float32": derived,
                "tflops.tensor": derived,
            }
        ),
    )


def _scaled(tflops: float | None, part: Fraction) -> float | None:
    return None if tflops is None else round(tflops * float(part), 2)
