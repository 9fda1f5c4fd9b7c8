"""What was measured or compiled, as marks on the chart."""

from collections.abc import Iterable, Sequence

from planner_app.core.compile.check import CompileCheck
from planner_app.core.hardware.device import Device
from planner_app.core.measure.measurement import Measurement
from planner_app.gui.panels.chart.values import GIB, Mark
from planner_app.units import format_bytes

MEASURED, COMPILED = "measured", "compile check"


def marks_of(measurements: Sequence[Measurement], checks: Sequence[CompileCheck], device: Device) -> tuple[Mark, ...]:
    return (*_measured(measurements, device), *(_compiled(check, device) for check in checks))


def _measured(measurements: Sequence[Measurement], device: Device) -> Iterable[Mark]:
    for each in measurements:
        sharing = 1 if each.place.on_gpu else each.setup.gpus  # replicas on the CPU share one allocator
        where = f"{each.setup.precision}, {each.setup.gpus} x {each.hardware}, {each.measured_at[:10]}"
        elsewhere = each.place.on_gpu != device.cuda or (each.place.on_gpu and device.name not in each.hardware)
        limit = each.place.limit_bytes or next((run.limit_bytes for run in each.runs if run.limit_bytes), None)
        if each.oom is not None and limit is not None:
            text = f"out of memory: {each.oom.layer or each.oom.operation} ({where})"
            yield Mark(MEASURED, each.setup.batch, limit / GIB, text, failed=True, elsewhere=elsewhere)
        elif each.typical_bytes is not None:
            peak = each.typical_bytes // sharing
            text = f"measured: {format_bytes(peak)} ({where})"
            yield Mark(MEASURED, each.setup.batch, peak / GIB, text, elsewhere=elsewhere)


def _compiled(check: CompileCheck, device: Device) -> Mark:
    text = f"compiled for {check.device}: {format_bytes(check.total_bytes)} ({check.setup.precision})"
    return Mark(COMPILED, check.setup.batch, check.total_bytes / GIB, text, elsewhere=check.device != device.name)
