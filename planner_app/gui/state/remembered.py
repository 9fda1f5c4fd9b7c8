"""What is remembered of models from one session to the next: how they were opened, chosen and judged."""

import os
from dataclasses import replace
from pathlib import Path

from msgspec import Struct

from planner_app.core.estimate.verdict import Verdict
from planner_app.core.model.setup import Setup
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.panels.centre.recent import Recent
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.open_model import OpenModel
from planner_app.gui.state.source import ModelSource
from planner_app.gui.state.status import verdict as answer
from planner_app.units import format_bytes


class Remembered(Struct, frozen=True, kw_only=True):
    """One model. `said` is the last answer in a few words."""

    path: str
    custom: str | None = None
    trust: tuple[str, ...] = ()
    data: str | None = None
    setup: Setup | None = None
    device: str = ""
    verdict: Verdict | None = None
    said: str = ""

    @property
    def source(self) -> ModelSource:
        return ModelSource(self.path, self.custom, self.trust, self.data)

    @property
    def recent(self) -> Recent:
        home = os.path.expanduser("~")  # noqa: PTH111 - an account may have no home
        folder = str(Path(self.path).parent)
        shown = folder.replace(home, "~", 1) if folder.startswith(home) else folder
        return Recent(self.path, Path(self.path).name, shown, self.verdict, self.said)

    def chosen_again(self, choice: Choice) -> Choice:
        """The choice with the setup and device of last time, as far as they are still known."""
        if self.setup is None:
            return choice
        try:
            device = find_device(self.device) if self.device else choice.device
        except PlannerError:
            device = choice.device
        return replace(choice, setup=self.setup, device=device)


def remember(model: OpenModel, before: Remembered | None, device: str) -> Remembered:
    """The last answer stays until there is another."""
    source, choice = model.source, model.history.now
    verdict, said = (before.verdict, before.said) if before is not None else (None, "")
    needs = model.planner.needs_of(model.memories)
    if needs.has(choice.setup, choice.device) and (need := needs.of(choice.setup, choice.device)).memory.points:
        level = need.level_on_line(choice.setup.per_gpu_batch)
        _, verdict = answer(choice, need)
        said = f"batch {choice.setup.batch:,} needs {format_bytes(level.peak_bytes)} on {choice.device.name}"
    return Remembered(
        path=source.path,
        custom=source.custom,
        trust=source.trust,
        data=source.data,
        setup=choice.setup,
        device=device,
        verdict=verdict,
        said=said,
    )
