"""One open model, with all results so far and the user's choice for it."""

from dataclasses import dataclass, field, replace

from planner_app.core.compile.check import CompileCheck
from planner_app.core.hardware.device import Device
from planner_app.core.measure.measurement import Measurement
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.history import History
from planner_app.gui.state.source import ModelSource
from planner_app.planner.opening import Opened
from planner_app.planner.planner import Planner


@dataclass(frozen=True, slots=True)
class FailedRun:
    """The setup that ran out of memory according to a log.

    Attributes:
        bytes: What was in use and asked for, or the limit; None if the log does not say.
    """

    log: str
    setup: Setup
    device: Device
    bytes: int | None


@dataclass(slots=True, eq=False)
class OpenModel:
    """Changed by the session alone.

    Attributes:
        measurements: The newest last.
        layer: The highlighted one.
        layouts: Other ways to share it out over GPUs, by name, that the chart draws too.
    """

    source: ModelSource
    opened: Opened
    planner: Planner
    history: History[Choice]
    memories: dict[StepSetup, Memory] = field(default_factory=dict)
    troubles: dict[StepSetup, str] = field(default_factory=dict)
    measurements: tuple[Measurement, ...] = ()
    checks: tuple[CompileCheck, ...] = ()
    pinned: Choice | None = None
    layer: str = ""
    failed_run: FailedRun | None = None
    layouts: tuple[tuple[str, Setup], ...] = ()

    def reopened_from(self, before: "OpenModel") -> None:
        """Take over the choice; results only if the file is still the same."""
        self.history, self.failed_run = before.history, before.failed_run
        if self.opened.checked == before.opened.checked:
            self.measurements, self.checks, self.pinned = before.measurements, before.checks, before.pinned


def first_choice(choice: Choice, opened: Opened) -> Choice:
    """The current choice, without what belongs to another model."""
    names = {each.name for each in opened.description.inputs}
    sizes = tuple(each for each in choice.setup.sizes if each[0] in names)
    return replace(choice, setup=replace(choice.setup, sizes=sizes, freeze=(), remat="", lora=""))
