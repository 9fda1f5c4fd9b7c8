"""The headline as plain values: the verdict in large letters, its figures, and what to do next."""

from dataclasses import dataclass

from planner_app.core.advise import Advice, Change, Cost, Option
from planner_app.core.estimate.curve import LargestBatch
from planner_app.core.estimate.level import Level, Source
from planner_app.core.estimate.need import Need
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.refusal import short_name
from planner_app.core.model.setup import Jit, Setup
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.status import verdict as sentence_of
from planner_app.reports.run_words import gpus_text, run_reason, run_text
from planner_app.units import format_bytes

MOST_CHANGES = 3
BY = {Source.LINE: "on the compiler's line", Source.COMPILER: "by the compiler"}  # of an estimate there is no word
TRACING = "Tracing the training step …"


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do next, as a button.

    Attributes:
        setup, device: What it chooses; None for a step that the window does otherwise.
    """

    text: str
    effect: str
    verdict: Verdict | None = None
    setup: Setup | None = None
    device: Device | None = None
    tip: str = ""


PLAN = Step("Make a plan", "for the training script")


@dataclass(frozen=True, slots=True)
class HeadlineValues:
    """Attributes:
    word: The verdict, or what is going on.
    figure: Memory at the peak; `band` its low and high end.
    where: The capacity and the device.
    how: The chosen setup.
    sentence: All of it, for screen readers.
    """

    word: str = ""
    verdict: Verdict | None = None
    figure: str = ""
    band: str = ""
    where: str = ""
    how: str = ""
    reason: str = ""
    largest: str = ""
    largest_title: str = ""
    sentence: str = ""
    steps: tuple[Step, ...] = ()
    note: str = ""
    trouble: bool = False


def headline(
    choice: Choice, need: Need, largest: LargestBatch | None, sure: LargestBatch | None, advice: Advice | None
) -> HeadlineValues:
    setup, level = choice.setup, need.level_on_line(choice.setup.per_gpu_batch)
    said, answer = sentence_of(choice, need)
    most, safe = _times(largest, setup), _times(sure, setup)
    return HeadlineValues(
        word=str(answer).capitalize() if answer is not None else "Needs",
        verdict=answer,
        figure=format_bytes(level.peak_bytes),
        band=_band(level),
        where=_where(need, choice.device),
        how=setup_line(setup, xla=need.memory.xla),
        reason=xla_reason(choice, need) or need.line.trouble,
        largest="" if most is None else f"{most:,}{'+' if largest and largest.bound else ''}",
        largest_title="" if most is None else _largest_title(most, safe),
        sentence=said,
        steps=_steps(choice, answer, safe, advice),
    )


def waiting(choice: Choice, trouble: str) -> HeadlineValues:
    """Before the chosen setup is traced, or where it can't be."""
    setup = choice.setup
    how = f"batch {setup.batch:,} · {setup.precision} · {gpus_text(setup.gpus)}"
    word = "No estimate" if trouble else "Working it out"
    return HeadlineValues(word=word, how=how, sentence=trouble or word, note=trouble or TRACING, trouble=bool(trouble))


def setup_line(setup: Setup, *, xla: bool) -> str:
    """`batch 64 · mixed_float16 · 2 GPUs, no XLA`."""
    parts = [f"batch {setup.batch:,}", str(setup.precision), run_text(setup.gpus, xla)]
    if setup.accumulate > 1:
        parts.append(f"{setup.accumulate} accumulation steps")
    return " · ".join(parts)


def xla_reason(choice: Choice, need: Need) -> str:
    """Why XLA does not compile a step on a GPU, where nobody has turned it off; empty otherwise."""
    setup = choice.setup
    if setup.jit is not Jit.AUTO or not choice.device.cuda or need.memory.xla:
        return ""
    return run_reason(setup, cuda=True, xla=False)


def _band(level: Level) -> str:
    by = f", {BY[level.source]}" if level.source in BY else ""
    return f"{format_bytes(level.low_bytes)} to {format_bytes(level.high_bytes)}{by}"


def _where(need: Need, device: Device) -> str:
    name = short_name(device) if device.cuda else "the CPU"  # as on the chart: there is little room
    limit = need.capacity_bytes
    return f"on {name}, without a limit" if limit is None else f"of {format_bytes(limit)} on {name}"


def _largest_title(most: int, sure: int | None) -> str:
    return "largest batch" if sure is None or sure == most else f"largest batch, {sure:,} sure"


def _times(found: LargestBatch | None, setup: Setup) -> int | None:
    return None if found is None else found.batch * setup.shares


def _steps(choice: Choice, answer: Verdict | None, sure: int | None, advice: Advice | None) -> tuple[Step, ...]:
    if answer is not None and not answer.yes(sure=True):
        found = _changes(advice, choice)
        return (*found[: MOST_CHANGES - 1], PLAN) if answer is Verdict.TIGHT else found
    larger: tuple[Step, ...] = ()
    if sure and sure > choice.setup.batch:
        setup = choice.setup.with_batch(sure)
        larger = (Step(f"Raise the batch to {sure:,}", "the largest that is sure to fit", None, setup, choice.device),)
    return (PLAN, *larger)


def _changes(advice: Advice | None, choice: Choice) -> tuple[Step, ...]:
    """The cheapest changes that make it fit and that a setup can express."""
    if advice is None or (advice.request.setup, advice.request.device) != (choice.setup, choice.device):
        return ()
    found = []
    for option in advice.options:
        if (option.setup, option.device) != (choice.setup, choice.device):
            text = "; ".join(_short(change, option) for change in option.changes)
            full = "; ".join(change.text for change in option.changes)
            effect = f"{option.verdict}: {format_bytes(option.after_bytes)}"
            caveats = [change.caveat for change in option.changes if change.caveat]
            tip = "\n".join([full, *caveats])
            found.append(Step(text, effect, option.verdict, option.setup, option.device, tip))
    return tuple(found[:MOST_CHANGES])


def _short(change: Change, option: Option) -> str:
    """In as few words as a button has room for; its tip says the rest."""
    match change.cost:
        case Cost.ACCUMULATE:
            return f"Accumulate over {option.setup.accumulate} steps"
        case Cost.DEVICE:
            return f"Train on {option.device.name}"
        case Cost.PRECISION | Cost.REMAT:
            return change.text.partition(":")[0]
        case _:
            return change.text
