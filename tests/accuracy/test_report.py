"""The table in the README: written between its marks, and true to the figures."""

from pathlib import Path

from cases import Case
from compared import Compared, summary
from estimates import Estimated
from report import BEGIN, END, markdown, write_readme
from runs import Inline


def compared(live: int = 100, in_use: int = 200, high: int = 240, ordinary: tuple[int, ...] = (210, 230)) -> Compared:
    """Measured: 100 MB live, 200 MB in use."""
    estimated = Estimated(live * 10**6, in_use * 10**6, 180 * 10**6, high * 10**6, 0, 0, "", "", 1.5)
    inline = tuple(Inline(100 * 10**6, "relu", n * 10**6, 0, 0) for n in (190, 200, 230))
    return Compared(Case("dense", 8), estimated, inline, (tuple(peak * 10**6 for peak in ordinary),))


def test_that_errors_are_parts_of_what_was_measured():
    one = compared(live=103, in_use=190)
    assert round(one.live_error, 6) == 0.03
    assert round(one.in_use_error, 6) == -0.05
    assert round(one.band_width, 6) == round(60 / 190, 6)


def test_that_one_ordinary_step_above_the_band_is_enough():
    assert compared(ordinary=(210, 240)).stayed_below
    assert not compared(ordinary=(210, 241)).stayed_below


def test_that_the_summary_counts_and_takes_the_middle():
    told = summary([compared(live=100), compared(live=98), compared(live=104, ordinary=(250,))])
    assert (round(told.live_median, 6), round(told.live_worst, 6)) == (0.02, 0.04)
    assert (told.ordinary_below, told.ordinary_cases, told.in_band) == (2, 3, 3)


def test_that_a_missed_band_stands_out_in_the_table():
    table = markdown([compared(high=195)], "TensorFlow 2")
    *_, rule, row = [line for line in table.splitlines() if line.startswith("|")]
    assert "180.0 to 195.0 **missed**" in row
    assert "230.0 **above**" in row
    assert row.count("|") == rule.count("|")


def test_that_only_the_text_between_the_marks_is_replaced(tmp_path: Path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert write_readme(readme, "new")
    assert readme.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"


def test_that_a_readme_without_marks_is_left_alone(tmp_path: Path):
    readme = tmp_path / "README.md"
    assert not write_readme(readme, "new")
    assert not readme.exists()
    readme.write_text("nothing here")
    assert not write_readme(readme, "new")
    assert readme.read_text() == "nothing here"
