"""Memories that are straight lines over the batch, and devices made up for tests of the shop."""

from dataclasses import replace
from datetime import date

from steps import Step

from planner_app.core.estimate.curve import LARGEST_BATCH, anchors
from planner_app.core.estimate.need import Needs
from planner_app.core.hardware.device import Device, Price, Segment, Tflops
from planner_app.core.hardware.option import Offers, ShopRequest
from planner_app.core.hardware.shop import shop, steps
from planner_app.core.model.setup import Precision, Setup, StepSetup
from planner_app.core.model.trace import Phase, Role, Size, StepTrace
from planner_app.core.replay.allocate import Peak
from planner_app.core.replay.memory import Memory, Point

MIB, GIB = 1 << 20, 1 << 30
TODAY = date(2026, 11, 16)


def card(name: str = "NVIDIA X1", gib: float = 24, capability: tuple[int, int] | None = (8, 9), **more) -> Device:
    known = {
        "segment": Segment.DATACENTER,
        "bandwidth_bytes_per_second": 10**12,
        "tflops": Tflops(float32=20, tensorfloat32=80, float16=160, bfloat16=160),
        "pcie": "4.0 x16",
        "tdp_watts": 100,
    }
    return Device(name, total_bytes=int(gib * GIB), compute_capability=capability, **(known | more))


def an_hour(usd: float, day: str | None = "2026-11-01", source: str = "Cloud") -> Price:
    return Price(usd, source, day)


def line(setup: StepSetup, constant: int, slope: int, band: float = 1.0, trace: StepTrace | None = None) -> Memory:
    """`constant + slope * batch` bytes, and `band` times that at the high end."""

    def point(batch: int) -> Point:
        need = constant + slope * batch
        return Point(batch, need, need, need, int(need * band), constant, Peak(need, 0, need), setup.xla)

    return Memory(trace or one_multiplication(), setup, map(point, anchors(LARGEST_BATCH)))


def one_multiplication(written_bytes: int = 0):
    """2e9 operations and 1000 bytes a sample, and 4000 bytes of weights; `written_bytes` a sample besides."""
    step = Step()
    step.variable(4000, Role.WEIGHT)
    image = step.make("Fill", size=Size(0, 600))
    step.make("MatMul", image, size=Size(0, 400), where={"work": Size(0, 2 * 10**9), "phase": Phase.FORWARD})
    if written_bytes:
        step.make("Mul", image, size=Size(0, written_bytes))
    return step.trace()


def lines(want: ShopRequest, devices, constant: int = GIB, slope: int = 100 * MIB, band: float = 1.0):
    """Half precision takes half of what grows; adding up gradients another half gibibyte."""
    return {
        step: line(
            step,
            constant + (GIB // 2 if step.accumulates else 0),
            slope // (1 if step.precision is Precision.FLOAT32 else 2),
            band,
        )
        for step in steps(want, devices)
    }


def offered(want: ShopRequest | int, *devices: Device, measured=None, **memory) -> Offers:
    want = ShopRequest(Setup(batch=want)) if isinstance(want, int) else want
    return shop(want, devices, Needs(lines(want, devices, **memory)), today=TODAY, measured=measured)


def wanted(batch: int, *precisions: Precision, **more) -> ShopRequest:
    jit = more.pop("jit", None)
    setup = Setup(batch=batch) if jit is None else replace(Setup(batch=batch), jit=jit)
    return ShopRequest(setup, precisions or (Precision.FLOAT32,), **more)
