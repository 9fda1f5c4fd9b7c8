"""A plan trained by Ray Train: in each of its workers a supervisor, which agrees with the others on the rung.

trainer = load_plan("plan.json").ray_trainer("train.py")
result = trainer.fit()
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner_app.core.plan.plan import DeviceKind
from planner_app.errors import PlanError
from planner_app.files.plans import plan_text
from planner_app.files.reading import read_at_most
from planner_app.files.writing import keep, reason
from planner_app.fleet.training import jax_trainer, tensorflow_trainer
from planner_app.train.recover.supervise import TRIES, supervise

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan

MOST_BYTES = 16 << 20  # of a script
ENTRY = "planner_app.train.recover.on_ray:train"


def ray_trainer(
    plan: "TrainingPlan",
    script: str | Path,
    *arguments: str,
    folder: str | Path | None = None,
    every: int | None = None,
    tries: int = TRIES,
    **options: Any,
) -> Any:
    try:
        text = read_at_most(script, MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        said = reason(error) if isinstance(error, OSError) else "it is not text"
        raise PlanError(f"The training script {str(script)!r} can't be read: {said}.") from error
    request = {
        "plan": plan_text(plan.plan),
        "device": plan.entry.device.name,
        "rung": plan.rung,
        "script": text,
        "name": Path(script).name,
        "arguments": [str(each) for each in arguments],
        "folder": None if folder is None else str(Path(folder).resolve()),
        "every": every,
        "tries": tries,
    }
    gpus = plan.entry.gpus // plan.hosts if plan.entry.device.kind is DeviceKind.GPU else 0
    if plan.entry.sharding is not None:
        return jax_trainer(ENTRY, request, gpus, **options)
    return tensorflow_trainer(ENTRY, request, plan.hosts, gpus, **options)


def train(request: dict[str, Any]) -> dict[str, Any]:
    """On a worker: the script to its end, as `plimsoll run` would. What it gives is what Ray Train reports.

    Raises:
        PlanError: It did not come to its end: why.
    """
    with ExitStack() as stack:
        temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="plimsoll-ray-"))
        folder = Path(request["folder"] or temporary)
        plan, script = folder / "plan.json", folder / request["name"]
        keep(plan, request["plan"].encode())
        keep(script, request["script"].encode())
        report = supervise(
            plan,
            [str(script), *request["arguments"]],
            folder=folder / "run",
            every=request["every"],
            tries=request["tries"],
            rung=request["rung"],
            device=request["device"],
        )
    if not report.finished:
        raise PlanError(f"Training ended after {len(report.tries)} tries: {report.reason}.")
    last = report.tries[-1]
    return {
        "worker": report.worker,
        "tries": len(report.tries),
        "rung": last.last_rung,
        "updates": last.updates,
        "ends": [each.end for each in report.tries],
    }
