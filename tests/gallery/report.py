"""The gallery's table and its summary, for the README."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.gallery.entries import BATCH
from tests.gallery.held import FITS, PROCESSES, Held

BEGIN, END = "<!-- gallery:begin -->", "<!-- gallery:end -->"
HEAD = ("model", "live, KB", "estimated", "error", "from the file", "live object", "`fit`, MB", "band, MB")


def line(one: Held) -> str:
    """One model in one line of a terminal."""
    others = "".join(f", {way} {_difference(one, told):+.3%}" for way, told in one.other_ways.items())
    fit = max(one.measured.fit_bytes)
    verdict = "in" if one.in_band else "OUTSIDE"
    return (
        f"{one.name:24} live {one.measured.live_bytes:>12,} {one.error:+8.3%}{others}, "
        f"fit {fit:,} {verdict} {one.estimated.low_bytes:,} to {one.estimated.high_bytes:,}"
        f"{', ' if one.refused else ''}{one.refused}"
    )


def sentences(held: Sequence[Held], versions: str) -> str:
    errors = [abs(each.error) for each in held]
    others = [each for each in held if each.other_ways]
    differing = sum(any(abs(_difference(each, told)) > 1e-3 for told in each.other_ways.values()) for each in others)
    inside = sum(each.in_band for each in held)
    return "\n".join(
        [
            f"{len(held)} models, batch {BATCH}, with {versions}; each opens by its function:",
            "",
            f"- Live bytes: median error {median(errors):.3%}, worst {max(errors):.2%}.",
            f"- Ordinary `fit` as the model is compiled ({PROCESSES} processes, {FITS} calls in each, TensorFlow's "
            f"thread pool) stayed within the band in {inside} of {len(held)}.",
            f"- {len(others)} open as a .keras file and as a live object too; live bytes differ from the function's by "
            f"more than 0.1% in {differing}. The others' classes can't be saved, and say so.",
        ]
    )


def markdown(held: Sequence[Held], versions: str) -> str:
    rows = [_row(each) for each in held]
    rule = ["---", *["---:"] * (len(HEAD) - 1)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (HEAD, rule, *rows))
    return f"{sentences(held, versions)}\n\n<details><summary>Every model</summary>\n\n{table}\n\n</details>"


def write_readme(file: Path, text: str) -> None:
    """Between the marks; a README without them is left alone."""
    before, begin, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and end:
        file.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _row(one: Held) -> list[str]:
    ways = [f"{_difference(one, one.other_ways[way]):+.2%}" if one.other_ways else "" for way in ("file", "live")]
    low, high = one.estimated.low_bytes, one.estimated.high_bytes
    return [
        one.name,
        f"{one.measured.live_bytes / 1e3:,.1f}",
        f"{one.estimated.live_bytes / 1e3:,.1f}",
        f"{one.error:+.3%}",
        *ways,
        f"{max(one.measured.fit_bytes) / 1e6:.1f}",
        f"{low / 1e6:.1f} to {high / 1e6:.1f}{'' if one.in_band else ' **missed**'}",
    ]


def _difference(one: Held, told: int) -> float:
    return told / one.estimated.live_bytes - 1
