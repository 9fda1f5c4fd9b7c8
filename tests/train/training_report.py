"""The README's table of training under plans, out of results/*.json, and its rows in the table of long runs."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from case_results import HERE, oldest, results
from disturbances import CASES as DISTURBANCES
from matrix import CASES

README = HERE.parents[1] / "README.md"
RELIABILITY = HERE.parent / "reliability"
BEGIN, END = "<!-- training:begin -->", "<!-- training:end -->"


def table(equality: dict[str, Any], disturbances: dict[str, Any]) -> str:
    ways = list(next(iter(equality.values())))
    lines = [
        "<details><summary>Every case</summary>",
        "",
        "Largest difference to Keras' `fit` with the whole batch, three epochs, the last batch uneven: weights and "
        "optimizer state; metrics, relative to their size where that is above 1.",
        "",
        f"| case | {' | '.join(ways)} | metrics |",
        f"|---|{'---:|' * (len(ways) + 1)}",
    ]
    for case, row in equality.items():
        states = " | ".join(f"{row[way]['state']:.0e}" for way in ways)
        lines.append(f"| {case} | {states} | {max(row[way]['metrics'] for way in ways):.0e} |")
    lines += [
        "",
        "Largest difference of weights and optimizer state to a run that was not disturbed:",
        "",
        "| disturbed | difference | updates | samples | processes |",
        "|---|---:|---:|---:|---|",
    ]
    for case, row in disturbances.items():
        ends = ", then ".join(row["ends"])
        lines.append(f"| {case} | {row['state']:.0e} | {row['updates']} | {row['samples']:,} | {ends} |")
    return "\n".join([*lines, "", "</details>"])


def with_table(readme: str, equality: dict[str, Any], disturbances: dict[str, Any]) -> str:
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{README.name} has no {BEGIN} and {END} to write between")
    return f"{before}{BEGIN}\n{table(equality, disturbances)}\n{END}{after}"


def keep_rows(equality: dict[str, Any], disturbances: dict[str, Any]) -> None:
    keep_result = _module("kept").keep_result
    ways = [way for row in equality.values() for way in row.values()]
    keep_result(
        "equality",
        "Ways to train in shares, held against Keras' fit: weights and optimizer state to 1e-5, metrics to 1e-6",
        len(ways),
        sum(each["state"] > 1e-5 or each["metrics"] > 1e-6 or each["updates"] != 0 for each in ways),
        f"{len(equality)} models and losses on one device, two, and two hosts; weights and state differ by at most "
        f"{max(each['state'] for each in ways):.1e}, metrics by {max(each['metrics'] for each in ways):.1e}",
        oldest("equality", list(equality)),
    )
    keep_result(
        "disturbances",
        "Training that runs out of memory or is killed: the same updates, samples and weights as undisturbed",
        len(disturbances),
        sum(bool(row["wrong"]) for row in disturbances.values()),
        "at the first step, in the middle, in validation, in the second epoch; plain and compiled by XLA; one host and "
        f"two; weights and state differ by at most {max(row['state'] for row in disturbances.values()):.1e}",
        oldest("disturbances", list(disturbances)),
    )


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"reliability_{name}", RELIABILITY / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main(readme: Path = README) -> None:
    found = results("equality", list(CASES)), results("disturbances", list(DISTURBANCES))
    keep_rows(*found)
    report = _module("report")
    text = report.with_table(readme.read_text(encoding="utf-8"), report.results())
    readme.write_text(with_table(text, *found), encoding="utf-8")


if __name__ == "__main__":
    main()
