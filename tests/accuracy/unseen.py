"""Models of many families (families.py) compiled for GPUs that are not there, against the estimate of each.

    python tests/accuracy/unseen.py [--compile | --curves | --kept] [--only FAMILY,...] [--print]

No rule of the fusion model was made for these programs but where the changelog says so, and the band that is judged
here is set by the other families: what stands in the README is what a model nobody has seen may expect. `--compile`
asks the compiler for the cases that unseen_results.json does not have yet; `--curves` takes over the programs that
curves.py has compiled, of the gallery.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from report import folded, write_readme
from runs import HERE, KEPT, ROOT

sys.path.insert(0, str(ROOT))

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Jit, Precision, Setup, parse_optimizer
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.band import LATE
from planner_app.core.replay.memory import FEW_BUFFERS_BYTES, FUSION_BAND, Memory, Point
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.compiled import CompileCache
from planner_app.jobs.protocol import Trace
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.compile import Compiler
from planner_app.planner.opening import check_model
from tests.gallery.entries import Entry, entries

RESULTS, MODELS, README = HERE / "unseen_results.json", KEPT / "families", ROOT / "README.md"
MARKS = ("<!-- accuracy-unseen:begin -->", "<!-- accuracy-unseen:end -->")
OUTSIDE = 0.1  # the share of programs of other families that may lie outside the band, half of it on each side
GALLERY = "gallery/"  # before the names of its models
LARGE_BYTES = 64 << 20
LOW = -0.15  # too low by more than this and outside the band: what must not happen


@dataclass(frozen=True, slots=True)
class Program:
    """What the compiler said of one program, and what was estimated.

    Attributes:
        held_bytes: Arguments, and results that don't lie in their memory.
        late_bytes: What the band has more for filters' gradients that come late.
    """

    family: str
    model: str
    precision: str
    optimizer: str
    batch: int
    device: str
    held_bytes: int
    temp_bytes: int
    estimated_bytes: int = 0
    late_bytes: int = 0

    @property
    def line(self) -> tuple[str, str, str, str]:
        """The programs that differ in the batch alone."""
        return self.model, self.precision, self.optimizer, self.device

    @property
    def total_bytes(self) -> int:
        return self.held_bytes + self.temp_bytes

    @property
    def error(self) -> float:
        return self.estimated_bytes / self.total_bytes - 1

    @property
    def ratio(self) -> float:
        """The temporary block over the estimated one, which may be as large as late gradients make it."""
        block = max(self.estimated_bytes - self.held_bytes, 1)
        return self.temp_bytes / min(max(block, self.temp_bytes), block + self.late_bytes)

    def estimated_as(self, point: Point) -> Program:
        late = sum(part.high_bytes for part in point.band if part.name == LATE)
        return replace(self, estimated_bytes=point.in_use_bytes, late_bytes=int(late / FUSION_BAND[1]))

    @property
    def setup(self) -> Setup:
        precision, optimizer = Precision(self.precision), parse_optimizer(self.optimizer)
        entry = gallery().get(self.model)
        sizes = () if entry is None else entry.sizes
        return Setup(batch=self.batch, precision=precision, optimizer=optimizer, jit=Jit.ON, sizes=sizes)


@cache
def gallery() -> dict[str, Entry]:
    """The models of the gallery, by the name that they have here."""
    return {f"{GALLERY}{entry.name}": entry for entry in entries()}


def opened(model: str) -> CheckedModel:
    entry = gallery().get(model)
    return check_model(str(MODELS / f"{model}.keras") if entry is None else entry.target)


def can_open(model: str) -> bool:
    """KerasHub's models need keras-hub, which `make accuracy` does without."""
    entry = gallery().get(model)
    return entry is None or entry.file.stem != "hub" or find_spec("keras_hub") is not None


def band_of(programs: Iterable[Program]) -> tuple[float, float]:
    """The shares of the estimated block between which the compiler's lies in all but a tenth; each line counts once."""
    lines: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for program in programs:
        lines[program.line].append(program.ratio)
    ratios = sorted(ratio for line in lines.values() for ratio in (min(line), max(line)))
    cut = int(len(ratios) * OUTSIDE / 2)
    return ratios[cut], ratios[-1 - cut]


def left_out(programs: Sequence[Program]) -> dict[str, tuple[float, float]]:
    """For each family the band that the others set."""
    families = {program.family for program in programs}
    return {family: band_of(p for p in programs if p.family != family) for family in families}


def is_within(program: Program, band: tuple[float, float]) -> bool:
    low, high = band
    block = program.estimated_bytes - program.held_bytes
    few_more = program.temp_bytes <= block * high + FEW_BUFFERS_BYTES
    return low <= program.ratio and (program.ratio <= high or few_more)


def sentences(programs: Sequence[Program]) -> str:
    bands = left_out(programs)
    errors = [program.error for program in programs]
    within = [is_within(program, bands[program.family]) for program in programs]
    low = sum(error < LOW and not inside for error, inside in zip(errors, within, strict=True))
    models, families = len({p.model for p in programs}), len(bands)
    kept = sum(is_within(program, FUSION_BAND) for program in programs) / len(programs)
    large = [program.error for program in programs if program.total_bytes >= LARGE_BYTES]
    return (
        f"{len(programs)} programs of {models} models in {families} families, each judged with a band that was set by "
        f"the other families:\n\n"
        f"- Median error {statistics.median(map(abs, errors)):.1%}; nine of ten within "
        f"{sorted(map(abs, errors))[int(len(errors) * 0.9)]:.1%}. Of the {len(large)} that take "
        f"{LARGE_BYTES >> 20} MiB or more, at the most {-min(large):.0%} too low and {max(large):.0%} too high; "
        f"below, cuBLAS' workspace of 32 MiB outweighs the rest.\n"
        f"- Within the band in {sum(within) / len(within):.0%}; more than {-LOW:.0%} too low and outside it in {low}. "
        f"The band that an estimate shows, {FUSION_BAND[0]} to {FUSION_BAND[1]} of its temporary memory and "
        f"{FEW_BUFFERS_BYTES >> 20} MiB more, holds {kept:.0%}."
    )


def markdown(programs: Sequence[Program]) -> str:
    bands = left_out(programs)
    rows = []
    for family in sorted(bands):
        of_family = [program for program in programs if program.family == family]
        errors = [program.error for program in of_family]
        within = sum(is_within(program, bands[family]) for program in of_family)
        names = ", ".join(sorted({program.model for program in of_family}))
        median = statistics.median(map(abs, errors))
        rows.append(
            f"| {family} | {names} | {len(of_family)} | {median:.1%} | {min(errors):+.0%} to {max(errors):+.0%} | "
            f"{within} of {len(of_family)} |"
        )
    head = "| family | models | programs | median error | errors | in the band |\n|---|---|---:|---:|---:|---:|"
    return f"{sentences(programs)}\n\n{folded(head + chr(10) + chr(10).join(rows))}"


def estimated(programs: Sequence[Program], only: Sequence[str] = ()) -> list[Program]:
    """With today's estimate of each, past the cache on disk; those that can't be opened here, and those of other
    families than `only`, as they are kept."""
    asked = {program for program in programs if (not only or program.family in only) and can_open(program.model)}
    left = [program for program in programs if program not in asked]
    programs = [program for program in programs if program in asked]
    save_models({program.model for program in programs} - gallery().keys())
    memories: dict[tuple[str, object], Memory] = {}
    found = []
    with WarmWorker() as worker:
        for number, program in enumerate(sorted(programs, key=lambda each: each.line), 1):
            step = program.setup.step(find_device(program.device).target)
            key = (program.model, step)
            if key not in memories:
                memories[key] = Memory(worker.run(Trace(model=opened(program.model), setup=step), StepTrace), step)
            found.append(program.estimated_as(memories[key].point(program.batch)))
            print(
                f"[{number}/{len(programs)}] {' '.join(program.line)} {program.batch}: {found[-1].error:+.1%}",
                flush=True,
            )
    return left + found


def compiled(programs: Sequence[Program], only: Sequence[str] = ()) -> list[Program]:
    """The same, with one more batch size, precision and device of each model where there is none yet."""
    from families import FAMILY_OF
    from families import MODELS as BUILDERS

    models = [model for model in BUILDERS if not only or FAMILY_OF[model] in only]
    save_models(models)
    known = {(*program.line, program.batch) for program in programs}
    found = list(programs)
    for model in models:
        checked = check_model(str(MODELS / f"{model}.keras"))
        with Compiler(checked, CompileCache(KEPT / "compiled")) as compiler:
            for precision, optimizer, device, batch in CASES:
                if (model, precision, optimizer, device, batch) in known:
                    continue
                program = Program(FAMILY_OF[model], model, precision, optimizer, batch, device, 0, 0)
                try:
                    told = compiler.check(program.setup, find_device(device)).compiled
                except PlannerError as error:
                    print(f"{' '.join(program.line)} {batch}: {error}", file=sys.stderr)
                    continue
                held = told.total_bytes - told.temp_bytes
                found.append(Program(**asdict(program) | {"held_bytes": held, "temp_bytes": told.temp_bytes}))
                print(f"{' '.join(program.line)} {batch}: {told.total_bytes / 1e6:.0f} MB", flush=True)
    return found


def with_curves(programs: Sequence[Program]) -> list[Program]:
    """The same and the batches of the compiler's lines that they were not drawn through, and the largest that fit."""
    from curves import read as curves

    families = {program.model: program.family for program in programs}
    known = {(*program.line, program.batch): program for program in programs}
    for curve in curves():
        entry = gallery().get(f"{GALLERY}{curve.model}")
        family = families[curve.model] if entry is None else f"gallery, {entry.file.stem}"
        model = curve.model if entry is None else f"{GALLERY}{curve.model}"
        for batch in {each.batch for each in curve.held_out} | {curve.fits}:
            if batch in curve.programs:
                held, temp, estimate = curve.programs[batch]
                found = Program(family, model, curve.precision, "own", batch, curve.device, held, temp, estimate)
                known.setdefault((*found.line, batch), found)
    return list(known.values())


H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"
CASES = (
    ("float32", "adam", H100, 32),
    ("mixed_bfloat16", "adam", H100, 64),
    ("mixed_float16", "sgd:momentum=0.9", A100, 128),
    ("float32", "adam", "NVIDIA L4", 8),
)


def save_models(names: Iterable[str]) -> None:
    missing = [name for name in names if not (MODELS / f"{name}.keras").exists()]
    if missing:
        subprocess.run([sys.executable, str(HERE / "families.py"), str(MODELS), *missing], check=True)


def read(file: Path = RESULTS) -> list[Program]:
    return [Program(**each) for each in json.loads(file.read_text())["programs"]] if file.exists() else []


def write(programs: Sequence[Program], file: Path = RESULTS) -> None:
    rows = ",\n".join(json.dumps(asdict(program)) for program in sorted(programs, key=lambda p: (p.line, p.batch)))
    file.write_text(f'{{"programs": [\n{rows}\n]}}\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile", action="store_true", help="compile what is missing, first")
    parser.add_argument("--curves", action="store_true", help="take over what curves.py has compiled, first")
    parser.add_argument("--kept", action="store_true", help="report the estimates that are kept, make none")
    parser.add_argument("--only", default="", metavar="FAMILY,...", help="compile and estimate these alone")
    parser.add_argument("--print", action="store_true", help="write no file")
    given = parser.parse_args()
    programs, only = read(), [name for name in given.only.split(",") if name]
    if given.compile:
        programs = compiled(programs, only)
    if given.curves:
        programs = with_curves(programs)
    if not given.kept:
        programs = estimated(programs, only)
    print(sentences(programs))
    low, high = band_of(programs)
    print(f"All families together set a band of {low:.2f} to {high:.2f}; FUSION_BAND is {FUSION_BAND}.")
    if not given.print:
        write(programs)
        if write_readme(README, markdown(programs), MARKS):
            print(f"Wrote {README.relative_to(ROOT)} and {RESULTS.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
