"""The current model as panels read it: its results so far, and the user's choice."""

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtCore import QObject

from planner_app.core.compile.check import CompileCheck
from planner_app.core.estimate.need import Need, Needs
from planner_app.core.hardware.device import Device
from planner_app.core.measure.measurement import Measurement
from planner_app.core.model.description import ModelDescription
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.gui.background.answers import EstimateOf
from planner_app.gui.state.choice import BATCH, Choice
from planner_app.gui.state.history import History
from planner_app.gui.state.open_model import FailedRun, OpenModel
from planner_app.planner.opening import Opened
from planner_app.planner.planner import Planner

STOPPED = "Cancelled before this was worked out. Choose another setup, or press F5 to go on."


class CurrentModel(QObject):
    """Before a model is open there is a choice all the same, and no results."""

    def __init__(self, device: Device) -> None:
        super().__init__()
        self.models: tuple[OpenModel, ...] = ()
        self._model: OpenModel | None = None
        self.stopped = False  # by the user
        self._unopened = History(Choice(setup=Setup(batch=BATCH), device=device, devices=(device,)))

    @property
    def model(self) -> OpenModel | None:
        return self._model

    @property
    def opened(self) -> Opened | None:
        return self._model.opened if self._model else None

    @property
    def path(self) -> str:
        return self._model.source.path if self._model else ""

    @property
    def planner(self) -> Planner | None:
        return self._model.planner if self._model else None

    @property
    def description(self) -> ModelDescription | None:
        return self.opened.description if self.opened else None

    @property
    def pinned(self) -> Choice | None:
        return self._model.pinned if self._model else None

    @property
    def layer(self) -> str:
        return self._model.layer if self._model else ""

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The newest last."""
        return self._model.measurements if self._model else ()

    @property
    def checks(self) -> tuple[CompileCheck, ...]:
        return self._model.checks if self._model else ()

    @property
    def failed_run(self) -> FailedRun | None:
        return self._model.failed_run if self._model else None

    @property
    def choice(self) -> Choice:
        return self._history.now

    @property
    def _history(self) -> History[Choice]:
        return self._model.history if self._model else self._unopened

    @property
    def memories(self) -> Mapping[StepSetup, Memory]:
        return MappingProxyType(self._model.memories if self._model else {})

    @property
    def others(self) -> tuple[tuple[str, Need, int], ...]:
        """To compare with, by name, with the shares of a batch: other layouts of this model, and the other open models
        at the chosen setup, as far as they are traced."""
        setup, device, found = self.choice.setup, self.choice.device, []
        for model in self.models:
            needs = model.planner.needs_of(model.memories)
            if model is not self._model and needs.has(setup, device) and needs.of(setup, device).memory.points:
                found.append((model.source.name, needs.of(setup, device), setup.shares))
        if self._model is not None and self._model.layouts:
            known = self._model.planner.needs
            for name, on in self._model.layouts:
                if known.has(on, device) and known.of(on, device).memory.points:
                    found.append((name, known.of(on, device), on.shares))
        return tuple(found)

    def memory(self, setup: Setup) -> Memory | None:
        return self.memories.get(setup.step(self.choice.device.target))

    def trouble(self, setup: Setup) -> str:
        """Why a setup has no line; empty if it has one or may get one."""
        if self._model is None:
            return ""
        memory = self.memory(setup)
        stopped = STOPPED if self.stopped and (memory is None or not memory.points) else ""
        return self._model.troubles.get(setup.step(self.choice.device.target), stopped)

    @property
    def needs(self) -> Needs:
        """The needs of traced steps, calibrated."""
        return Needs({}) if self.planner is None else self.planner.needs_of(self.memories)

    def need(self, setup: Setup, device: Device | None = None) -> Need | None:
        """None until the setup's step is traced."""
        device, needs = device or self.choice.device, self.needs
        return needs.of(setup, device) if needs.has(setup, device) else None

    def estimate_of(self, setup: Setup, device: Device | None = None) -> EstimateOf | None:
        """The question for a full estimate of a setup; None until it is traced."""
        need = self.need(setup, device)
        return None if need is None else EstimateOf(need, setup)
