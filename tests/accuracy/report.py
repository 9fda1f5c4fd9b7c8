"""The table and the summary: for the README in Markdown, for programs in JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from compared import Compared, Summary, summary

BEGIN, END = "<!-- accuracy:begin -->", "<!-- accuracy:end -->"
COLUMNS = (
    "model",
    "batch",
    "precision",
    "optimizer",
    "live, MB",
    "estimated",
    "error",
    "in use, MB",
    "estimated",
    "error",
    "band, MB",
    "ordinary runs, MB",
)
LEFT = 4  # columns of words; the others are numbers


def markdown(compared: Sequence[Compared], versions: str) -> str:
    """The summary in sentences, then the table, folded."""
    ordered = sorted(compared, key=lambda one: (one.case.model, one.case.batch))
    head = " | ".join(COLUMNS)
    rule = "|".join(["---"] * LEFT + ["---:"] * (len(COLUMNS) - LEFT))
    rows = [" | ".join(_row(one)) for one in ordered]
    table = "\n".join(f"| {line} |" for line in (head, *rows)).replace("\n", f"\n|{rule}|\n", 1)
    return f"{sentences(summary(compared), versions)}\n\n{folded(table)}"


def folded(table: str) -> str:
    """Out of a newcomer's way, and one click from everybody else's."""
    return f"<details><summary>Every case</summary>\n\n{table}\n\n</details>"


def sentences(all_of_it: Summary, versions: str) -> str:
    s = all_of_it
    lines = [
        f"{s.cases} cases, measured with {versions} on the CPU through the allocator that GPUs use.",
        "",
        f"- Live bytes (what tensors ask for): median error {s.live_median:.2%}, worst {s.live_worst:.2%}.",
        f"- In use (what the allocator hands out): median error {s.in_use_median:.1%}, worst {s.in_use_worst:.1%}; "
        f"within the band in {s.in_band} of {s.cases} cases. The band is {s.band_median:.0%} wide (median).",
    ]
    if s.ordinary_cases:
        fewest, most = s.ordinary_processes, s.most_processes
        processes = f"{most} processes" if fewest == most else f"{fewest} to {most} processes"
        lines.append(
            f"- Ordinary runs (Keras' training function, TensorFlow's thread pool, {processes} for each case) "
            f"stayed below the upper end of the band in {s.ordinary_below} of {s.ordinary_cases} cases."
        )
    return "\n".join(lines)


def write_readme(file: Path, text: str, marks: tuple[str, str] = (BEGIN, END)) -> bool:
    """Put the text between the marks; a README without marks is left alone."""
    if not file.exists():
        return False
    before, begin, rest = file.read_text().partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        return False
    file.write_text(f"{before}{marks[0]}\n{text}\n{marks[1]}{after}")
    return True


def write_json(file: Path, compared: Sequence[Compared], versions: str) -> None:
    cases = [
        {
            "case": asdict(one.case),
            "digest": one.digest,
            "estimated": asdict(one.estimated),
            "inline": [asdict(run) for run in one.inline],
            "ordinary": one.ordinary,
            "live_error": round(one.live_error, 6),
            "in_use_error": round(one.in_use_error, 6),
            "in_band": one.in_band,
            "stayed_below": one.stayed_below if one.ordinary else None,
        }
        for one in compared
    ]
    told = {"versions": versions, "summary": asdict(summary(compared)), "cases": cases}
    file.write_text(json.dumps(told, indent=1) + "\n")


def line(one: Compared) -> str:
    """One case in one line of a terminal."""
    verdict = "" if one.in_band else ", outside the band"
    if one.ordinary and not one.stayed_below:
        verdict += f", ordinary runs took up to {_mb(one.ordinary_bytes)} MB, more than {_mb(one.estimated.high_bytes)}"
    return (
        f"{one.case!s:58} live {_mb(one.live_bytes):>7} MB {one.live_error:+8.3%}, "
        f"in use {_mb(one.in_use_bytes):>7} MB {one.in_use_error:+7.2%}{verdict}"
    )


def _row(one: Compared) -> list[str]:
    case, told = one.case, one.estimated
    optimizer = f"{case.optimizer}, every {case.accumulate}" if case.accumulate else case.optimizer
    ordinary = f"{_mb(one.ordinary_bytes)}{'' if one.stayed_below else ' **above**'}" if one.ordinary else ""
    return [
        case.model,
        str(case.batch),
        case.precision,
        optimizer,
        _mb(one.live_bytes),
        _mb(told.live_bytes),
        f"{one.live_error:+.2%}",
        _mb(one.in_use_bytes),
        _mb(told.peak_bytes),
        f"{one.in_use_error:+.1%}",
        f"{_mb(told.low_bytes)} to {_mb(told.high_bytes)}{'' if one.in_band else ' **missed**'}",
        ordinary,
    ]


def _mb(count_bytes: int) -> str:
    return f"{count_bytes / 1e6:.1f}"
