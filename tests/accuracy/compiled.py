"""Compile every case for a GPU that is not there, estimate it, and write the table of both into the README.

    python tests/accuracy/compiled.py [--only WORD] [--kept] [--print]

Needs the extra xla-gpu. What the compiler said is kept under build/accuracy: a second run only estimates. `--kept`
takes it from compiled_results.json instead, and needs no compiler.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cases import Case
from compiled_cases import CASES, CompiledCase
from estimates import setup_of
from report import folded, write_readme
from runs import HERE, KEPT, ROOT, Runs

from planner_app.core.compile.check import CompileCheck
from planner_app.core.model.setup import Jit
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.memory import Memory, Point
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.compiled import CompileCache
from planner_app.jobs.protocol import Trace
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.compile import Compiler
from planner_app.planner.opening import check_model

README, RESULTS = ROOT / "README.md", HERE / "compiled_results.json"
MARKS = ("<!-- accuracy-xla:begin -->", "<!-- accuracy-xla:end -->")
COLUMNS = (
    "model",
    "batch",
    "precision",
    "optimizer",
    "GPU",
    "arguments, MB",
    "temporary, MB",
    "in all",
    "estimated",
    "error",
    "band, MB",
    "s to compile",
)
LEFT = 5  # columns of words


@dataclass(frozen=True, slots=True)
class Held:
    """A case: what the compiler said, and what was estimated."""

    case: CompiledCase
    argument_bytes: int
    temp_bytes: int
    estimated_bytes: int
    low_bytes: int
    high_bytes: int
    seconds: float

    @property
    def compiled_bytes(self) -> int:
        return self.argument_bytes + self.temp_bytes

    @property
    def error(self) -> float:
        return self.estimated_bytes / self.compiled_bytes - 1

    @property
    def in_band(self) -> bool:
        return self.low_bytes <= self.compiled_bytes <= self.high_bytes


def main() -> int:
    given = _arguments()
    cases = [case for case in CASES if given.only in str(case)]
    runs = Runs()
    runs.save_models(case.case.model for case in cases)
    held: list[Held] = []
    failed: list[str] = []
    known = _known() if given.kept else {}
    versions = json.loads(RESULTS.read_text())["versions"] if given.kept else ""
    began = time.monotonic()
    with WarmWorker() as worker:
        for number, case in enumerate(cases, 1):
            try:
                file = runs.model_file(case.case.model)
                if str(case) in known:
                    held.append(_held(case, _estimated(file, case, worker), *known[str(case)]))
                else:
                    check = _compiled(file, case)
                    told = check.compiled
                    point = _estimated(file, case, worker)
                    held.append(_held(case, point, told.argument_bytes, told.temp_bytes, told.seconds))
                    versions = _versions(check)
            except PlannerError as error:
                if "xla-gpu" in str(error):
                    print(f"The XLA part is left out. {error}", file=sys.stderr)
                    return 0
                failed.append(f"{case}: {error}")
                print(f"[{number}/{len(cases)}] {case}: failed", flush=True)
                continue
            print(f"[{number}/{len(cases)}, {time.monotonic() - began:.0f} s] {_line(held[-1])}", flush=True)
    if held:
        print(sentences(held, versions))
        if len(held) == len(CASES) and not given.print:
            _write_json(RESULTS, held, versions)
            if write_readme(README, markdown(held, versions), MARKS):
                print(f"Wrote {README.relative_to(ROOT)} and {RESULTS.relative_to(ROOT)}.")
    for text in failed:
        print(text, file=sys.stderr)
    return 1 if failed else 0


def _compiled(file: Path, case: CompiledCase) -> CompileCheck:
    with Compiler(check_model(str(file)), CompileCache(KEPT / "compiled")) as compiler:
        return compiler.check(setup_of(case.case, Jit.AUTO), find_device(case.device))


def _estimated(file: Path, case: CompiledCase, worker: WarmWorker) -> Point:
    """Made past the cache on disk: what is held against the compiler is today's code."""
    setup = setup_of(case.case, Jit.AUTO)
    step = setup.step(find_device(case.device).target)
    trace = worker.run(Trace(model=check_model(str(file)), setup=step), StepTrace)
    return Memory(trace, step).point(setup.per_gpu_batch)


def _held(case: CompiledCase, point: Point, argument_bytes: int, temp_bytes: int, seconds: float) -> Held:
    return Held(case, argument_bytes, temp_bytes, point.in_use_bytes, point.low_bytes, point.high_bytes, seconds)


def _known() -> dict[str, tuple[int, int, float]]:
    """What the compiler said of each case the last time."""
    found = {}
    for row in json.loads(RESULTS.read_text())["cases"]:
        case = CompiledCase(Case(**row["case"]["case"]), row["case"]["device"])
        found[str(case)] = row["argument_bytes"], row["temp_bytes"], row["seconds"]
    return found


def _versions(check: CompileCheck) -> str:
    return ", ".join(f"{name} {check.versions[name]}" for name in ("tensorflow", "keras", "jax-cuda12-pjrt"))


def sentences(held: Sequence[Held], versions: str) -> str:
    errors = [one.error for one in held]
    within = sum(one.in_band for one in held)
    return (
        f"{len(held)} steps compiled by XLA ({versions}) for GPUs that were not there: arguments and temporary memory "
        f"against the estimate for the same GPU.\n\n"
        f"- Median error {statistics.median(map(abs, errors)):.1%}; at the most {-min(errors):.1%} too low and "
        f"{max(errors):.1%} too high.\n"
        f"- Within the band in {within} of {len(held)} cases."
    )


def markdown(held: Sequence[Held], versions: str) -> str:
    rule = "|".join(["---"] * LEFT + ["---:"] * (len(COLUMNS) - LEFT))
    ordered = sorted(held, key=lambda one: (one.case.case.model, one.case.case.batch, one.case.case.precision))
    rows = "\n".join(f"| {' | '.join(_row(one))} |" for one in ordered)
    table = f"| {' | '.join(COLUMNS)} |\n|{rule}|\n{rows}"
    return f"{sentences(held, versions)}\n\n{folded(table)}"


def _row(one: Held) -> list[str]:
    case = one.case.case
    band = f"{_mb(one.low_bytes)} to {_mb(one.high_bytes)}{'' if one.in_band else ' **missed**'}"
    words = [case.model, str(case.batch), case.precision, case.optimizer, one.case.device.removeprefix("NVIDIA ")]
    figures = (one.argument_bytes, one.temp_bytes, one.compiled_bytes, one.estimated_bytes)
    return [*words, *map(_mb, figures), f"{one.error:+.1%}", band, f"{one.seconds:.0f}"]


def _line(one: Held) -> str:
    outside = "" if one.in_band else ", outside the band"
    return (
        f"{one.case!s:70} {_mb(one.argument_bytes):>7} + {_mb(one.temp_bytes):>7} MB, "
        f"estimated {_mb(one.estimated_bytes):>7} {one.error:+6.1%}{outside}"
    )


def _write_json(file: Path, held: Sequence[Held], versions: str) -> None:
    cases = [asdict(one) | {"error": round(one.error, 4), "in_band": one.in_band} for one in held]
    file.write_text(json.dumps({"versions": versions, "cases": cases}, indent=1) + "\n")


def _mb(count_bytes: int) -> str:
    return f"{count_bytes / 1e6:.1f}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/accuracy/compiled.py", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only cases with this in their name")
    parser.add_argument("--kept", action="store_true", help="compile nothing, estimate anew")
    parser.add_argument("--print", action="store_true", help="write no file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
