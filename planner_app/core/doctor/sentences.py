"""The verdict in words: one sentence, and those that lead to it."""

from dataclasses import dataclass

from planner_app.core.doctor.diagnosis import Framework, Kind, Sure
from planner_app.core.doctor.figures import Figures
from planner_app.core.doctor.log.seen import Progress, Report, Seen
from planner_app.core.doctor.place import Place
from planner_app.core.estimate.breakdown import Term
from planner_app.units import format_bytes

MANY_ALIKE = 3
NOTABLE = 0.1  # of what is in use
NEXT_TO_NOTHING = 0.01
PINNED = ("cuda_host_bfc", "gpu_host_bfc")
# A request below this fails only where memory was full before it.
SMALL_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Told:
    """All that a sentence is made of."""

    report: Report
    numbers: Figures
    seen: Seen
    place: Place
    kind: Kind
    sure: Sure
    progress: Progress
    framework: Framework | None = None
    refused_by_driver: bool = False

    @property
    def wanted_bytes(self) -> int | None:
        return self.report.requested or self.numbers.wanted_bytes

    @property
    def wanted(self) -> str:
        return format_bytes(self.wanted_bytes) if self.wanted_bytes else "memory"

    @property
    def who(self) -> str:
        """Whose request it was: the layer, or at least the operation."""
        place = self.place
        if place.layer:
            where = f", {place.phase} pass" if place.phase else ""
            return f"layer {place.layer} ({place.operation.rpartition('/')[2]}{where})"
        if "loss/" in place.operation:
            return f"the loss ({place.operation.rpartition('/')[2]}, {place.phase} pass)"
        if place.operation and place.phase == "update":
            return f"the optimizer's update ({place.operation})"
        return f"operation {place.operation}" if place.operation else str(self.framework or Framework.TENSORFLOW)

    @property
    def depends_on_batch(self) -> bool:
        """As far as one can tell, the tensor's first size is the batch."""
        shape, term = self.report.shape, self.place.term
        of_samples = term in ("", Term.ACTIVATIONS, Term.TEMPORARIES, Term.INPUTS)
        return bool(shape) and len(shape or ()) > 1 and of_samples and self.place.phase != "update"

    @property
    def epoch_had_ended(self) -> bool:
        """Every step of it: what ran was validation, or saving."""
        return bool(self.progress.of) and self.progress.step >= self.progress.of

    @property
    def batch_is_one(self) -> bool:
        if self.seen.batch is not None:
            return self.seen.batch == 1
        shape = self.report.shape
        return self.depends_on_batch and shape is not None and len(shape) > 2 and shape[0] == 1

    @property
    def is_half(self) -> bool:
        """The tensor has two bytes a number already."""
        return self.report.dtype in ("half", "bfloat16", "bf16", "f16", "float16")

    @property
    def first_size_that_fits(self) -> int:
        """The largest first size at which the failed tensor alone fits the whole memory; 0 where none does."""
        shape, limit = self.report.shape, self.numbers.limit_bytes
        wanted = self.wanted_bytes
        if not self.depends_on_batch or not shape or shape[0] < 2 or not limit or not wanted:
            return 0
        return limit * shape[0] // wanted

    @property
    def of_limit(self) -> str:
        numbers = self.numbers
        if numbers.limit_bytes is None or numbers.in_use_bytes is None:
            return ""
        return f"{format_bytes(numbers.in_use_bytes)} of {format_bytes(numbers.limit_bytes)} were in use"

    def why(self) -> tuple[str, ...]:
        return tuple(filter(None, (*_when(self), *_how_much(self), *_what(self), *_cause(self))))


def tell(told: Told, device: str) -> str:
    where = device or "The device"
    numbers, report, wanted = told.numbers, told.report, told.wanted
    left = (
        f" with {format_bytes(numbers.free_bytes)} left of {format_bytes(numbers.limit_bytes)}"
        if (numbers.free_bytes is not None and numbers.limit_bytes)
        else ""
    )
    if not left and report.cuda_free is not None and report.cuda_total:
        left = f" with {format_bytes(report.cuda_free)} free of {format_bytes(report.cuda_total)}"
    match told.kind:
        case _ if told.framework is Framework.PYTORCH:
            return _pytorch(told, where)
        case Kind.TOO_LARGE:
            whole = f"all {format_bytes(numbers.limit_bytes)} that there are" if numbers.limit_bytes else "any GPU has"
            return f"{where}: {told.who} asked for {wanted} in one piece, more than {whole}."
        case Kind.FRAGMENTED:
            largest = f" ({format_bytes(numbers.largest_bytes)} at most)" if numbers.largest_bytes is not None else ""
            free = format_bytes(numbers.free_bytes or 0)
            return (
                f"{where}: enough was free ({free}) for the {wanted} that {told.who} asked for, but not in one "
                f"piece{largest}: fragmentation."
            )
        case Kind.LEAK:
            grew = (
                "something of earlier calls is kept, or this model or its batch is larger than those before"
                if told.progress.fits > 1
                else "memory grew from step to step, because something is kept, or a batch was larger than those "
                "before it"
            )
            return f"{where} ran out of memory after {_so_far(told.progress)} that fit: {grew}."
        case Kind.OTHER_PROCESS:
            return _other_process(told, where)
        case Kind.COPIED_ARRAY:
            of_size = f" of {wanted}" if report.requested else ""
            return f"{where}: a whole array{of_size} was to be copied there, before any batch is cut from it."
        case Kind.XLA if report.space:
            room = format_bytes(numbers.limit_bytes or 0)
            return f"The TPU's memory ({report.space}) is too small: the compiled program wants {wanted} of {room}."
        case Kind.XLA if (
            numbers.limit_bytes and (report.requested or 0) > numbers.limit_bytes and not numbers.in_use_bytes
        ):
            room = format_bytes(numbers.limit_bytes)
            return f"{where} ran out of memory: a program compiled by XLA asked for {wanted}, more than all {room}."
        case Kind.XLA if told.framework is Framework.JAX:
            return f"{where} ran out of memory: a program that JAX compiled asked for {wanted}{left}."
        case Kind.XLA:
            return f"{where} ran out of memory: the step, compiled by XLA, asked for one block of {wanted}{left}."
        case Kind.HOST:
            return _host(told)
        case _ if report.sign == "scratch":
            smallest = f" ({wanted} at least)" if report.requested else ""
            return f"{where} ran out of memory: for {told.who} no kernel of cuDNN found room for its scratch{smallest}."
        case _ if report.requested is None and numbers.wanted_bytes is None and not report.copied:
            return f"{where} ran out of memory{f' for {told.who}' if told.place.operation else ''}{left}."
        case _ if report.copied:
            return f'{where} had no room for a copy from the host: that is what "Dst tensor is not initialized" means.'
        case _:
            return f"{where} ran out of memory: {told.who} asked for {wanted}{left}."


def _host(told: Told) -> str:
    if told.report.allocator in PINNED:
        return (
            f"The machine gave no more memory for copies to and from the GPU (pinned memory; {told.wanted} asked for)."
        )
    asked = f", when {told.wanted} were asked for" if told.wanted_bytes else ""
    return f"The machine's own memory ran out, not a GPU's{asked}."


def _pytorch(told: Told, where: str) -> str:
    report = told.report
    room = ""
    if report.cuda_free is not None and report.cuda_total:
        room = f" with {format_bytes(report.cuda_free)} free of {format_bytes(report.cuda_total)}"
    said = f"{where} ran out of memory under PyTorch, which asked for {told.wanted}{room}"
    match told.kind:
        case Kind.OTHER_PROCESS:
            return f"{said}: other processes hold much of the device."
        case Kind.FRAGMENTED:
            return f"{said}: what it had reserved and did not use would have been enough, but not in one piece."
        case Kind.TOO_LARGE:
            return f"{said}: more than the whole device has."
    return f"{said}."


def _other_process(told: Told, where: str) -> str:
    if told.report.sign == "crowded" and told.seen.free_at_start:
        total, free = (format_bytes(size) for size in told.seen.free_at_start)
        return f"Another process holds the GPU: {free} of its {total} were free when the program started."
    if told.sure is Sure.CERTAIN:
        return f"{where} had less memory to give than this process may take: another process holds the rest."
    if told.refused_by_driver:
        return (
            f"{where} had less memory to give than this process may still take: another process holds the rest, or "
            "CUDA's libraries and other frameworks in this one."
        )
    limit = told.numbers.limit_bytes
    given = f"only {format_bytes(limit)}" if limit else "far less than the device has"
    return (
        f"{where}: this process was given {given}. Another process held the rest, or the script set a limit of its own."
    )


def _so_far(progress: Progress) -> str:
    if progress.fits > 1:
        return f"{progress.fits} calls of fit() and {_steps(progress)}"
    where = f", in epoch {progress.epoch} of {progress.epochs}" if progress.epochs > 1 else ""
    return f"{_steps(progress)}{where}"


def _steps(progress: Progress) -> str:
    return f"{progress.steps} step{'s' if progress.steps != 1 else ''}"


def _when(told: Told) -> list[str]:
    progress, during = told.progress, told.report.during
    if told.kind is Kind.HOST:
        return [f"Training had run {_so_far(progress)}."] if progress.steps else []
    if during and told.kind is not Kind.LEAK:
        return [f"It failed in {during}, not in a training step: its batch may be larger than training's."]
    if told.epoch_had_ended and told.kind is not Kind.LEAK:
        return [
            "It failed when an epoch's last step had ended: in validation, whose batch may be larger, or in saving."
        ]
    if progress.steps:
        return [f"Training had run {_so_far(progress)}."]
    return ["It failed in the first step, so this is the step's own peak, not a leak."] if progress.fits else []


def _how_much(told: Told) -> list[str]:
    numbers = told.numbers
    lines: list[str] = []
    if told.kind is Kind.HOST:
        wanted = told.report.requested
        if wanted and numbers.free_bytes is not None and wanted <= numbers.free_bytes:
            lines.append(
                "The machine has that much: a limit of the process (ulimit -v, a container) or other programs were in "
                "the way."
            )
        return lines
    if told.of_limit:
        lines.append(f"{told.of_limit[0].upper()}{told.of_limit[1:]} by then.")
    if numbers.free_bytes is not None and told.report.requested and told.kind in (Kind.SHORTAGE, Kind.XLA, Kind.LEAK):
        missing = told.report.requested - numbers.free_bytes
        if missing > 0:
            lines.append(f"{format_bytes(missing)} were missing.")
    if numbers.fragmented and told.kind is Kind.SHORTAGE:
        lines.append("That would just have been enough, but not in one piece.")
    if numbers.reusable_bytes and numbers.largest_bytes is not None and told.kind is not Kind.TOO_LARGE:
        lines.append(
            f"Of what the allocator holds {format_bytes(numbers.reusable_bytes)} are free, the largest piece "
            f"{format_bytes(told.report.largest_free)}."
        )
    return lines


def _what(told: Told) -> list[str]:
    report, place = told.report, told.place
    lines: list[str] = []
    if told.framework is Framework.PYTORCH and (report.cuda_free or 0) >= (report.requested or 0) > 0:
        lines.append(
            "More was free than was asked for: not in one piece, or a limit stood in the way (a fraction, Windows "
            "Subsystem for Linux)."
        )
    in_use, limit = told.numbers.in_use_bytes, told.numbers.limit_bytes
    if told.kind is Kind.TOO_LARGE and in_use is not None and limit and in_use <= limit * NEXT_TO_NOTHING:
        lines.append("Next to nothing else was in use: this one request alone is too large.")
    if report.shape is not None and not report.xla:
        sizes = " x ".join(map(str, report.shape)) or "a single number"
        kind = f", of {report.dtype}" if report.dtype else ""
        lines.append(f"The tensor is {sizes}{kind}.")
        if told.batch_is_one and told.kind.on_device:
            lines.append("The batch, mostly the first size, is 1 already: a smaller batch is not possible.")
    if told.numbers.in_use_bytes is None and _small(told) and told.kind in (Kind.SHORTAGE, Kind.XLA):
        lines.append(
            f"A request of only {told.wanted} fails where memory was full before it: by this process's own tensors, or "
            "by another process."
        )
    if place.term and told.kind not in (Kind.COPIED_ARRAY, Kind.HOST):
        lines.append(f"It belongs to the {place.term}.")
    if report.xla_parts:
        parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in report.xla_parts.items())
        lines.append(f"XLA's own account: {parts}.")
    if report.xla_buffers and report.xla_buffers[0][1]:
        size, name = report.xla_buffers[0]
        lines.append(f"Its largest buffer is {format_bytes(size)}, of {name}.")
    return lines


def _cause(told: Told) -> list[str]:
    report = told.report
    match told.kind:
        case Kind.LEAK:
            return _growth(told)
        case Kind.OTHER_PROCESS:
            return _others(told)
        case Kind.COPIED_ARRAY:
            return [
                "Arrays given to fit(), predict() or tf.constant() are copied whole to the device that is in scope."
            ]
        case Kind.SHORTAGE | Kind.XLA if told.seen.autotuned:
            return ["XLA's autotuner failed, too: it tries kernels with buffers of their own, which want room as well."]
        case Kind.XLA:
            return [] if report.space else ["XLA lays a program's buffers out in blocks, each free in one piece."]
        case _:
            return []


def _small(told: Told) -> bool:
    return told.wanted_bytes is not None and told.wanted_bytes < SMALL_BYTES


def _growth(told: Told) -> list[str]:
    lines = []
    if told.progress.fits > 1:
        lines.append(
            f"fit() was started {told.progress.fits} times. Models, optimizers and compiled steps of earlier calls in "
            "the same process stay in memory as long as something refers to them."
        )
    alike = [(count, size) for size, count in told.report.by_size.items() if count >= MANY_ALIKE]
    count, size = max(alike, key=lambda each: each[0] * each[1], default=(0, 0))
    if count * size > (told.numbers.in_use_bytes or 0) * NOTABLE:
        lines.append(
            f"{count} chunks of {format_bytes(size)} each are in use: {format_bytes(count * size)} of one size."
        )
    if told.numbers.fragmented:
        lines.append("What was left would have been enough, but lay in pieces.")
    if told.seen.retraced:
        lines.append("The step was traced anew again and again: each trace is kept.")
    return lines


def _others(told: Told) -> list[str]:
    lines = []
    report, seen = told.report, told.seen
    for pid, name, held in seen.processes:
        lines.append(f"Process {pid}{f' ({name})' if name else ''} holds {format_bytes(held)}.")
    if report.cuda_free is not None and report.cuda_total and report.sign != "crowded":
        lines.append(f"CUDA reports {format_bytes(report.cuda_free)} free of {format_bytes(report.cuda_total)}.")
    if seen.free_at_start and report.sign != "crowded":
        total, free = seen.free_at_start
        lines.append(f"When TensorFlow started, {format_bytes(free)} of {format_bytes(total)} were free.")
    if seen.refused:
        most, least = format_bytes(max(seen.refused)), format_bytes(min(seen.refused))
        lines.append(f"The driver refused {most}{f' down to {least}' if least != most else ''}.")
    return lines
