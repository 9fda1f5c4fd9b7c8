"""What a published figure must say of itself: the model, the setup, the versions and the date."""

from datetime import UTC, datetime
from pathlib import Path

from planner_app import __version__
from planner_app.gui.look.sheet import Caption
from planner_app.gui.state.session import Session
from planner_app.reports.run_words import gpus_text, run_text

NAMES = {"tensorflow": "TensorFlow", "keras": "Keras"}


def caption_of(session: Session) -> Caption:
    if session.planner is None:
        return Caption(origin=origin(session))
    return Caption(Path(session.path).name, setup_line(session), origin(session))


def setup_line(session: Session) -> str:
    setup, device = session.choice.setup, session.choice.device
    memory = session.memory(setup)
    known = memory is not None and memory.points
    run = run_text(setup.gpus, memory.xla) if memory is not None and known else gpus_text(setup.gpus)
    parts = [f"batch {setup.batch:,}", str(setup.precision), run, f"on {device.name}", f"optimizer {setup.optimizer}"]
    parts += [f"loss {setup.loss}"] if setup.loss else []
    parts += [f"{setup.accumulate} accumulation steps"] if setup.accumulate > 1 else []
    parts += [f"frozen {', '.join(setup.freeze)}"] if setup.freeze else []
    parts += [f"remat {setup.remat}"] if setup.remat else []
    parts += [f"LoRA {setup.lora}"] if setup.lora else []
    return ", ".join(parts)


def origin(session: Session) -> str:
    versions = {} if session.planner is None else session.planner.tracer.versions
    said = [f"{name} {versions[key]}" for key, name in NAMES.items() if versions.get(key)]
    return ", ".join((f"Plimsoll {__version__}", *said, datetime.now(UTC).astimezone().date().isoformat()))
