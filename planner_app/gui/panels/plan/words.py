"""A plan in words, as rich text: how to train, and what a script sets before TensorFlow starts."""

from planner_app.core.plan.plan import Entry, Plan
from planner_app.gui.look.paper import facts, heading, paragraph, points
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.plan.values import PlanValues
from planner_app.units import format_bytes


def plan_html(values: PlanValues, theme: Theme) -> str:
    plan = values.plan
    note = paragraph(values.note, theme.bad if values.bad else theme.warn) if values.note and plan else ""
    if plan is None:
        return paragraph(values.note, theme.bad if values.bad else theme.muted)
    parts = [note, *(paragraph(_heading(entry), bold=True, gap=2) for entry in plan.devices)]
    parts.append(paragraph(_first(plan), gap=2))
    if plan.warnings:
        parts.append(points(plan.warnings))
    parts += [heading("Training", theme), facts(_training(plan), theme)]
    parts.append(heading(f"Set before {plan.devices[0].backend.label} starts", theme))
    for entry in plan.devices:
        title = f" on {entry.device.name}" if len(plan.devices) > 1 else ""
        parts.append(facts([(f"{name}{title}", value) for name, value in entry.environment.items()], theme))
    parts += [heading("Input pipeline, in the host's memory", theme), paragraph(_input(plan))]
    parts.append(paragraph(_made(plan), theme.muted))
    return "".join(parts)


def _heading(entry: Entry) -> str:
    gpus = f"{entry.gpus} x " if entry.gpus > 1 else ""
    first = entry.rungs[0]
    peak = format_bytes(first.peak.expected_bytes)
    low, high = format_bytes(first.peak.low_bytes), format_bytes(first.peak.high_bytes)
    capacity = entry.device.capacity_bytes
    room = "" if capacity is None else f" of the {format_bytes(capacity)} that {entry.backend.label} gets"
    return f"{gpus}{entry.device.name}: {peak} expected at the peak ({low} to {high}){room}"


def _first(plan: Plan) -> str:
    entry = plan.devices[0]
    rung = entry.rungs[0]
    each = "on each GPU, " if entry.gpus > 1 else ""
    steps = f"in {rung.accumulate} steps" if rung.accumulate > 1 else "at once"
    lower = len(entry.rungs) - 1
    further = f"; {lower} lower rung{'s' if lower > 1 else ''} if memory runs out all the same" if lower else ""
    return (
        f"Batch {plan.training.global_batch:,}: {rung.per_gpu_batch:,} {each}{steps}, {rung.precision}"
        f"{', compiled by XLA' if rung.jit else ''}{further}."
    )


def _training(plan: Plan) -> list[tuple[str, str]]:
    training = plan.training
    options = ", ".join(f"{name}={value}" for name, value in training.optimizer.options.items())
    rows = [
        ("model", f"{plan.model.file}, {plan.model.parameters:,} trained parameters"),
        ("optimizer", training.optimizer.name + (f" ({options})" if options else "")),
        ("loss", training.loss or "the model's own"),
        ("LoRA", training.lora),
        ("quantised", training.quantize),
        ("frozen", ", ".join(training.freeze)),
        ("rematerialised", training.remat),
        ("input sizes", "; ".join(f"{name} {' x '.join(map(str, size))}" for name, size in training.sizes.items())),
        ("hosts", ", ".join(plan.hosts)),
    ]
    return [row for row in rows if row[1]]


def _input(plan: Plan) -> str:
    held = plan.input
    more = [f"{held.prefetch_batches} batches read ahead"]
    more += [f"{held.shuffle_samples:,} samples to shuffle"] if held.shuffle_samples else []
    more += [f"{held.cached_samples:,} samples cached"] if held.cached_samples else []
    return f"{format_bytes(held.host_bytes)}: samples of {format_bytes(held.sample_bytes)}, {', '.join(more)}."


def _made(plan: Plan) -> str:
    made = ", ".join(f"{name} {version}" for name, version in plan.versions.items())
    return (
        f"Made {plan.created.replace('T', ' ').rstrip('Z')} UTC with {made}; version {plan.schema_version} of the file."
    )
