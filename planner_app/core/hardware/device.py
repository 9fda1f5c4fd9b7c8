"""What a setup runs on: a GPU of the catalogue, a slice of one, any card of a given size, or TensorFlow's CPU device.

An unknown figure is `None`, never 0. Marketed gigabytes are only shown: capacity is what the driver reports
(`total_bytes`), which is up to 7 % less.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from planner_app.errors import DeviceError

LAUNCH = "list price at launch"
QUOTE = "quote"
NVIDIA = "NVIDIA"
ECC_OFF = " ECC off"  # ends the name of a card with error correction switched off


class Segment(StrEnum):
    CONSUMER = "consumer"
    LAPTOP = "laptop"
    WORKSTATION = "workstation"
    DATACENTER = "datacenter"
    EDGE = "edge"
    HOST = "host"
    CUSTOM = "custom"


class Condition(StrEnum):
    """Of a card that is sold."""

    NEW = "new"
    USED = "used"


class Basis(StrEnum):
    """How a figure came about."""

    QUOTED = "quoted"  # published, or printed by a driver
    DERIVED = "derived"  # calculated from other figures
    GIVEN = "given"  # by the user


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a figure comes from. `date` is when it was valid, as precisely as known: "2026-08-22", "2026-08"."""

    source: str
    basis: Basis = Basis.QUOTED
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a card, or of one GPU for an hour in a cloud, whose provider is the `source`.

    Attributes:
        kind: `LAUNCH`, `QUOTE`, "specialist" or "hyperscaler" cloud; empty for what shops ask.
        note: What is not in the price, or what range it was taken from.
        currency: Of the `amount` that was asked, where it was not dollars.
    """

    usd: float
    source: str
    date: str | None = None
    kind: str = ""
    note: str = ""
    condition: Condition = Condition.NEW
    currency: str = "USD"
    amount: float | None = None


@dataclass(frozen=True, slots=True)
class Tflops:
    """Peak of dense arithmetic, without sparsity (twice as high), FP8 and FP4.

    `float32` is the ordinary units', `tensorfloat32`, `float16` and `bfloat16` the tensor cores' with float32 sums.
    """

    float32: float | None = None
    tensorfloat32: float | None = None
    float16: float | None = None
    bfloat16: float | None = None


@dataclass(frozen=True, slots=True)
class NvLink:
    """`bytes_per_second` in both directions together, as NVIDIA counts it. A bridge joins two cards only."""

    name: str
    bytes_per_second: int | None = None
    bridge: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    """One kind of device.

    Attributes:
        compute_capability: (major, minor), which decides how much TensorFlow leaves free.
        marketed_gb: The number on the box, in whatever gigabytes its maker meant. Never a capacity.
        total_bytes: What NVML reports as the total. `None` is unknown for a GPU, unlimited for the CPU device.
        ecc: Error correction is on in `total_bytes`; on GDDR cards it takes a sixteenth.
        unified: The memory is the host's own, shared with every program on it.
        slots: How many slots of a machine a card takes; None for modules that go onto a board of their own (SXM).
        board_gpus: How many GPUs a board of it carries: it is bought, and plugged in, as a whole.
        tdp_watts: Of one GPU.
        released: "2023-03-21", or "2024" where only the year is known.
        provenance: By name of the attribute.
    """

    name: str
    segment: Segment
    architecture: str | None = None
    compute_capability: tuple[int, int] | None = None
    marketed_gb: float | None = None
    memory_type: str | None = None
    total_bytes: int | None = None
    ecc: bool | None = None
    vendor: str = NVIDIA
    board_gpus: int = 1
    slots: float | None = None
    unified: bool = False
    bandwidth_bytes_per_second: int | None = None
    tflops: Tflops = Tflops()
    nvlink: NvLink | None = None
    pcie: str | None = None
    tdp_watts: int | None = None
    released: str | None = None
    launch_price: Price | None = None
    market_prices: tuple[Price, ...] = ()
    cloud_prices: tuple[Price, ...] = ()
    slice_of: str | None = None
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Provenance] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def __post_init__(self) -> None:
        if self.total_bytes is not None and self.total_bytes <= 0:
            raise DeviceError(f"{self.name} can't have {self.total_bytes} bytes of memory: use a size such as 24GiB.")

    @property
    def cuda(self) -> bool:
        return self.segment is not Segment.HOST

    @property
    def supported(self) -> bool:
        """Whether TensorFlow's own wheels run on GPUs of its maker."""
        return self.vendor == NVIDIA

    @property
    def whole(self) -> bool:
        """A card as it is sold: not a slice, and with its default error correction."""
        return self.slice_of is None and not self.name.endswith(ECC_OFF)

    @property
    def alone(self) -> bool:
        """Whether a process can use only one: a slice of a GPU, or the GPU of a laptop."""
        return self.slice_of is not None or self.segment is Segment.LAPTOP

    @property
    def target(self) -> str:
        """What a trace is made for: the CPU, or a GPU of a compute capability that decides how convolutions lie and
        how much workspace cuBLAS is given."""
        if not self.cuda:
            return "cpu"
        major = self.compute_capability[0] if self.compute_capability else 8
        return f"gpu:{min(max(major, 6), 9)}.0"

    @property
    def total_is_derived(self) -> bool:
        known = self.provenance.get("total_bytes")
        return known is not None and known.basis is Basis.DERIVED


def cpu_device(total_bytes: int | None = None) -> Device:
    """TensorFlow's CPU device on the BFC allocator: no CUDA, and no limit unless one is given."""
    return Device(name="cpu", segment=Segment.HOST, total_bytes=total_bytes, provenance=_given(total_bytes))


def custom_device(name: str, total_bytes: int, compute_capability: tuple[int, int] | None = None) -> Device:
    """A card with only its memory known: `total_bytes` as its driver reports it."""
    return Device(
        name=name,
        segment=Segment.CUSTOM,
        compute_capability=compute_capability,
        total_bytes=total_bytes,
        provenance=_given(total_bytes),
    )


def _given(total_bytes: int | None) -> Mapping[str, Provenance]:
    return MappingProxyType({} if total_bytes is None else {"total_bytes": Provenance("command line", Basis.GIVEN)})
