"""The answer above the chart, where there is little room for it."""

from collections.abc import Iterator

import pytest
from turning import turn

from planner_app.core.estimate.verdict import Verdict
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.headline.values import HeadlineValues, Step
from planner_app.gui.panels.headline.view import HeadlineView

BAND = "10.8 GiB to 12.9 GiB, by the compiler"
CHANGES = ("Accumulate over 4 steps", "Use a batch of 214", "Train on NVIDIA RTX PRO 5000 Blackwell 48GB")


@pytest.fixture
def view(appearance: Appearance) -> Iterator[HeadlineView]:
    view = HeadlineView(appearance.theme)
    view.show()
    yield view
    view.close()
    view.deleteLater()  # with what it has replaced meanwhile
    turn(20)


def shown(view: HeadlineView, appearance: Appearance) -> HeadlineValues:
    values = HeadlineValues(
        word="Does not fit",
        verdict=Verdict.DOES_NOT_FIT,
        figure="41.2 GiB",
        band=BAND,
        where="of 45.0 GiB on NVIDIA RTX PRO 5000 Blackwell 48GB",
        how="batch 512 · mixed_float16 · 1 GPU, no XLA · 4 accumulation steps",
        largest="1,234",
        largest_title="largest batch, 1,111 sure",
        steps=tuple(Step(text, "fits: 10.8 GiB", Verdict.FITS) for text in CHANGES),
        note="Looking for more …",
    )
    view.show_values(values, appearance.theme)
    view.resize(view.minimumSizeHint().width(), view.sizeHint().height())
    turn(20)
    return values


def test_that_the_band_and_the_largest_batch_are_never_cut(view: HeadlineView, appearance: Appearance):
    values = shown(view, appearance)
    assert view.width() < 560
    for label in (view.word, view.figure, view.band, view.largest, view.largest_title):
        assert label.width() >= label.sizeHint().width(), label.text()
    for label, text in ((view.where, values.where), (view.how, values.how), (view.note, values.note)):
        assert label.width() < label.sizeHint().width() and label.toolTip() == text  # these give way


def test_that_a_note_beside_the_changes_does_not_make_the_headline_higher(view: HeadlineView, appearance: Appearance):
    shown(view, appearance)
    assert not view.note.wordWrap()
    view.show_values(HeadlineValues(note="None of the changes tried makes it fit."), appearance.theme)
    assert view.note.wordWrap()
