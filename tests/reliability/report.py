"""The README's table of long runs, out of results/*.json: `make reliability`."""

import sys
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- reliability:begin -->", "<!-- reliability:end -->"


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One long run: what was done, how often, and how often it went wrong."""

    name: str
    count: int
    bad: int
    detail: str
    date: str


def results(folder: Path = HERE / "results") -> list[Result]:
    files = sorted(folder.glob("*.json"))
    return [msgspec.json.decode(path.read_bytes(), type=Result) for path in files]


def table(rows: list[Result]) -> str:
    lines = ["| What was done | Times | Went wrong | More | Day |", "|---|---:|---:|---|---|"]
    lines += [f"| {row.name} | {row.count:,} | {row.bad:,} | {row.detail} | {row.date} |" for row in rows]
    return "\n".join(lines)


def with_table(readme: str, rows: list[Result]) -> str:
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{README.name} has no {BEGIN} and {END} to write between")
    return f"{before}{BEGIN}\n{table(rows)}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8"), results()), encoding="utf-8")
    sys.stdout.write(table(results()) + "\n")
