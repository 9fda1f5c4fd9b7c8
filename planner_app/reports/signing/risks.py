"""What could go wrong with an answer, said before somebody signs for it."""

from collections.abc import Iterator

from planner_app.core.buying.run import InTime, Proposal
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import LAUNCH, Condition
from planner_app.core.hardware.option import ON_JAX
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.roofline import Source
from planner_app.reports.signing.spans import days
from planner_app.units import format_bytes

# What the smallest machines with a GPU have that clouds rent (AWS g5.xlarge and g6.xlarge).
LEAST_HOST_BYTES = 16 << 30


def risks(chosen: Proposal) -> Iterator[str]:
    option = chosen.option
    if option.verdict is Verdict.TIGHT:
        yield "Memory is tight: the high end of the estimate's band does not fit"
    if chosen.in_time is InTime.LIKELY:
        yield f"The deadline is missed at the slow end of the speed's band: {days(chosen.high_seconds)}"
    yield from _of_renting(chosen) if chosen.pay is Pay.CLOUD else _of_buying(chosen)
    if option.speed and option.speed.source is Source.ROOFLINE:
        slow = 1 - option.speed.slowest
        yield f"Speed is estimated from data sheets and published trainings, not measured: it may be {slow:.0%} lower"
    if chosen.no_machine:
        yield f"No machine of the list takes that many: {chosen.no_machine}"
    yield from (f"{note[:1].upper()}{note[1:]}" for note in option.notes if "tight" not in note and note != ON_JAX)


def _of_renting(chosen: Proposal) -> Iterator[str]:
    held = chosen.run.host_bytes
    yield "The rent is that of the machine alone: what storage and moving the data cost is not in it"
    if chosen.rent and chosen.rent.machine is None and held > LEAST_HOST_BYTES:
        yield f"How much memory comes with the GPU is unknown: the input pipeline holds {format_bytes(held)} of it"
    if chosen.rent and chosen.rent.hour.old:
        yield "The rent is more than 90 days old, or has no date: ask again"


def _of_buying(chosen: Proposal) -> Iterator[str]:
    bought = chosen.buy
    if bought is None:
        return
    yield "The price is that of the hardware: what a room, cooling and care cost is not in it"
    if bought.cards.old:
        yield "The price of the cards is more than 90 days old, or has no date: ask again"
    if bought.cards.price.condition is Condition.USED:
        yield "The cards are used ones, without a maker's warranty"
    if bought.cards.price.kind == LAUNCH:
        yield "The price of the cards is the list price at launch, not today's"
    chassis = bought.chassis
    if chassis and (chassis.price is None or "template" in chassis.price.source):
        yield f"The {chassis.name} is a template, not an offer: get a quote for it"
    if chassis and chassis.disk_bytes < chosen.run.data_bytes:
        has, needed = format_bytes(chassis.disk_bytes), format_bytes(chosen.run.data_bytes)
        yield f"The {chassis.name} has {has} of disk, the training set takes {needed}: have disks added"
