"""Marks on the chart for measurements and compile checks."""

from collections.abc import Iterable, Sequence

from planner_app.core.compile.check import CompileCheck
from planner_app.core.compile.line import NO_LINE, Anchor, Line
from planner_app.core.hardware.device import Device
from planner_app.core.measure.measurement import Measurement
from planner_app.gui.choice import Choice
from planner_app.gui.panels.chart.values import GIB, Mark
from planner_app.units import format_bytes

MEASURED, COMPILED = "measured", "compile check"


def marks_of(
    measurements: Sequence[Measurement], checks: Sequence[CompileCheck], choice: Choice, line: Line = NO_LINE
) -> tuple[Mark, ...]:
    """`line` has the compiler's figures for the chosen setup at other batches."""
    device, share = choice.device, choice.setup.gpus * choice.setup.accumulate
    checked = {check.setup.batch for check in checks if check.device == device.name}
    anchors = (each for each in line.anchors if each.batch * share not in checked)
    return (
        *_measured(measurements, device),
        *(_compiled(check, device) for check in checks),
        *(_anchor(each, choice, share) for each in anchors),
    )


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


def _anchor(anchor: Anchor, choice: Choice, share: int) -> Mark:
    text = f"the compiler's figure: {format_bytes(anchor.total_bytes)} ({choice.setup.precision})"
    return Mark(COMPILED, anchor.batch * share, anchor.total_bytes / GIB, text)


def _compiled(check: CompileCheck, device: Device) -> Mark:
    text = f"compiled for {check.device}: {format_bytes(check.total_bytes)} ({check.setup.precision})"
    return Mark(COMPILED, check.setup.batch, check.total_bytes / GIB, text, elsewhere=check.device != device.name)
