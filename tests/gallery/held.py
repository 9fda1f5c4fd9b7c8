"""Models of the gallery held against real steps: what was measured is kept, what is estimated is today's.

held = Held("vae", Estimated(...), Measured(...))
held.error, held.in_band
"""

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from planner_app.core.estimate.estimate import estimate
from planner_app.core.estimate.need import Need
from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Jit, Setup
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.memory import Memory
from planner_app.errors import WorkerError
from planner_app.files.devices.catalogue import find_device
from planner_app.jobs.protocol import Trace
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.measuring.measure import measure
from planner_app.planner.tracer import trace_limits
from tests.gallery.entries import BATCH, Entry

FITS, PROCESSES = 2, 3


@dataclass(frozen=True, slots=True)
class Estimated:
    live_bytes: int
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one process with kernels one by one, and of ordinary `fit` in several.

    Attributes:
        source: What the model is made of, and with: another one is measured anew.
        fit_bytes: The highest peak of each process.
    """

    source: str
    live_bytes: int
    live_operation: str
    fit_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """
    Attributes:
        other_ways: Live bytes as estimated from the .keras file and from the live object.
        refused: The sentence, where it can be opened by its function alone.
    """

    name: str
    estimated: Estimated
    measured: Measured
    other_ways: Mapping[str, int] = field(default_factory=dict)
    refused: str = ""

    @property
    def error(self) -> float:
        return self.estimated.live_bytes / self.measured.live_bytes - 1

    @property
    def in_band(self) -> bool:
        return self.estimated.low_bytes <= max(self.measured.fit_bytes) <= self.estimated.high_bytes


def setup_of(entry: Entry) -> Setup:
    return Setup(batch=BATCH, jit=Jit.OFF, sizes=entry.sizes)


def estimated(entry: Entry, model: CheckedModel, worker: WarmWorker) -> Estimated:
    """Past the cache on disk: today's code."""
    setup = setup_of(entry)
    step = setup.step("cpu")
    trace = worker.run(Trace(model=model, setup=step), StepTrace, trace_limits(model))
    told = estimate(Need(Memory(trace, step), find_device("cpu")), setup)
    return Estimated(told.live_bytes, told.low_bytes, told.high_bytes)


def measured(entry: Entry, model: CheckedModel) -> Measured:
    inline = measure(model, setup_of(entry), Place(), order=Order.INLINE).runs[0]
    ordinary = measure(model, setup_of(entry), Place(), fits=FITS, processes=PROCESSES)
    peaks = tuple(run.peak_bytes(run.devices[0]) or 0 for run in ordinary.runs)
    if not inline.live_bytes or ordinary.ended or len(peaks) < PROCESSES or not all(peaks):
        raise WorkerError(f"{entry.name} was measured in part only: {inline.ended or ordinary.ended}")
    return Measured(source_of(entry), inline.live_bytes, inline.live_operation, peaks)


def source_of(entry: Entry) -> str:
    """Of the function and what stands beside it, other models' functions apart, and of the libraries."""
    module = ast.parse(entry.file.read_text(encoding="utf-8"))
    parts = [
        ast.unparse(node)
        for node in module.body
        if not isinstance(node, ast.FunctionDef) or node.name == entry.name or node.name.startswith("_")
    ]
    libraries = ["tensorflow", "keras", *(["keras-hub"] if entry.file.stem == "hub" else [])]
    made_of = [BATCH, entry.sizes, parts, [version(each) for each in libraries]]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]


def read_results(file: Path) -> dict[str, Measured]:
    if not file.exists():
        return {}
    models = json.loads(file.read_text(encoding="utf-8"))["models"]
    return {
        each["name"]: Measured(**{**each["measured"], "fit_bytes": tuple(each["measured"]["fit_bytes"])})
        for each in models
    }


def as_results(versions: str, all_of_it: list[Held]) -> str:
    models = [{**asdict(each), "error": round(each.error, 6), "in_band": each.in_band} for each in all_of_it]
    return json.dumps({"versions": versions, "models": models}, indent=1) + "\n"
