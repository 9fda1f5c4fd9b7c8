"""Marks on the chart for measurements and compile checks."""

from collections.abc import Iterable, Sequence

from planner_app.core.compile.check import CompileCheck
from planner_app.core.compile.line import NO_LINE, Anchor, Line
from planner_app.core.hardware.device import Device
from planner_app.core.measure.measurement import Measurement
from planner_app.gui.panels.chart.curve import GIB
from planner_app.gui.panels.chart.values import Mark
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.open_model import FailedRun
from planner_app.units import format_bytes

MEASURED, COMPILED, LOGGED = "measured", "compile check", "log"


def marks_of(
    measurements: Sequence[Measurement],
    checks: Sequence[CompileCheck],
    choice: Choice,
    line: Line = NO_LINE,
    failed: FailedRun | None = None,
) -> tuple[Mark, ...]:
    """`line` has the compiler's figures for the chosen setup at other batches, `failed` is the run of a log."""
    device, share = choice.device, choice.setup.shares
    checked = {check.setup.batch for check in checks if check.device == device.name}
    anchors = (each for each in line.anchors if each.batch * share not in checked)
    return (
        *_measured(measurements, device),
        *(_compiled(check, device) for check in checks),
        *(_anchor(each, choice, share) for each in anchors),
        *([] if failed is None or failed.bytes is None else [_failed(failed, failed.bytes, device)]),
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


def _failed(run: FailedRun, size: int, device: Device) -> Mark:
    text = f"ran out of memory in {run.log}: batch {run.setup.batch:,}, {format_bytes(size)}"
    return Mark(LOGGED, run.setup.batch, size / GIB, text, failed=True, elsewhere=run.device != device)


def _anchor(anchor: Anchor, choice: Choice, share: int) -> Mark:
    text = f"the compiler's figure: {format_bytes(anchor.total_bytes)} ({choice.setup.precision})"
    return Mark(COMPILED, anchor.batch * share, anchor.total_bytes / GIB, text)


def _compiled(check: CompileCheck, device: Device) -> Mark:
    text = f"compiled for {check.device}: {format_bytes(check.total_bytes)} ({check.setup.precision})"
    return Mark(COMPILED, check.setup.batch, check.total_bytes / GIB, text, elsewhere=check.device != device.name)
