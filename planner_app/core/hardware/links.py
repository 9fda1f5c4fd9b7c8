"""What gradients take on their way between GPUs: a ring all-reduce over the link between them.

Part of it hides behind the backward pass, which makes gradients layer by layer. The rest is waited for.
"""

from dataclasses import dataclass

from planner_app.core.hardware.device import Device, Segment
from planner_app.units import count_of

# Bytes a second and lane in one direction, by generation, after encoding (128 bits in 130; 242 in 256 for 6.0).
PCIE_LANE = {"3.0": 0.985e9, "4.0": 1.969e9, "5.0": 3.938e9, "6.0": 7.563e9}
# GeForce drivers allow no peer access: what one card sends is written to the host's memory and read from there.
THROUGH_HOST = 0.5
# Shares below are fitted to published speeds of 2 to 16 GPUs (tests/speeds, `make speeds`).
ACHIEVED = 0.419  # of the link's bandwidth, by collectives
HIDDEN = 0.01  # of the backward pass, behind which a reduction can hide
BACKWARD = 2 / 3  # of a step: twice as much arithmetic as the forward pass


@dataclass(frozen=True, slots=True)
class Link:
    """Between one GPU and the next in a ring, in one direction."""

    name: str
    bytes_per_second: float


def link_between(device: Device, gpus: int) -> Link | None:
    """`None` if unknown. A bridge joins two cards only; more of them talk over PCIe."""
    nvlink = device.nvlink
    if nvlink is not None and nvlink.bytes_per_second is not None and (gpus <= 2 or not nvlink.bridge):
        return Link(nvlink.name, nvlink.bytes_per_second / 2)  # counted in both directions together
    if device.pcie is None:
        return None
    generation, _, lanes = device.pcie.partition(" x")
    if generation not in PCIE_LANE or not count_of(lanes):
        return None
    share = THROUGH_HOST if device.segment is Segment.CONSUMER else 1.0
    return Link(f"PCIe {device.pcie}", PCIE_LANE[generation] * count_of(lanes) * share)


def reduce_seconds(gradient_bytes: int, device: Device, gpus: int) -> float | None:
    """A ring sends every gradient around twice, minus one GPU's share. `None` if the link is unknown."""
    if gpus == 1:
        return 0.0
    link = link_between(device, gpus)
    if link is None:
        return None
    return 2 * (gpus - 1) / gpus * gradient_bytes / (link.bytes_per_second * ACHIEVED)


def waited_for(reducing_seconds: float, step_seconds: float) -> float:
    """What is left of a reduction after the backward pass of the last step has hidden some."""
    return max(reducing_seconds - HIDDEN * BACKWARD * step_seconds, 0.0)
