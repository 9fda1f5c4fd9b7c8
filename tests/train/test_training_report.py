"""What `make equality` and `make disturbances` keep, and the README's table of it."""

import pytest
from case_results import CaseResults, oldest, results
from disturbances import CASES as DISTURBANCES
from equality import HOSTS, WAYS, Difference
from matrix import CASES
from training_report import BEGIN, END, README, with_table

FAR = {"state": 2e-7, "metrics": 1e-7, "updates": 0, "error": ""}
RUN = {"state": 3e-7, "ends": ["memory", "finished"], "updates": 18, "samples": 16260, "rung": 1, "wrong": []}


def test_that_a_run_that_was_interrupted_goes_on(tmp_path):
    CaseResults("some", "matrix.py", folder=tmp_path).add("plain", FAR)
    cases = ["plain", "sum"]
    assert CaseResults("some", "matrix.py", folder=tmp_path).left(cases) == ["sum"]
    assert CaseResults("some", "matrix.py", "equality.py", folder=tmp_path).left(cases) == cases  # another test
    assert results("some", cases, tmp_path) == {"plain": FAR}
    (tmp_path / "some.json").write_text('{"plain": {"date": "2026-11-19"}, "sum": {"date": "2026-11-18"}}')
    assert oldest("some", cases, tmp_path) == "2026-11-18"


def test_that_only_the_text_between_the_marks_is_written():
    written = with_table(f"a\n{BEGIN}\nold\n{END}\nb", {"plain": {"1 device": FAR}}, {"killed": RUN})
    assert written.startswith(f"a\n{BEGIN}\n") and written.endswith(f"{END}\nb")
    assert "| plain | 2e-07 | 1e-07 |" in written
    assert "| killed | 3e-07 | 18 | 16,260 | memory, then finished |" in written
    with pytest.raises(SystemExit, match="has no"):
        with_table("a text without marks", {"plain": {"1 device": FAR}}, {})


def test_that_every_case_was_run_and_is_in_the_readme():
    equality = results("equality", list(CASES))
    disturbances = results("disturbances", list(DISTURBANCES))
    assert (list(equality), list(disturbances)) == (list(CASES), list(DISTURBANCES))
    assert all(Difference(**row[way]).is_close for row in equality.values() for way in (*WAYS, HOSTS))
    assert not [row["wrong"] for row in disturbances.values() if row["wrong"]]
    text = README.read_text(encoding="utf-8")
    assert all(f"| {case} |" in text for case in (*equality, *disturbances))
