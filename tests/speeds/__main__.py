"""Fit the speed model's shares to published trainings, and show how far off it is for GPUs that were left out:

python tests/speeds [--each]
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from fit import UNITS, UNSEEN, Figure, Judged, Shares, figures, fit, left_out, median, table
from works import read

from planner_app.core.hardware.achieved import Units, band
from planner_app.core.hardware.roofline import speed
from planner_app.files.devices.catalogue import load_catalogue

USED = {False: (Units.PLAIN, Units.SIXTEEN), True: (Units.TENSORFLOAT, Units.SIXTEEN)}  # from Ampere on


def summary(judged: list[Judged], title: str) -> None:
    ratios = np.array([each.ratio for each in judged])
    errors = np.array([each.error for each in judged])
    low, high = np.quantile(ratios, [0.05, 0.95])
    bands = [band(each.figure.device) for each in judged]
    inside = np.mean([slow <= ratio <= fast for ratio, (slow, fast) in zip(ratios, bands, strict=True)])
    print(
        f"{title}: {len(judged)} figures, median error {np.median(errors):.1%}, nine of ten within "
        f"{np.quantile(errors, 0.9):.0%}, {inside:.1%} inside the band; "
        f"measured / expected: 5 % below {low:.2f}, 95 % below {high:.2f}, "
        f"least {ratios.min():.2f}, most {ratios.max():.2f}"
    )


def by(judged: list[Judged], key: object) -> None:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for each in judged:
        groups[str(key(each.figure))].append(each)  # type: ignore[operator]
    for name, own in sorted(groups.items()):
        off = median(each.error for each in own)
        middle = median(each.ratio for each in own)
        least, most = min(each.ratio for each in own), max(each.ratio for each in own)
        print(f"  {name:52} {len(own):4} figures, error {off:4.0%}, x {middle:.2f} ({least:.2f} to {most:.2f})")


def shipped(figure: Figure) -> Judged:
    """As estimated by what achieved.py holds now."""
    found = speed(
        figure.work, figure.device, figure.precision, xla=figure.xla, batch=figure.batch * figure.gpus,
        per_gpu_batch=figure.batch, gpus=figure.gpus, accumulate=1,
    )  # fmt: skip
    assert found is not None, figure.device.name
    return Judged(figure, found.samples_per_second)


def constants(shares: Shares) -> None:
    """As achieved.py and links.py have them."""
    named = shares.named
    for name in ("convolution", "matrix"):
        values = ", ".join(f"Units.{u.name}: {np.exp(v):.3f}" for u, v in zip(UNITS, named[name], strict=True))
        print(f"{name.upper()} = {{{values}}}")
    print(f"DEPTHWISE = {np.exp(named['depthwise'][0]):.3f}")
    print(f"MEMORY = {{True: {np.exp(named['memory'][1]):.3f}, False: {np.exp(named['memory'][0]):.3f}}}")
    print(f"KERNEL_SECONDS = {{True: {np.exp(named['kernel'][1]):.2e}, False: {np.exp(named['kernel'][0]):.2e}}}")
    link = 1 / (1 + np.exp(-named["link"]))
    print(f"FALLING = {np.exp(named['falling'][0]):.3f}")
    rising = [f"{value:.3f}" for value in named["rising"]]
    print(f"RISING = {{Units.PLAIN: {rising[0]}, Units.TENSORFLOAT: {rising[1]}, Units.SIXTEEN: {rising[1]}}}")
    print(f"ACHIEVED = {link[0]:.3f}; HIDDEN = {link[1]:.3f}")
    print("ARITHMETIC_OF:")
    for capability, arithmetic in zip(shares.generations, named["arithmetic_of"], strict=True):
        known = (Units.PLAIN,) if capability < (7, 0) else USED[capability >= (8, 0)]
        values = ", ".join(f"Units.{u.name}: {np.exp(arithmetic[UNITS.index(u)]):.3f}" for u in known)
        print(f"    {capability}: {{{values}}},")
    memory = zip(shares.generations, np.exp(named["memory_of"]), strict=True)
    print("MEMORY_OF = {" + ", ".join(f"{capability}: {value:.3f}" for capability, value in memory) + "}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tests/speeds", description=__doc__.splitlines()[0])
    parser.add_argument("--each", action="store_true", help="every figure")
    parser.add_argument("--quick", action="store_true", help="judge on what was fitted to: to try out a change")
    given = parser.parse_args()
    rows = figures(read(), load_catalogue().find)
    generations = sorted({row.device.compute_capability for row in rows})
    shares = fit(rows, generations)
    constants(shares)
    if given.quick:
        speeds = shares.predicted(table(rows, generations))
        judged = [Judged(figure, float(speed)) for figure, speed in zip(rows, speeds, strict=True)]
    else:
        judged = left_out(rows)
    by(judged, lambda figure: figure.device.name)
    by(judged, lambda figure: f"{figure.model}{' xla' if figure.xla else ''} {figure.precision}")
    by(judged, lambda figure: f"{figure.gpus} GPUs")
    if given.each:
        for each in sorted(judged, key=lambda each: each.ratio):
            f = each.figure
            print(
                f"  {each.ratio:.2f} {f.gpus} x {f.device.name} {f.model} {f.batch} {f.precision} "
                f"{'xla' if f.xla else ''}: {f.samples_per_second:,.0f} published, {each.predicted:,.0f} expected"
            )
    summary(judged, "fitted to all" if given.quick else "leave one GPU out")
    if not given.quick:
        summary(
            [shipped(row) for row in figures(read(), load_catalogue().find, UNSEEN)], "of GPUs that are not fitted to"
        )
        summary(left_out(rows, lambda row: row.chip), "leave one chip out")
        newer = left_out(rows, lambda row: row.device.compute_capability)
        by(newer, lambda figure: figure.device.compute_capability)
        summary(newer, "leave one generation out")


if __name__ == "__main__":
    main()
