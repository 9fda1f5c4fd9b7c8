"""Names from files in the app: shown literally, never as markup, and without breaking exported pictures."""

from xml.etree import ElementTree

import pytest
from PySide6.QtCore import Qt

from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.export import data_of
from planner_app.gui.look.plain_label import PlainLabel, plain_tip
from planner_app.gui.look.sheet import Caption

NAMES = ["<b>bold</b><img src='/etc/passwd'>", "dense\x1b[31m\x00\x0b", "\u202egnp.exe", "a & b < c", "\ufffe\uffff"]


@pytest.mark.parametrize("name", NAMES)
def test_that_a_picture_with_any_name_in_it_is_a_picture(qtbot, name):
    label = PlainLabel(name)
    qtbot.addWidget(label)
    panel = Panel("Label", label, picture=label, figure=lambda: PlainLabel(name))
    ElementTree.fromstring(data_of(panel, "svg", Caption(name, name, name)))


@pytest.mark.parametrize("name", NAMES)
def test_that_a_label_shows_a_name_and_no_markup(qtbot, name):
    label = PlainLabel()
    qtbot.addWidget(label)
    label.setText(name)
    assert label.textFormat() is Qt.TextFormat.PlainText
    assert not set(label.text()) & set("\x1b\x00\x0b\u202e")
    label.setToolTip(name)
    assert "<img" not in label.toolTip()
    assert "<b>" not in plain_tip(name)


def test_that_numbers_for_a_spreadsheet_hold_no_formula(qtbot):
    table = Table(("layer", "bytes"), (('=HYPERLINK("http://x")', -5), ("+dense", 3)))
    label = PlainLabel()
    qtbot.addWidget(label)
    panel = Panel("Label", label, table=lambda: table)
    assert data_of(panel, "csv").decode().splitlines() == [
        "layer,bytes",
        '"\'=HYPERLINK(""http://x"")",-5',
        "'+dense,3",
    ]
