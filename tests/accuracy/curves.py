"""The compiler's line of many models against compilations at batches it was not drawn through.

    python tests/accuracy/curves.py [--most COUNT] [--only WORD] [--print]

Every model of the gallery and of families.py has one precision and one GPU generation in turn. For each: the line of a
chart and the largest batch, both from nothing, then three batches between the anchors. Needs the extra xla-gpu. What is
done is kept in curves_results.json after each model; a later run goes on with the next.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from statistics import median

from report import folded, write_readme
from runs import HERE, KEPT, ROOT
from unseen import GALLERY, MODELS, can_open, save_models
from unseen import read as programs

sys.path.insert(0, str(ROOT))

from planner_app.core.compile.anchoring import next_for_chart, next_for_largest, settled
from planner_app.core.compile.line import Anchor, Line
from planner_app.core.estimate.level import Level
from planner_app.core.model.setup import Jit, Precision, Setup
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.devices.targets import target_of
from planner_app.files.kept.compiled import CompileCache
from planner_app.files.kept.traces import TraceCache
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.compile import Compiler
from planner_app.planner.lines import Ask
from planner_app.planner.opening import check_model
from planner_app.planner.planner import Planner
from tests.gallery.entries import entries

RESULTS, README = HERE / "curves_results.json", ROOT / "README.md"
MARKS = ("<!-- accuracy-curves:begin -->", "<!-- accuracy-curves:end -->")
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16", "bfloat16")
DEVICES = ("NVIDIA H100 80GB HBM3", "NVIDIA Tesla T4", "NVIDIA A100-SXM4-40GB")
LIMITS = (96, 700, 250, 1500)  # batches that a small model's memory is limited to, in turn
LARGEST_LIMIT = 10_000
SMALLEST_LIMIT_BYTES = 256 << 20  # below, cuBLAS' workspace outweighs what depends on the batch
ABOVE_CAPACITY = 1.6  # as far as the chart's lines go
PLACES = (0.3, 0.6, 0.9)  # of the batches that are held out, between the smallest on the chart and the largest (log)
NEAR = 0.05


@dataclass(frozen=True, slots=True)
class Case:
    model: str
    target: str
    precision: str
    device: str
    limit_batch: int
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def setup(self) -> Setup:
        return Setup(batch=32, precision=Precision(self.precision), jit=Jit.ON, sizes=self.sizes)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A batch that was compiled after the line was drawn."""

    batch: int
    compiled_bytes: int
    line_bytes: int
    low_bytes: int
    high_bytes: int

    @property
    def error(self) -> float:
        return self.line_bytes / self.compiled_bytes - 1

    @property
    def in_band(self) -> bool:
        return self.low_bytes <= self.compiled_bytes <= self.high_bytes


@dataclass(frozen=True, slots=True)
class Curve:
    """Attributes:
    chart, largest: The batches that were compiled for the line and for the largest batch, in order.
    fits, above: The largest batch that was compiled and fits, and the smallest that does not.
    programs: Held and temporary bytes, and the estimate, by batch.
    refused: Why there is no line.
    """

    model: str
    precision: str
    device: str
    capacity_bytes: int = 0
    chart: tuple[int, ...] = ()
    largest: tuple[int, ...] = ()
    fits: int = 0
    above: int | None = None
    held_out: tuple[HeldOut, ...] = ()
    programs: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    refused: str = ""

    @property
    def confirmed(self) -> bool:
        return self.above is not None and self.above - self.fits <= max(1, self.fits // 1000)


def cases() -> list[Case]:
    """A few of every module first, so that a part of them is a sample of all."""
    rooms: dict[str, list[tuple[str, str, tuple[tuple[str, tuple[int, ...]], ...]]]] = {}
    for entry in entries():
        rooms.setdefault(entry.file.stem, []).append((entry.name, entry.target, entry.sizes))
    known = dict.fromkeys(program.model for program in programs() if not program.model.startswith(GALLERY))
    rooms["families"] = [(name, str(MODELS / f"{name}.keras"), ()) for name in known]
    rounds = zip_longest(rooms["hub"], rooms["trainers"], rooms["families"], rooms["particular"], rooms["tuned"])
    return [
        Case(
            model=name,
            target=target,
            sizes=sizes,
            precision=PRECISIONS[number % len(PRECISIONS)],
            device=DEVICES[number % len(DEVICES)],
            limit_batch=LIMITS[number // 2 % len(LIMITS)],
        )
        for number, (name, target, sizes) in enumerate(filter(None, chain.from_iterable(rounds)))
    ]


def drawn(case: Case, worker: WarmWorker) -> Curve:
    model, device, setup = check_model(case.target), find_device(case.device), case.setup
    cache = KEPT / "compiled"
    planner = Planner(model, calibrated=False, ask=Ask.NEVER, cache=TraceCache(cache))
    need = planner.need(setup, device, worker=worker)
    if not need.memory.xla:
        return Curve(case.model, case.precision, case.device, refused="Keras does not compile this model with XLA.")
    estimate = need.estimated
    limit_batch = case.limit_batch
    while estimate(limit_batch).peak_bytes < SMALLEST_LIMIT_BYTES and limit_batch < LARGEST_LIMIT:
        limit_batch *= 2
    limit = estimate(limit_batch).peak_bytes
    capacity = min(need.capacity_bytes or limit, limit)
    anchors: dict[int, Anchor] = {}
    with Compiler(model, CompileCache(cache), worker=worker) as compiler:

        def compiled(batch: int) -> Anchor:
            if batch not in anchors:
                anchors[batch] = Anchor(batch, compiler.check(setup.with_batch(batch), device).compiled)
            return anchors[batch]

        empty = Line(memory_bytes=target_of(device).device_memory_size)
        top = int(capacity * ABOVE_CAPACITY)
        chart, line = anchored(empty, lambda line: next_for_chart(line, estimate, top), compiled)
        largest, line_of_largest = anchored(empty, lambda line: next_for_largest(line, estimate, capacity), compiled)
        found = settled(line_of_largest, capacity)
        held_out = tuple(_held_out(line, estimate, compiled, batch) for batch in _between(line, chart))
    return Curve(
        case.model,
        case.precision,
        case.device,
        capacity,
        chart,
        largest,
        found.batch,
        found.above,
        held_out,
        {
            batch: (each.held_bytes, each.temp_bytes, estimate(batch).peak_bytes)
            for batch, each in sorted(anchors.items())
        },
    )


def _drawn(case: Case, worker: WarmWorker) -> Curve:
    """In float32, where the model's own training step is written for that alone."""
    try:
        return drawn(case, worker)
    except PlannerError:
        if case.precision == "float32":
            raise
        return drawn(replace(case, precision="float32"), worker)


def anchored(
    line: Line, next_batch: Callable[[Line], int | None], compiled: Callable[[int], Anchor]
) -> tuple[tuple[int, ...], Line]:
    order = []
    while (batch := next_batch(line)) is not None:
        line = line.with_anchor(compiled(batch))
        order.append(batch)
    return tuple(order), line


def _between(line: Line, chart: Sequence[int]) -> Iterator[int]:
    """Batches between the line's first anchor and its last."""
    low, high = min(chart), max(chart)
    seen = set(chart)
    for place in PLACES:
        batch = round(low * (high / low) ** place)
        batch = next((each for each in (batch, batch + 1, batch - 1) if low < each < high and each not in seen), 0)
        if batch:
            seen.add(batch)
            yield batch


def _held_out(line: Line, estimate: Callable[[int], Level], compiled: Callable[[int], Anchor], batch: int) -> HeldOut:
    level = line.level(batch, estimate)
    return HeldOut(batch, compiled(batch).total_bytes, level.peak_bytes, level.low_bytes, level.high_bytes)


def sentences(curves: Sequence[Curve]) -> str:
    drawn_ones = [curve for curve in curves if not curve.refused]
    held = [each for curve in drawn_ones for each in curve.held_out]
    errors = sorted(abs(each.error) for each in held)
    near, within = (sum(error <= NEAR for error in errors), sum(each.in_band for each in held))
    both = sum(curve.confirmed for curve in drawn_ones)
    precisions, devices = ({getattr(curve, name) for curve in drawn_ones} for name in ("precision", "device"))
    return (
        f"{len(drawn_ones)} models, {len(precisions)} precisions and {len(devices)} GPU generations in turn; "
        f"{len(held)} batches between the anchors of the lines, compiled after those were drawn:\n\n"
        f"- Median error {median(errors):.1%}; within {NEAR:.0%} in {near / len(held):.0%}, at the most "
        f"{errors[-1]:.1%}; within the line's band in {within / len(held):.0%}.\n"
        f"- Compilations for a line of the chart: {median(len(curve.chart) for curve in drawn_ones):.0f} (median), at "
        f"the most {max(len(curve.chart) for curve in drawn_ones)}. For a largest batch: "
        f"{median(len(curve.largest) for curve in drawn_ones):.0f} (median), at the most "
        f"{max(len(curve.largest) for curve in drawn_ones)}; it and the next one were both compiled in {both} of "
        f"{len(drawn_ones)}."
    )


def markdown(curves: Sequence[Curve]) -> str:
    head = (
        "| model | precision | GPU | compilations for the line | for the largest batch | largest batch | held-out "
        "batches: error |\n|---|---|---|---:|---:|---:|---|"
    )
    return f"{sentences(curves)}\n\n{folded(head + chr(10) + chr(10).join(map(_row, curves)))}"


def _row(curve: Curve) -> str:
    about = f"| {curve.model} | {curve.precision} | {curve.device.removeprefix('NVIDIA ')} |"
    if curve.refused:
        return f"{about} | | | {curve.refused} |"
    errors = ", ".join(
        f"{each.batch}: {each.error:+.1%}{'' if each.in_band else ' **missed**'}" for each in curve.held_out
    )
    above = "" if curve.confirmed else f" (does not fit: {curve.above})"
    return f"{about} {len(curve.chart)} | {len(curve.largest)} | {curve.fits}{above} | {errors} |"


def read(file: Path = RESULTS) -> list[Curve]:
    return [_read(each) for each in json.loads(file.read_text())["curves"]] if file.exists() else []


def _read(told: dict[str, object]) -> Curve:
    curve = Curve(**told)  # type: ignore[arg-type]
    return replace(
        curve,
        chart=tuple(curve.chart),
        largest=tuple(curve.largest),
        held_out=tuple(HeldOut(**each) for each in curve.held_out),  # type: ignore[arg-type]
        programs={int(batch): tuple(each) for batch, each in curve.programs.items()},
    )


def write(curves: Sequence[Curve], file: Path) -> None:
    rows = ",\n".join(json.dumps(asdict(curve)) for curve in curves)
    file.write_text(f'{{"curves": [\n{rows}\n]}}\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=0, metavar="COUNT", help="draw no more new lines than this")
    parser.add_argument("--only", default="", metavar="WORD", help="only models with this in their name, again")
    parser.add_argument("--to", type=Path, default=RESULTS, metavar="FILE", help="keep the results there")
    parser.add_argument("--print", action="store_true", help="draw nothing, write no file")
    given = parser.parse_args()
    curves = read(given.to)
    done = {curve.model for curve in curves if not given.only or given.only not in curve.model}
    missing = [case for case in cases() if case.model not in done and given.only in case.model]
    missing = [case for case in missing if can_open(f"{GALLERY}{case.model}")]
    if given.most:
        missing = missing[: given.most]
    if not given.print:
        save_models(case.model for case in missing if case.target.startswith(str(MODELS)))
        with WarmWorker() as worker:
            for case in missing:
                began = time.monotonic()
                try:
                    curve = _drawn(case, worker)
                except PlannerError as error:
                    curve = Curve(case.model, case.precision, case.device, refused=str(error))
                curves = [each for each in curves if each.model != case.model] + [curve]
                write(curves, given.to)
                print(f"{time.monotonic() - began:4.0f} s {_row(curve)}", flush=True)
        if given.to == RESULTS:
            write_readme(README, markdown(curves), MARKS)
    print(sentences(curves))
    return 0


if __name__ == "__main__":
    sys.exit(main())
