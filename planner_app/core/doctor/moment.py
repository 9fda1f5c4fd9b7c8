"""A machine and its processes as they are now, and how they grow: in the sections in which a log is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from planner_app.core.doctor.story import Section
from planner_app.core.hardware.machine import Gpu, Machine
from planner_app.core.plan.plan import Peak
from planner_app.units import format_bytes

LARGEST_SHOWN = 5
# Less than this, or than this share, comes and goes in any program.
GROWTH_BYTES, GROWTH_SHARE = 16 << 20, 0.01
STEADY_SHARE = 0.75  # of the looks that must not be smaller than the one before, for a growth to be called steady
FEWEST_LOOKS = 4
SHORTEST_SECONDS = 20  # below this no growth is called steady
INSIDE = (
    "TensorFlow and JAX take regions of a GPU and keep them: growth inside of those can't be seen from outside. "
    "`plimsoll measure MODEL --steps 50` sees it."
)


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine, with its children. `settings` are those variables of it that steer memory."""

    pid: int
    name: str
    user: str = ""
    resident_bytes: int = 0
    swapped_bytes: int = 0
    limit_bytes: int | None = None
    children: tuple[int, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Of the machine, and of the container this program runs in. None is what nobody tells."""

    total_bytes: int | None = None
    available_bytes: int | None = None
    swap_bytes: int = 0
    swap_free_bytes: int = 0
    limit_bytes: int | None = None
    limited_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """One moment. `processes` are those that hold the most, those on GPUs, and the one that was asked for."""

    seconds: float
    machine: Machine
    host: HostMemory
    processes: tuple[Process, ...] = ()

    def process(self, pid: int) -> Process | None:
        return next((process for process in self.processes if process.pid == pid), None)

    def on_gpus(self, pids: Sequence[int]) -> int | None:
        """What processes hold on all GPUs; None where the driver does not tell."""
        told = [
            each.used_bytes
            for gpu in self.machine.gpus
            for part in (gpu.slices or (gpu,))
            for each in part.processes or ()
            if each.process in pids and each.used_bytes is not None
        ]
        return sum(told) if told else None


def now(look: Look, pid: int | None = None) -> tuple[Section, ...]:
    """Who holds what at this moment."""
    sections = [_gpu(gpu, look) for gpu in look.machine.gpus]
    if not look.machine.gpus:
        sections.append(Section("GPUs", (look.machine.sentence,)))
    if pid is not None:
        sections.insert(0, _process(pid, look))
    return (*sections, _host(look))


def growth(looks: Sequence[Look], pid: int | None = None) -> Section:
    """From the first look to the last."""
    first, last = looks[0], looks[-1]
    seconds = last.seconds - first.seconds
    title = f"Over {seconds:.0f} second{'' if f'{seconds:.0f}' == '1' else 's'}"
    rows, sentences = [], []
    watched = [pid] if pid is not None else [process.pid for process in last.processes[:LARGEST_SHOWN]]
    for number in watched:
        series = [process.resident_bytes for look in looks if (process := look.process(number)) is not None]
        process = last.process(number) or first.process(number)
        if len(series) < 2 or process is None:
            continue
        rows.append((f"{process.name} ({number})", _change(series[0], series[-1])))
        if sentence := _lasts(process, series, seconds, last.host):
            sentences.append(sentence)
    for gpu in last.machine.gpus:
        before = next((each.used_bytes for each in first.machine.gpus if each.index == gpu.index), None)
        if before is not None and gpu.used_bytes is not None:
            rows.append((f"GPU {gpu.index}", _change(before, gpu.used_bytes)))
    if not sentences and rows:
        sentences.append("Nothing grew steadily.")
    if last.machine.gpus:
        sentences.append(INSIDE)
    if pid is not None and last.process(pid) is None:
        sentences.insert(0, f"Process {pid} has ended.")
    return Section(title, tuple(sentences), rows=tuple(rows))


def beside_plan(peak: Peak, look: Look, pid: int | None) -> Section:
    """What the plan's first setup was to take on each GPU, and what is taken."""
    rows = [
        (
            "planned, in use on each GPU",
            f"{format_bytes(peak.expected_bytes)} (at most {format_bytes(peak.high_bytes)})",
        ),
        ("planned, as nvidia-smi shows it", format_bytes(peak.device_bytes)),
    ]
    process = look.process(pid) if pid is not None else None
    held = look.on_gpus((pid, *process.children)) if pid is not None and process is not None else None
    if held is not None:
        rows.append(("held by the process on all GPUs", format_bytes(held)))
    said = "Without memory growth TensorFlow takes nearly all of a GPU, whatever it needs: compare only with growth on."
    return Section("Beside the plan", (said,), rows=tuple(rows))


def _gpu(gpu: Gpu, look: Look) -> Section:
    title = f"GPU {gpu.index}: {gpu.name or 'unknown'}"
    if gpu.sentence:
        return Section(title, (gpu.sentence,))
    rows: list[tuple[str, ...]] = []
    sentences = []
    for part in gpu.slices or (gpu,):
        known = 0
        for holder in sorted(part.processes or (), key=lambda each: -(each.used_bytes or 0)):
            process = look.process(holder.process)
            name = process.name if process else (holder.name or "a process of another container or user")
            of = f", {process.user}" if process and process.user else ""
            size = format_bytes(holder.used_bytes) if holder.used_bytes is not None else "not told"
            rows.append((f"process {holder.process}", size, f"{name}{of}"))
            known += holder.used_bytes or 0
        if part.processes is None:
            sentences.append("The driver does not tell which processes use it.")
        if part.used_bytes is not None and part.total_bytes is not None:
            rest = part.used_bytes - known - (part.reserved_bytes or 0)
            if rest > 0 and part.processes is not None:
                rows.append(("the rest", format_bytes(rest), "the driver, the screen, processes it does not tell"))
            free = part.free_bytes if part.free_bytes is not None else part.total_bytes - part.used_bytes
            rows.append(("free", format_bytes(free), f"of {format_bytes(part.total_bytes)}"))
    return Section(title, tuple(sentences), rows=tuple(rows))


def _process(pid: int, look: Look) -> Section:
    process = look.process(pid)
    if process is None:
        return Section(f"Process {pid}", ("It has ended.",))
    rows = [("in the machine's memory", format_bytes(process.resident_bytes))]
    if process.swapped_bytes:
        rows.append(("swapped out", format_bytes(process.swapped_bytes)))
    if process.limit_bytes is not None:
        rows.append(("may take", f"{format_bytes(process.limit_bytes)} (its container or job)"))
    held = look.on_gpus((pid, *process.children))
    rows.append(("on GPUs", format_bytes(held) if held is not None else "nothing that the driver tells"))
    rows += sorted(process.settings.items())
    with_children = f", with {len(process.children)} children" if process.children else ""
    return Section(f"Process {pid}: {process.name}{with_children}", rows=tuple(rows))


def _host(look: Look) -> Section:
    host = look.host
    rows: list[tuple[str, ...]] = []
    if host.total_bytes is not None and host.available_bytes is not None:
        rows.append(("available", format_bytes(host.available_bytes), f"of {format_bytes(host.total_bytes)}"))
    if host.limit_bytes is not None:
        taken = f", {format_bytes(host.limited_bytes)} taken" if host.limited_bytes is not None else ""
        rows.append(("this container may take", format_bytes(host.limit_bytes), taken.removeprefix(", ")))
    if host.swap_bytes:
        rows.append(
            ("swap", format_bytes(host.swap_bytes - host.swap_free_bytes), f"of {format_bytes(host.swap_bytes)}")
        )
    rows += [
        (f"process {process.pid}", format_bytes(process.resident_bytes), process.name)
        for process in look.processes[:LARGEST_SHOWN]
    ]
    said = () if rows else ("This system does not tell how its memory is used in a way this program knows.",)
    return Section("The machine's own memory", said, rows=tuple(rows))


def _change(before: int, after: int) -> str:
    sign = "+" if after >= before else "-"
    return f"{sign}{format_bytes(abs(after - before))}, to {format_bytes(after)}"


def _lasts(process: Process, series: Sequence[int], seconds: float, host: HostMemory) -> str:
    """How long it may go on; empty where it does not grow steadily."""
    grown = series[-1] - series[0]
    if len(series) < FEWEST_LOOKS or grown < max(GROWTH_BYTES, series[0] * GROWTH_SHARE):
        return ""
    rising = sum(after >= before for before, after in pairwise(series))
    if rising < STEADY_SHARE * (len(series) - 1):
        return ""
    who = f"{process.name} ({process.pid})"
    if seconds < SHORTEST_SECONDS:
        return f"{who} grew by {format_bytes(grown)}: a longer watch tells whether that goes on."
    said = f"{who} grew steadily, by {format_bytes(round(grown / seconds * 60))} a minute"
    room = [host.available_bytes]
    if process.limit_bytes is not None:
        room.append(max(0, process.limit_bytes - series[-1]))
    left = min((each for each in room if each is not None), default=None)
    if left is None:
        return f"{said}."
    minutes = left / (grown / seconds * 60)
    until = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
    return f"{said}: if that goes on, the {format_bytes(left)} that are left last about {until}."
