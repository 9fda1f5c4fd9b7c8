"""Text out of foreign files: the place it is written to is not steered, broken or fooled by what stands in it."""

import ast
import csv
import json
import sys
from io import StringIO
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from planner_app import foreign_text
from planner_app.commands import terminal
from planner_app.foreign_text import MARK, for_comment, for_csv, for_file_name, for_html, for_json, for_line, for_python

STEERING = {
    "escape sequence": "\x1b[2J\x1b]0;title\x07",
    "C1 control": "\x9b31m\x85\x90",
    "turned around": "\u202egnp.exe\u2066x\u2069\u200f\u061c",
    "carriage return": "shown\rhidden",
    "backspace": "fine\x08\x08\x08\x08evil",
    "line separator": "one\u2028two\u2029three",
    "half a character": "\ud800",
    "invisible tag": "\U000e0041\ufeff\u200b",
    "delete": "\x7f\x00",
}
ANYTHING = st.text(max_size=40) | st.text(alphabet=st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Sm"]))


def is_obeyed(text: str) -> list[str]:
    return [letter for letter in text if not (letter.isprintable() or letter in "\n\t\u200c\u200d")]


@pytest.mark.parametrize("text", STEERING.values(), ids=STEERING)
def test_that_nothing_steers_a_screen_or_hides(text):
    assert not is_obeyed(foreign_text.for_terminal(text))
    assert MARK in foreign_text.for_terminal(text)
    assert not is_obeyed(for_html(text))
    assert not foreign_text.is_plain(text)


@pytest.mark.parametrize("text", ["Größe, размер, 大きさ, 🐋", "می‌خواهم", "👩‍🔬", "a b"])
def test_that_letters_of_all_people_stay(text):
    assert foreign_text.for_terminal(text) == text
    assert foreign_text.is_plain(text)


def test_that_a_line_is_one_line():
    assert for_line("dense\n| conv   9,999 |\ttab\r\nend") == "dense | conv   9,999 | tab end"


@pytest.mark.parametrize("text", ['<script>"', "<img src=x onerror='y'>", "&amp;", "\x0c<b>"])
def test_that_html_and_svg_show_markup_as_text(text):
    read = ElementTree.fromstring(f'<svg title="{for_html(text)}"><text>{for_html(text)}</text></svg>')
    assert read[0].text == read.attrib["title"] == foreign_text.for_terminal(text)


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", '=HYPERLINK("x")', "\t=1+1", " =1+1", "\r=1+1", "=1", "|cmd", "%0A"]
)
def test_that_a_spreadsheet_takes_a_foreign_cell_for_text(cell):
    assert str(for_csv(cell)).startswith("'")


@pytest.mark.parametrize("cell", ["a;=1+1", 'a; "=1+1', "a;b;@SUM(A1)", "\t;+1+1"])
def test_that_a_foreign_cell_holds_no_formula_where_semicolons_separate_cells(cell):
    """As in countries that write 1,5."""
    for each in csv.reader([str(for_csv(cell))], delimiter=";"):
        assert not any(part.lstrip(' "').startswith(("=", "+", "-", "@")) for part in each)


@pytest.mark.parametrize("cell", [-1, -1.5, None, True, "-1.5", "+3", "NVIDIA L4", "8 x A100", "1-2", "a=b"])
def test_that_numbers_and_ordinary_texts_stay_in_a_spreadsheet(cell):
    assert for_csv(cell) == cell


@given(st.text(max_size=40))
def test_that_json_means_the_same_and_steers_no_terminal(text):
    for written in (json.dumps({"a": text}, ensure_ascii=False, indent=2), json.dumps({text: 1}, ensure_ascii=False)):
        assert json.loads(for_json(written)) == json.loads(written)
        assert not is_obeyed(for_json(written))


@given(ANYTHING)
def test_that_a_python_literal_is_the_text_and_nothing_else(text):
    literal = for_python(text)
    assert ast.literal_eval(literal) == text
    assert literal.isprintable()


@given(ANYTHING)
def test_that_a_comment_stays_a_comment(text):
    source = f'"""Trains {for_comment(text)}: x."""\n# {for_comment(text)}\n'
    assert len(ast.parse(source).body) == 1
    assert not is_obeyed(source)


@given(ANYTHING)
def test_that_a_file_name_stays_in_its_folder(text):
    name = for_file_name(text)
    assert name
    assert not set(name) & set('/\\:*?"<>|')
    assert not name.startswith((".", "-", "~", " "))
    assert name.isprintable() or foreign_text.is_plain(name)
    assert len(name.encode()) <= foreign_text.MOST_NAME_BYTES


@pytest.mark.parametrize("text", ["", "..", "/", "con", "NUL.txt", "lpt1", "...", "\x00"])
def test_that_an_invalid_name_is_replaced(text):
    assert for_file_name(text, "model") in ("model", "_")


@given(ANYTHING)
def test_that_csv_comes_back_as_one_cell(text):
    written = StringIO()
    csv.writer(written).writerow([for_csv(text), "next"])
    assert len(next(csv.reader(StringIO(written.getvalue())))) == 2


@pytest.mark.parametrize("text", STEERING.values(), ids=STEERING)
def test_that_whatever_a_command_prints_is_shown_and_not_obeyed(text, capsys):
    console = terminal.output()
    table = Table(title=text)
    table.add_column(text)
    table.add_row(text)
    table.add_row(Text(text, style="bold"))
    for each in (text, Text(text), table):
        console.print(each)
    terminal.write_json({"name": text.replace("\ud800", "")})
    assert not is_obeyed(capsys.readouterr().out)


def test_that_what_looks_like_markup_is_printed_as_it_is(capsys):
    terminal.output().print("[red]dense[/] :boom: [link=http://x]y[/link]")
    assert capsys.readouterr().out == "[red]dense[/] :boom: [link=http://x]y[/link]\n"


@pytest.mark.parametrize("columns", ["0", "1", "-3", "999999999999"])
def test_that_an_absurd_width_of_the_terminal_is_not_believed(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    terminal.output().print("something to read")
    assert capsys.readouterr().out == "something to read\n"


def test_that_a_mistyped_word_can_not_steer_a_terminal(capsys, monkeypatch):
    from planner_app.cli import main

    monkeypatch.setattr(sys, "argv", ["plimsoll"])
    with pytest.raises(SystemExit):
        main(["estimate", "a.keras", "--batch", "4", "stray\x9b31m.keras"])
    assert not is_obeyed(capsys.readouterr().err)
