"""The README's table of long runs."""

import importlib.util
from pathlib import Path

import msgspec
import pytest

spec = importlib.util.spec_from_file_location("reliability_report", Path(__file__).with_name("report.py"))
report = importlib.util.module_from_spec(spec)  # by its place: there is another report.py, of accuracy
spec.loader.exec_module(report)

BEGIN, END, table, with_table = report.BEGIN, report.END, report.table, report.with_table
ROW = report.Result(name="Kills of the worker", count=1200, bad=0, detail="each told", date="2026-11-16")


def test_that_a_run_is_a_row():
    assert table([ROW]).splitlines()[-1] == "| Kills of the worker | 1,200 | 0 | each told | 2026-11-16 |"


def test_that_only_the_text_between_the_marks_is_written():
    assert with_table(f"a\n{BEGIN}\nold\n{END}\nb", [ROW]) == f"a\n{BEGIN}\n{table([ROW])}\n{END}\nb"
    with pytest.raises(SystemExit, match="has no"):
        with_table("a text without marks", [ROW])


def test_that_the_readme_has_a_place_for_every_run_that_is_kept():
    written = with_table(report.README.read_text(encoding="utf-8"), report.results())
    assert all(row.name in written for row in report.results())


def test_that_a_result_of_another_shape_is_skipped(tmp_path):
    (tmp_path / "run.json").write_text('{"name": "x", "count": 1}')
    with pytest.raises(msgspec.ValidationError):
        report.results(tmp_path)
