"""From a model to offers: traces are made as they are found to be needed, those for accumulation only then."""

from collections.abc import Callable, Sequence
from datetime import date

from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Offers, Want
from planner_app.core.hardware.shop import Measured, shop
from planner_app.core.measure.calibration import Taught, untaught
from planner_app.core.model.setup import StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.jobs.protocol import Progress
from planner_app.planner.tracer import Tracer


def offers_for(
    tracer: Tracer,
    want: Want,
    devices: Sequence[Device],
    *,
    today: date,
    measured: Measured | None = None,
    taught: Taught = untaught,
    on_progress: Callable[[Progress], None] | None = None,
) -> Offers:
    """`tracer.keep()` afterwards remembers what was worked out."""
    memories: dict[StepSetup, Memory] = {}
    while True:
        offers = shop(want, devices, memories, today=today, measured=measured, taught=taught)
        if not offers.missing:
            return offers
        tracer.prepare(offers.missing, on_progress)
        memories |= {step: tracer.memory(step) for step in offers.missing}
