"""The plan panel as plain values: a plan, and where it comes from."""

from dataclasses import dataclass, field

from planner_app.core.estimate.need import FindCalibration, FindLine, Needs, not_compiled, uncalibrated
from planner_app.core.hardware.device import Device, cpu_device, custom_device
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Precision, StepSetup
from planner_app.core.plan.ladder import PlanRequest, plan_of
from planner_app.core.plan.pipeline import InputSettings
from planner_app.core.plan.plan import DeviceKind, Entry, MemorySettings, Plan
from planner_app.core.replay.memory import Memory
from planner_app.errors import DeviceError, PlanError, PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.state.choice import Choice
from planner_app.planner.plan import now, versions
from planner_app.units import format_bytes

LOWER = (Precision.MIXED_BFLOAT16, Precision.MIXED_FLOAT16)  # precisions that a rung may use


@dataclass(frozen=True, slots=True)
class Terms:
    """The panel's fields: what a plan may use."""

    lower: Precision | None = None
    every_device: bool = False
    sure: bool = False
    memory: MemorySettings = field(default_factory=MemorySettings)
    input: InputSettings = field(default_factory=InputSettings)
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanOf:
    """A question for `answers`: a plan, or a sentence that says why there is none.

    Attributes:
        figures: How many the compiler has given, since `line` gives others with every one.
    """

    model: CheckedModel = field(compare=False)
    file: str
    request: PlanRequest
    memories: tuple[tuple[StepSetup, Memory], ...]
    calibration: FindCalibration = uncalibrated
    line: FindLine = not_compiled
    figures: int = 0

    def answer(self) -> Plan | str:
        needs = Needs(dict(self.memories), self.calibration, self.line)
        try:
            return plan_of(self.model, needs, self.request, file=self.file, created=now(), versions=versions())
        except PlannerError as error:
            return str(error)


@dataclass(frozen=True, slots=True)
class RungRow:
    """One rung on one device. `capacity_bytes` is None without a limit."""

    device: str
    number: int
    at_a_time: int
    steps: int
    precision: str
    compiled: bool
    peak_bytes: int
    low_bytes: int
    high_bytes: int
    capacity_bytes: int | None

    @property
    def spare(self) -> str:
        return "" if self.capacity_bytes is None else format_bytes(self.capacity_bytes - self.peak_bytes)

    @property
    def band(self) -> str:
        return f"{format_bytes(self.low_bytes)} to {format_bytes(self.high_bytes)}"


@dataclass(frozen=True, slots=True)
class PlanValues:
    """Attributes:
    file: The plan file that is shown; empty for the plan of the chosen setup.
    note: Why there is no plan, or a remark on the plan.
    bad: The note describes a problem.
    """

    plan: Plan | None = None
    file: str = ""
    note: str = ""
    bad: bool = False


def request_of(choice: Choice, terms: Terms) -> PlanRequest:
    """The request for the current choice; the chosen device comes first.

    Raises:
        PlanError: The hosts can't share the chosen GPUs.
    """
    others = tuple(device for device in choice.devices if device != choice.device) if terms.every_device else ()
    lower = (terms.lower,) if terms.lower is not None and terms.lower is not choice.setup.precision else ()
    if terms.hosts and choice.setup.gpus % len(terms.hosts):
        raise PlanError(
            f"{choice.setup.gpus} GPUs can't be divided evenly among {len(terms.hosts)} hosts: choose a multiple of "
            f"{len(terms.hosts)} in the setup."
        )
    return PlanRequest(
        setup=choice.setup,
        devices=(choice.device, *others),
        precisions=lower,
        memory=terms.memory,
        hosts=terms.hosts,
        input=terms.input,
        sure=terms.sure,
    )


def rung_rows(plan: Plan) -> list[RungRow]:
    return [
        RungRow(
            device=entry.device.name,
            number=number,
            at_a_time=rung.per_gpu_batch,
            steps=rung.accumulate,
            precision=str(rung.precision),
            compiled=rung.jit,
            peak_bytes=rung.peak.expected_bytes,
            low_bytes=rung.peak.low_bytes,
            high_bytes=rung.peak.high_bytes,
            capacity_bytes=entry.device.capacity_bytes,
        )
        for entry in plan.devices
        for number, rung in enumerate(entry.rungs)
    ]


def entry_for(plan: Plan, device: Device) -> Entry:
    """The plan's entry for a device, or its first entry."""
    names = {entry.device.name.casefold(): entry for entry in plan.devices}
    return names.get(device.name.casefold(), plan.devices[0])


def device_of(entry: Entry) -> Device:
    """The device from the catalogue, or one with the plan's capacity if it is not listed."""
    planned = entry.device
    if planned.kind is DeviceKind.CPU:
        return cpu_device(planned.total_bytes)
    try:
        return find_device(planned.name)
    except DeviceError:
        total = planned.total_bytes or planned.capacity_bytes
        if total is None:
            raise
        return custom_device(planned.name, total, planned.compute_capability)


def opened_choice(choice: Choice, plan: Plan) -> Choice:
    """The choice of a plan's first rung."""
    entry = entry_for(plan, choice.device)
    device = device_of(entry)
    devices = choice.devices if device in choice.devices else (*choice.devices, device)
    return Choice(plan.setup(entry, entry.rungs[0]), device, devices, choice.precisions, choice.gpu_counts)
