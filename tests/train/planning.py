"""Plans made by hand, for tests that train and don't estimate."""

from planner_app.core.model.setup import Precision
from planner_app.core.plan.plan import (
    VERSION,
    DeviceKind,
    Entry,
    InputPlan,
    MemorySettings,
    Peak,
    Plan,
    PlannedDevice,
    PlannedModel,
    PlannedOptimizer,
    Rung,
    Source,
    SourceKind,
    Training,
    fingerprint,
)

MIB = 1 << 20
WHEN = "2026-11-16T05:00:00Z"
SOURCE = Source(SourceKind.ESTIMATE, {"plimsoll": "0.1.0"}, WHEN, "")


def peak(expected: int, high: int | None = None, source: Source = SOURCE) -> Peak:
    return Peak(expected, expected * 9 // 10, high or expected * 2, expected, source)


def rung(batch: int, gpus: int, accumulate: int, expected: int, precision: str = "float32", jit: bool = False) -> Rung:
    return Rung(-(-batch // (gpus * accumulate)), accumulate, Precision(precision), jit, peak(expected))


def cpu_entry(batch: int, gpus: int, *steps: int | tuple[int, str], environment: dict[str, str] | None = None) -> Entry:
    """An entry for the CPU with a rung for each number of accumulation steps, or of steps and precision."""
    rungs = []
    for number, step in enumerate(steps):
        accumulate, precision = step if isinstance(step, tuple) else (step, "float32")
        rungs.append(rung(batch, gpus, accumulate, (200 >> number) * MIB, precision))
    device = PlannedDevice("cpu", DeviceKind.CPU, None, None, None)
    usual = {"KERAS_BACKEND": "tensorflow", "TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_ENABLE_ONEDNN_OPTS": "0"}
    return Entry(device, gpus, MemorySettings(), environment or usual, tuple(rungs))


def plan(batch: int, *entries: Entry, optimizer: str = "adam", hosts: tuple[str, ...] = (), **more) -> Plan:
    sizes = more.pop("sizes", [12, 4])
    return Plan(
        schema_version=VERSION,
        created=WHEN,
        versions={"plimsoll": "0.1.0"},
        model=PlannedModel("tiny", "tiny.keras", "keras", "", sum(sizes), len(sizes), fingerprint(sizes)),
        training=Training(batch, PlannedOptimizer(optimizer, more.pop("options", {})), "", (), "", {}),
        devices=entries,
        hosts=hosts,
        input=InputPlan(64, 2, 0, 0, 64 * batch * 3),
        warnings=(),
    )
