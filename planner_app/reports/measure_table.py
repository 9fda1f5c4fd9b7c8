"""A `Measurement` as tables: the verdict, the steps, and whether memory grows."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.advise.loops import explain_leak
from planner_app.core.measure.leak import Leak, Verdict, worst_leak
from planner_app.core.measure.measurement import Growth, Measurement, Order, OutOfMemory, Run, Step
from planner_app.core.model.setup import Backend
from planner_app.units import format_bytes

LEAK_STYLES = {Verdict.STEADY: "green", Verdict.UNCLEAR: "yellow", Verdict.GROWING: "bold red"}
MOST_STEPS = 12  # per process; of more, the first and the last are shown


def show(result: Measurement, console: Console) -> None:
    console.print(_verdict(result))
    for number, run in enumerate(result.runs):
        if run.steps:
            if len(result.runs) > 1:
                console.print(Text(f"process {number + 1}", style="bold"))
            console.print(_steps(run, "fit" if result.fits else "step"))
    grows = worst_leak(result.runs)
    if grows is not None:
        console.print(_leak(grows, result))
    for note in dict.fromkeys(note for run in result.runs for note in run.notes):
        console.print(Text(f"! {note}", style="yellow"))
    if result.ended:
        console.print(Text(f"! {result.ended} Earlier results are kept.", style="yellow"))


def _verdict(result: Measurement) -> Text:
    text = Text(style="not bold")
    if result.oom is not None:
        text.append("out of memory", style="bold red")
        text.append(f" in {result.oom.during}: {_broke(result.oom)}\n")
    alike = len(result.peaks) > 1 and len({result.step_peaks(device) for device in result.peaks}) == 1
    for device, peaks in list(result.peaks.items())[: 1 if alike else None]:
        text.append(format_bytes(max(peaks)), style="bold")
        text.append(f" in use at the peak on {f'each of {len(result.peaks)} devices' if alike else device}")
        every = result.step_peaks(device)
        if len(peaks) > 1 and min(every) < max(every):
            text.append(f", {format_bytes(min(every))} to {format_bytes(max(every))} over {len(every)} steps")
            text.append(f" of {len(peaks)} processes")
        text.append("\n")
    states = [run.state_bytes for run in result.runs if run.state_bytes is not None]
    if states and result.setup.backend is Backend.JAX:
        text.append(f"{format_bytes(max(states))} of it held between steps, weights, optimizer and batch\n")
    speed = result.samples_per_second
    if speed is not None and result.seconds_per_step is not None:
        text.append(f"{speed:.4g} samples per second, {result.seconds_per_step:.3g} s per step")
        if result.joules_per_sample is not None:
            text.append(f", {result.joules_per_sample:.3g} J per sample")
        text.append("\n")
    text.append(f"{_about(result)}\n", style="dim")
    return text


def _about(result: Measurement) -> str:
    setup = result.setup
    parts = [f"batch {setup.batch}", str(setup.precision), str(setup.optimizer)]
    jax = setup.backend is Backend.JAX
    several = f"{setup.gpus} devices (mesh {setup.mesh}, layout {setup.layout})" if jax else f"{setup.gpus} replicas"
    parts += [several] * (setup.gpus > 1)
    parts += [f"{setup.accumulate} accumulation steps"] * (setup.accumulate > 1)
    parts.append("compiled by XLA" if any(run.xla for run in result.runs) else "without XLA")
    parts.append(result.hardware)
    if result.order is Order.INLINE:
        parts.append("kernels one by one")
    limit = result.place.limit_bytes
    if limit is not None:
        parts.append(f"limit {format_bytes(limit)}")
    return f"{', '.join(parts)}; {result.versions.backend}, Keras {result.versions.keras}"


def _broke(oom: OutOfMemory) -> str:
    what = f"a tensor {oom.shape} of {oom.dtype}" if oom.shape else "memory"
    size = f" ({format_bytes(oom.requested_bytes)})" if oom.requested_bytes is not None else ""
    who = f" for {oom.operation}" if oom.operation else ""
    layer = f", layer {oom.layer}" if oom.layer else ""
    return f"no room for {what}{size}{who}{layer}"


def _steps(run: Run, what: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(what)
    table.add_column("seconds", justify="right")
    several = len(run.devices) > 1
    nvml = any(step.gpus for step in run.steps)
    if several:
        table.add_column("device")
    for title in ("before", "peak", "after", *(("NVML: process", "NVML: GPU") if nvml else ())):
        table.add_column(title, justify="right")
    for step in _some(run.steps):
        if step is None:
            table.add_row("...")
            continue
        alike = not nvml and len({(each.before_bytes, each.peak_bytes, each.after_bytes) for each in step.memory}) == 1
        for number, memory in enumerate(step.memory[: 1 if alike else None]):
            cells = [str(step.number), f"{step.seconds:.3f}"] if number == 0 else ["", ""]
            cells += ["each" if alike else memory.device] if several else []
            cells += map(format_bytes, (memory.before_bytes, memory.peak_bytes, memory.after_bytes))
            if nvml and number < len(step.gpus):
                gpu = step.gpus[number]
                cells += ["N/A" if size is None else format_bytes(size) for size in (gpu.process_bytes, gpu.used_bytes)]
            table.add_row(*cells)
    return table


def _some(steps: tuple[Step, ...]) -> list[Step | None]:
    if len(steps) <= MOST_STEPS:
        return list(steps)
    half = MOST_STEPS // 2
    return [*steps[:half], None, *steps[-half:]]


def _leak(grows: Leak, result: Measurement) -> Text:
    text = Text(explain_leak(grows, per="fit" if result.fits else "step"), style=LEAK_STYLES[grows.verdict])
    for growth in next((run.grown for run in result.runs if run.grown), ())[:3]:
        text.append(f"\n  {_growth(growth)}", style="not bold default")
    return text


def _growth(growth: Growth) -> str:
    layer = f", layer {growth.layer}" if growth.layer else ""
    shape = f" {growth.shape}" if growth.shape else ""
    who = growth.operation or "an unnamed operation"
    return f"{format_bytes(growth.total_bytes)} kept by {who}{shape}{layer}, {growth.count} times"
