"""The catalogue's file format:

    {"name": "NVIDIA L4", "segment": "datacenter", "source": "...", "compute_capability": "8.9",
     "marketed_gb": 24, "total_mib": {"value": 23034, "source": "nvidia-smi"}, "bandwidth_gb_s": 300.1, ...}

A plain figure has the entry's source; one from another source, or a derived one, is an object that says so. Unknown
figures are left out.
"""

from typing import Annotated, Generic, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from planner_app.core.hardware.device import Basis, Condition, Segment

VERSION = 1
T = TypeVar("T")
Amount = Annotated[float, Meta(gt=0, lt=1e9)]
Count = Annotated[int, Meta(gt=0, lt=10**9)]
Capability = Annotated[str, Meta(pattern=r"^\d{1,2}\.\d$")]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
Currency = Annotated[str, Meta(pattern=r"^[A-Z]{3}$")]
Share = Annotated[str, Meta(pattern=r"^1(/[1-9]\d?)?$")]
DATE = r"^\d{4}(-\d\d(-\d\d)?)?$"
Date = Annotated[str, Meta(pattern=DATE)]


class Strict(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An unknown key is most likely a typo, and is reported."""


class Figure(Strict, Generic[T], frozen=True):
    value: T
    source: str = ""
    basis: Basis = Basis.QUOTED
    date: Date | None = None


class Tensor(Strict, frozen=True):
    tf32: Amount | None = None
    fp16: Amount | None = None
    bf16: Amount | None = None
    source: str = ""
    basis: Basis = Basis.QUOTED
    date: Date | None = None


class Link(Strict, frozen=True):
    """Gigabytes per second count both directions together."""

    name: str
    gb_s: Amount | None = None
    bridge: bool = False


class LaunchPrice(Strict, frozen=True):
    """The list price of a card at launch. A file of before 2026 may hold a quote here: `kind` says so."""

    usd: Amount
    source: str = ""
    date: Date | None = None
    kind: str = ""


class MarketPrice(Strict, frozen=True):
    """What a card, or a board with all its GPUs, costs: asked by a shop, or quoted. `currency` and `amount` are as
    given, where that was not in dollars."""

    usd: Amount
    source: str
    date: Date | None = None
    condition: Condition = Condition.NEW
    kind: str = ""
    note: str = ""
    currency: Currency = "USD"
    amount: Amount | None = None


class CloudPrice(Strict, frozen=True):
    usd_per_hour: Amount
    provider: str
    date: Date | None = None
    kind: str = ""
    note: str = ""


class Profile(Strict, frozen=True):
    """A MIG slice: `memory_share` is its share of the memory bandwidth."""

    name: Name
    total_mib: Count
    multiprocessors: Count
    memory_share: Share


class Mig(Strict, frozen=True):
    multiprocessors: Count
    profiles: tuple[Profile, ...]
    source: str = ""


class Entry(Strict, frozen=True):
    name: Name
    aliases: tuple[Name, ...] | UnsetType = UNSET
    vendor: Name | UnsetType = UNSET
    segment: Segment | UnsetType = UNSET
    architecture: str | UnsetType = UNSET
    source: str = ""
    source_date: Date | None = None
    compute_capability: Capability | Figure[Capability] | UnsetType = UNSET
    marketed_gb: Amount | Figure[Amount] | UnsetType = UNSET
    memory_type: str | UnsetType = UNSET
    unified: bool | UnsetType = UNSET
    total_mib: Count | Figure[Count] | UnsetType = UNSET
    ecc: bool | UnsetType = UNSET
    ecc_off_total_mib: Count | Figure[Count] | UnsetType = UNSET
    board_gpus: Count | UnsetType = UNSET
    bandwidth_gb_s: Amount | Figure[Amount] | UnsetType = UNSET
    fp32_tflops: Amount | Figure[Amount] | UnsetType = UNSET
    tensor_dense_tflops: Tensor | UnsetType = UNSET
    nvlink: Link | UnsetType = UNSET
    pcie: str | UnsetType = UNSET
    slots: Annotated[float, Meta(gt=0, le=8)] | UnsetType = UNSET
    tdp_watts: Count | Figure[Count] | UnsetType = UNSET
    released: Date | Figure[Date] | UnsetType = UNSET
    launch_price: LaunchPrice | UnsetType = UNSET
    market_prices: tuple[MarketPrice, ...] | UnsetType = UNSET
    cloud_prices: tuple[CloudPrice, ...] | UnsetType = UNSET
    mig: Mig | UnsetType = UNSET
    notes: tuple[str, ...] | UnsetType = UNSET


class Rule(Strict, frozen=True):
    """How a total was derived: `marketed_gb * 1024 * share`, rounded down."""

    share: tuple[int, int]
    why: str
    seen: str


class CatalogueFile(Strict, frozen=True):
    schema_version: int
    devices: tuple[Entry, ...]
    about: tuple[str, ...] = ()
    rules: dict[str, Rule] = {}
