"""The doctor panel's tasks: read a log, and compute the estimate to compare with."""

from io import BytesIO

from planner_app.core.doctor import Diagnosis
from planner_app.core.doctor.comparison import batch_of
from planner_app.core.hardware.device import Device
from planner_app.core.model.description import ModelDescription
from planner_app.core.model.setup import Setup
from planner_app.errors import PlannerError
from planner_app.files.logs import diagnosed_stream
from planner_app.gui.background.task import Task
from planner_app.gui.panels.doctor.values import Beside, Log
from planner_app.planner.diagnose import beside_model, diagnose_file
from planner_app.planner.planner import Planner


def read(log: Log, layers: tuple[str, ...], task: Task) -> Diagnosis:
    if log.path:
        return diagnose_file(log.path, layers, on_progress=task.report, cancelled=task.cancelled)
    return diagnosed_stream(BytesIO(log.text.encode("utf-8", "replace")), layers)


def beside(
    found: Diagnosis, planner: Planner, description: ModelDescription, wanted: tuple[Setup, Device], task: Task
) -> Beside:
    """If there is no estimate, the reason is shown next to the log; the diagnosis remains."""
    setup, device = wanted
    try:
        compared = beside_model(
            found,
            planner,
            description,
            setup,
            batch_known=batch_of(found, description) is None,
            device=device,
            on_progress=task.report,
            cancelled=task.cancelled,
        )
    except PlannerError as error:
        return Beside(setup, device, trouble=str(error))
    return Beside(setup, device, compared)


def layers_of(description: ModelDescription | None) -> tuple[str, ...]:
    return tuple(layer.path for layer in description.layers) if description is not None else ()
