"""`plimsoll check plan.json`: whether a plan fits, on its own device, a GPU of this machine, or another one."""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.hardware.machine import Gpu, device_of
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.plan.plan import DeviceKind, Entry, Plan, Rung
from planner_app.errors import DeviceError, PlanError, PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.plans import read_plan
from planner_app.foreign_text import for_line
from planner_app.gpu.nvml import machine_gpus
from planner_app.planner.opening import check_model
from planner_app.planner.plan import versions
from planner_app.reports.dicts import verdict_dict
from planner_app.reports.verdict_text import STYLES
from planner_app.units import format_bytes

HELP = "check whether a plan fits, for job scripts and CI"
DOES_NOT_FIT = 3
_INDEX = re.compile(r"(?:gpu:)?(\d{1,3})", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Room:
    """A device's memory: `capacity_bytes` for TensorFlow's allocator, `free_bytes` right now; None if unknown."""

    name: str
    capacity_bytes: int | None
    free_bytes: int | None = None

    def verdict(self, rung: Rung) -> Verdict:
        """Memory that other programs hold can't be used, so free memory limits the capacity."""
        if self.free_bytes is not None and rung.peak.device_bytes > self.free_bytes:
            return Verdict.DOES_NOT_FIT
        return Verdict.FITS if self.capacity_bytes is None else judge(rung.peak.level, self.capacity_bytes)


def add(parser: ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN.json", help="a file written by `plimsoll plan`")
    parser.add_argument(
        "--gpu",
        metavar="NAME",
        help='the number of a GPU of this machine, a known device ("NVIDIA L4"), or a size (24GiB); default: the '
        "plan's own",
    )
    parser.add_argument(
        "--rung", type=int, default=0, metavar="N", help="the rung that must fit; default: 0, the first"
    )
    parser.add_argument("--model", metavar="MODEL", help="the model's file; default: the one next to the plan")
    arguments.add_classes(parser)
    parser.add_argument(
        "--sure", action="store_true", help="count tight as does not fit: even the high end of the band must fit"
    )
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    plan = read_plan(options.plan)
    sure = options.sure
    checks = [_answer(plan, entry, room, options.rung, sure=sure) for entry, room in _places(plan, options.gpu)]
    said = [*_model(plan, options), *_versions(plan)]
    fits = any(check["fits"] for check in checks)
    if options.json:
        terminal.write_json({"fits": fits, "devices": checks, "warnings": said})
    else:
        for check in checks:
            terminal.output().print(_text(check))
        for sentence in said:
            sys.stderr.write(f"! {for_line(sentence)}\n")
    return 0 if fits else DOES_NOT_FIT


def _places(plan: Plan, wanted: str | None) -> Iterator[tuple[Entry, Room]]:
    """The entries to check, each with its device. A plan for several devices fits if it fits one of them."""
    if wanted is None:
        for entry in plan.devices:
            yield entry, Room(entry.device.name, entry.device.capacity_bytes)
    elif index := _INDEX.fullmatch(wanted.strip()):
        gpu = _gpu(int(index[1]))
        limit = allocator_limit_bytes(device_of(gpu))
        yield _entry(plan, gpu.name or ""), Room(gpu.name or f"GPU {gpu.index}", limit, gpu.free_bytes)
    else:
        device = find_device(wanted)
        yield _entry(plan, device.name, cpu=not device.cuda), Room(device.name, allocator_limit_bytes(device))


def _gpu(index: int) -> Gpu:
    machine = machine_gpus()
    found = next((gpu for gpu in machine.gpus if gpu.index == index), None)
    if found is None or not found.usable or found.total_bytes is None:
        why = found.sentence if found is not None and found.sentence else machine.sentence
        raise DeviceError(f"This machine has no usable GPU {index}. {why}".strip())
    return found


def _entry(plan: Plan, name: str, cpu: bool = False) -> Entry:
    """The entry of this name; otherwise the one of the same kind that needs the most memory."""
    kind = DeviceKind.CPU if cpu else DeviceKind.GPU
    alike = [entry for entry in plan.devices if entry.device.kind is kind]
    for entry in alike:
        if entry.device.name.casefold() == name.casefold():
            return entry
    if not alike:
        others = ", ".join(entry.device.name for entry in plan.devices)
        raise PlanError(
            f"The plan is for {others}, and its figures do not apply to a {kind.upper()}: make another plan."
        )
    return max(alike, key=lambda entry: entry.rungs[0].peak.expected_bytes)


def _answer(plan: Plan, entry: Entry, room: Room, number: int, *, sure: bool) -> dict[str, Any]:
    if not 0 <= number < len(entry.rungs):
        raise PlanError(
            f"There is no rung {number}: the plan has {len(entry.rungs)} for {entry.device.name}, counted from 0."
        )
    rung = entry.rungs[number]
    verdict, largest = room.verdict(rung), entry.largest if room.name == entry.device.name else None
    lower = [n for n, each in enumerate(entry.rungs) if n > number and room.verdict(each).yes(sure=sure)]
    return {
        "device": room.name,
        "planned_for": entry.device.name,
        "gpus": entry.gpus,
        "batch": plan.training.global_batch,
        "rung": number,
        "per_gpu_batch": rung.per_gpu_batch,
        "accumulate": rung.accumulate,
        "precision": str(rung.precision),
        "peak_bytes": rung.peak.expected_bytes,
        "low_bytes": rung.peak.low_bytes,
        "high_bytes": rung.peak.high_bytes,
        "device_bytes": rung.peak.device_bytes,
        "source": str(rung.peak.source.kind),
        "capacity_bytes": room.capacity_bytes,
        "free_bytes": room.free_bytes,
        **verdict_dict(verdict, sure=sure),
        "largest_batch": None if largest is None else largest.per_gpu_batch * entry.gpus,
        "sure_batch": None if largest is None else largest.sure_per_gpu_batch * entry.gpus,
        "lower_rung": lower[0] if lower else None,
    }


def _text(check: dict[str, Any]) -> Text:
    capacity, free, peak = check["capacity_bytes"], check["free_bytes"], check["peak_bytes"]
    text = Text(check["verdict"], style=f"bold {STYLES[Verdict(check['verdict'])]}")
    limit = "no limit" if capacity is None else f"TensorFlow gets {format_bytes(capacity)}"
    now = "" if free is None else f", {format_bytes(free)} free now"
    text.append(
        f" {check['device']}: rung {check['rung']} takes {format_bytes(peak)} ({check['source']}), {limit}{now}",
        style="not bold default",
    )
    if not check["fits"] and check["lower_rung"] is not None:
        text.append(f"\nrung {check['lower_rung']} would fit: load_plan(..., rung={check['lower_rung']})", style="dim")
    if check["device"] != check["planned_for"]:
        text.append(f"\nusing the figures for {check['planned_for']}", style="not bold dim")
    return text


def _model(plan: Plan, options: Namespace) -> list[str]:
    """Warn if the model's file has changed since the plan was made."""
    beside = Path(options.plan).parent / plan.model.file
    path = options.model or (str(beside) if plan.model.format != "python" and beside.exists() else None)
    if path is None:
        return []
    try:
        found = check_model(path, options.custom, trust=options.trust).sha256
    except PlannerError as error:
        if options.model:
            raise
        return [str(error)]
    if found != plan.model.sha256:
        raise PlanError(f"{path!r} has changed since the plan was made: make the plan again.")
    return []


def _versions(plan: Plan) -> list[str]:
    installed = versions()
    return [
        f"The plan was made with {name} {version}, but {installed[name]} is installed: its figures may differ."
        for name, version in plan.versions.items()
        if name in installed and installed[name] != version
    ]
