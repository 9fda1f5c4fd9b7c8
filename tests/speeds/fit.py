"""Fits the shares of achieved.py and links.py to published speeds, and judges them on GPUs that were left out."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from planner_app.core.hardware.achieved import Units, descent
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.links import BACKWARD, link_between
from planner_app.core.hardware.roofline import TERA, rate
from planner_app.core.hardware.work import Kind, StepWork
from planner_app.core.model.setup import Precision

PUBLISHED = Path(__file__).with_name("published.csv")
# Of other GPUs, by PyTorch, which are only judged by. Its ResNet50 in 16 bits is left out: channels come first there,
# which costs tensor cores a third (an RTX 3090: 905 images a second; with channels last, as in Keras, timm's 1,218).
UNSEEN = PUBLISHED.with_name("unseen.csv")
NORMALISING = ("resnet50", "resnet152", "inception3")
# How strongly a generation's share is held to that of the one it descends from, or to the usual one: as much as this
# many figures that agree with it.
HELD = 0.2
INTENSE = 500.0  # operations for each number read or written, of a usual convolution
TYPICAL = 50e12  # arithmetic a second of a GPU whose share is the usual one; larger ones are harder to keep busy

LINK = np.array([0.5, 0.0])  # logits of the share of a link that is achieved, and of the backward pass that hides it
Capability = tuple[int, int]


@dataclass(frozen=True)
class Figure:
    """One published speed, and all that the estimate of it is made of."""

    device: Device
    gpus: int
    model: str
    batch: int
    precision: Precision
    xla: bool
    samples_per_second: float
    source: str
    work: StepWork

    @property
    def units(self) -> Units:
        found = rate(self.device, self.precision)
        assert found is not None
        return found.units

    @property
    def chip(self) -> str:
        """GPUs of one chip, whatever their memory and form."""
        return next((chip for chip in CHIPS if chip in self.device.name), self.device.name)


CHIPS = ("A100", "V100", "Quadro RTX", "Max-Q")


def figures(works: dict[str, StepWork], find: object, path: Path = PUBLISHED) -> list[Figure]:
    found = []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            xla = row["xla"] == "1"
            name = row["model"] + ("_fused" if row["model"] in NORMALISING and not xla else "")
            work = works.get(f"{name} {row['precision']} {'xla' if xla else 'plain'}")
            if work is None:
                continue
            found.append(
                Figure(
                    find(row["gpu"]), int(row["gpus"]), row["model"], int(row["per_gpu_batch"]),
                    Precision(row["precision"]), xla, float(row["samples_per_second"]), row["source"], work,
                )  # type: ignore[operator]
            )  # fmt: skip
    return found


@dataclass(frozen=True)
class Table:
    """Figures as arrays: a row for each figure, a column for each kind of kernel, padded with nothing."""

    flops: np.ndarray
    moved: np.ndarray
    intensity: np.ndarray
    count: np.ndarray
    kind: np.ndarray
    rest: np.ndarray
    kernels: np.ndarray
    peak: np.ndarray
    plain: np.ndarray
    bandwidth: np.ndarray
    units: np.ndarray
    xla: np.ndarray
    generation: np.ndarray
    reduced: np.ndarray
    batch: np.ndarray
    measured: np.ndarray


UNITS, KINDS = tuple(Units), tuple(Kind)


def table(rows: Sequence[Figure], generations: Sequence[Capability]) -> Table:
    width = max(len(row.work.multiplications) for row in rows)
    flops, moved, count = (np.zeros((len(rows), width)) for _ in range(3))
    kind = np.zeros((len(rows), width), int)
    for place, row in enumerate(rows):
        for column, each in enumerate(row.work.multiplications):
            flops[place, column], moved[place, column] = each.flops.at(row.batch), each.moved.at(row.batch)
            count[place, column], kind[place, column] = each.count, KINDS.index(each.kind)
    rates = [rate(row.device, row.precision) for row in rows]
    wide = np.array([2.0 if row.units is Units.SIXTEEN else 4.0 for row in rows])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        intensity = np.where((moved > 0) & (flops > 0), np.log(flops / moved * wide / INTENSE), 0.0)
    return Table(
        flops, moved, np.where(kind == KINDS.index(Kind.CONVOLUTION), np.clip(intensity, -4, 1.5), 0.0), count, kind,
        np.array([row.work.moved.at(row.batch) for row in rows], float),
        np.array([row.work.kernels for row in rows], float),
        np.array([each.flops_per_second for each in rates if each]),
        np.array([(row.device.tflops.float32 or 0) * TERA for row in rows]),
        np.array([row.device.bandwidth_bytes_per_second for row in rows], float),
        np.array([UNITS.index(row.units) for row in rows]),
        np.array([int(row.xla) for row in rows]),
        np.array([generations.index(row.device.compute_capability) for row in rows]),
        np.array([_reduced(row) for row in rows]),
        np.array([row.batch * row.gpus for row in rows], float),
        np.array([row.samples_per_second for row in rows]),
    )  # fmt: skip


def _reduced(row: Figure) -> float:
    """Seconds of a reduction at the whole bandwidth of the link; none where gradients are accumulated first."""
    if row.gpus == 1 or "accumulated" in row.source:
        return 0.0
    link = link_between(row.device, row.gpus)
    assert link is not None, row.device.name
    return 2 * (row.gpus - 1) / row.gpus * row.work.gradient_bytes / link.bytes_per_second


@dataclass(frozen=True)
class Shares:
    """What is fitted, as logarithms in one vector."""

    generations: tuple[Capability, ...]
    values: np.ndarray

    @property
    def named(self) -> dict[str, np.ndarray]:
        return _split(self.values, len(self.generations))

    def seconds(self, of: Table) -> np.ndarray:
        return _seconds(of, self.named)

    def predicted(self, of: Table) -> np.ndarray:
        return of.batch / self.seconds(of)


def _split(values: np.ndarray, generations: int) -> dict[str, np.ndarray]:
    sizes = {
        "convolution": 3,
        "matrix": 3,
        "depthwise": 1,
        "memory": 2,
        "kernel": 2,
        "link": 2,
        "falling": 1,
        "rising": 2,
    }
    found, start = {}, 0
    for name, size in sizes.items():
        found[name] = values[start : start + size]
        start += size
    found["arithmetic_of"] = values[start : start + 3 * generations].reshape(generations, 3)
    found["memory_of"] = values[start + 3 * generations :]
    return found


def _seconds(of: Table, named: dict[str, np.ndarray]) -> np.ndarray:
    larger = -np.exp(named["falling"][0]) * np.log(of.peak / TYPICAL) * (of.units > 0)
    arithmetic = np.exp(named["arithmetic_of"][of.generation, of.units] + larger)[:, None]
    memory = of.bandwidth * np.minimum(np.exp(named["memory"][of.xla] + named["memory_of"][of.generation]), 1.0)
    shares = np.stack(
        [
            np.exp(named["convolution"][of.units]) * of.peak,
            np.exp(named["matrix"][of.units]) * of.peak,
            np.exp(named["depthwise"][0]) * of.plain,
        ],
        axis=1,
    )
    rising = named["rising"][np.minimum(of.units, 1)][:, None] * of.intensity
    pace = np.take_along_axis(shares, of.kind, axis=1) * arithmetic * np.exp(rising)
    longer = np.maximum(of.flops / pace, of.moved / memory[:, None])
    step = of.rest / memory + (of.count * longer).sum(axis=1) + of.kernels * np.exp(named["kernel"][of.xla])
    achieved, hidden = 1 / (1 + np.exp(-named["link"]))
    return step + np.maximum(of.reduced / achieved - hidden * BACKWARD * step, 0.0)


def fit(rows: Sequence[Figure], generations: Sequence[Capability], near: Shares | None = None) -> Shares:
    """Kernels by the figures of single GPUs, then links by those of several. `near` is where to start from."""
    alone = [row for row in rows if row.gpus == 1]
    return _links([row for row in rows if row.gpus > 1], _kernels(alone, generations, near))


def _links(rows: Sequence[Figure], shares: Shares) -> Shares:
    of, named = table(rows, shares.generations), shares.named

    def residuals(values: np.ndarray) -> np.ndarray:
        off = np.log(_seconds(of, {**named, "link": values}) * of.measured / of.batch)
        return np.concatenate([off, 0.3 * (values - LINK)])

    found = least_squares(residuals, LINK, loss="soft_l1", f_scale=0.05, max_nfev=40)
    place = int(_split(np.arange(len(shares.values)), len(shares.generations))["link"][0])
    values = shares.values.copy()
    values[place : place + len(LINK)] = found.x
    return Shares(shares.generations, values)


def _kernels(rows: Sequence[Figure], generations: Sequence[Capability], near: Shares | None) -> Shares:
    of = table(rows, generations)
    prior = np.concatenate(
        [
            np.log([0.6, 0.4, 0.4]), np.log([0.8, 0.5, 0.5]), np.log([0.1]), np.log([0.8, 0.7]),
            np.log([4e-6, 4e-6]), LINK, [-1.5], [0.0, 0.0], np.zeros(4 * len(generations)),
        ]
    )  # fmt: skip
    usual = len(prior) - 4 * len(generations)
    by_gpu: dict[str, int] = defaultdict(int)
    for row in rows:
        by_gpu[row.device.name] += 1
    # A GPU with a hundred figures does not say a hundred times as much as one with a single figure.
    weight = np.array([by_gpu[row.device.name] ** -0.5 for row in rows])
    weight *= math.sqrt(len(rows)) / np.linalg.norm(weight) / math.sqrt(len(rows)) * 10
    start = prior if near is None else near.values
    parents = _parents(generations)
    loose = np.concatenate(
        [np.full(6, 0.1), [0.3], np.full(2, 0.3), np.full(2, 0.3), np.full(2, 0.05), [0.05], [0.3, 0.3]]
    )

    def residuals(values: np.ndarray) -> np.ndarray:
        named = _split(values, len(generations))
        off = weight * np.log(_seconds(of, named) * of.measured / of.batch)
        held = [_apart(named["arithmetic_of"], parents).ravel(), _apart(named["memory_of"], parents)]
        return np.concatenate([off, *(HELD * each for each in held), loose * (values[:usual] - prior[:usual]) * 0.3])

    found = least_squares(residuals, start, loss="soft_l1", f_scale=0.03, max_nfev=40)
    return Shares(tuple(generations), found.x)


def _parents(generations: Sequence[Capability]) -> np.ndarray:
    """Where in the list the generation is that each one descends from; -1 for the first of a line."""
    return np.array([generations.index(p) if (p := descent(g, generations)) else -1 for g in generations])


def _apart(values: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """How far each generation's share lies from that of the one it descends from, or from the usual one."""
    usual = np.zeros((1, *values.shape[1:]))
    return values - np.concatenate([values, usual])[parents]


@dataclass(frozen=True)
class Judged:
    figure: Figure
    predicted: float

    @property
    def ratio(self) -> float:
        """How many times the expected speed was measured."""
        return self.figure.samples_per_second / self.predicted

    @property
    def error(self) -> float:
        return abs(1 / self.ratio - 1)


def left_out(
    rows: Sequence[Figure], kind: Callable[[Figure], object] = lambda row: row.device.name, only: Sequence[object] = ()
) -> list[Judged]:
    """Every figure (of some kinds of GPU), estimated by what GPUs of other kinds say."""
    generations = sorted({row.device.compute_capability for row in rows if row.device.compute_capability})
    groups: dict[object, list[Figure]] = defaultdict(list)
    for row in rows:
        groups[kind(row)].append(row)
    judged: list[Judged] = []
    near = fit(rows, generations)
    for own in (own for name, own in groups.items() if not only or name in only):
        mine = set(map(id, own))
        shares = fit([row for row in rows if id(row) not in mine], generations, near)
        speeds = shares.predicted(table(own, generations))
        judged += [Judged(figure, float(speed)) for figure, speed in zip(own, speeds, strict=True)]
    return judged


def median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))
