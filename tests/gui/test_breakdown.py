from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from waiting import wait

from planner_app.core.estimate.breakdown import MEANING, Term
from planner_app.core.estimate.estimate import estimate
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.runtime import allocator_limit_bytes, outside_bytes
from planner_app.core.model.setup import Precision
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.breakdown.presenter import BreakdownPresenter
from planner_app.gui.panels.breakdown.values import Areas, between, setup_text
from planner_app.gui.panels.breakdown.view import BreakdownView
from planner_app.gui.state.session import Session


@pytest.fixture
def view(appearance: Appearance) -> Iterator[BreakdownView]:
    view = BreakdownView(appearance.theme)
    view.resize(300, 470)
    view.show()
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: BreakdownView, appearance: Appearance) -> BreakdownPresenter:
    presenter = BreakdownPresenter(session, view, appearance)
    settle(session)
    return presenter


def settle(session: Session) -> None:
    wait(lambda: session.answers.idle)


def now(session: Session):
    choice = session.choice
    return estimate(session.need(choice.setup), choice.setup)


def test_that_the_terms_are_the_estimate_s_and_sum_to_its_peak(session: Session, panel: BreakdownPresenter):
    session.choose_setup(batch=100)
    settle(session)
    found, rows = now(session), panel.values.rows
    assert {str(row.term): row.now_bytes for row in rows if row.term} == dict(found.breakdown)
    sums = {row.name: row.now_bytes for row in rows if row.term is None}
    outside = outside_bytes(session.choice.device).expected_bytes
    assert sums == {"in use": found.peak_bytes, "outside": outside, "on the device": found.device_bytes}
    assert sum(row.share for row in rows if row.term) == pytest.approx(1.0)


def test_that_the_areas_over_the_batch_are_the_replayed_points(session: Session, panel: BreakdownPresenter):
    memory, areas = session.memory(session.choice.setup), panel.values.areas
    assert len(areas.batches) > 10
    for batch, top in zip(areas.batches, areas.tops, strict=True):
        assert top == memory.point(batch).in_use_bytes
    assert areas.tops[-1] > allocator_limit_bytes(session.choice.device) > areas.tops[-4]
    assert panel.values.capacity_bytes == allocator_limit_bytes(session.choice.device)


def test_that_the_ring_is_whole_at_the_last_batch_too(session: Session, panel: BreakdownPresenter, view: BreakdownView):
    last = panel.values.areas.batches[-1]
    session.choose_setup(batch=last)
    settle(session)
    (_, right), _ = view.plot.getViewBox().viewRange()
    assert view.axis.place(last) < right


def test_that_batches_of_several_gpus_are_global(session: Session, panel: BreakdownPresenter):
    session.choose_setup(gpus=2, batch=64)
    settle(session)
    memory = session.memory(session.choice.setup)
    for batch, top in zip(panel.values.areas.batches, panel.values.areas.tops, strict=True):
        assert top == memory.point(batch // 2).in_use_bytes
    assert any(row.term is Term.REDUCTION or row.term is Term.OVERHEAD for row in panel.values.rows)


def test_that_between_two_batches_terms_lie_on_a_straight_line():
    areas = Areas((2, 4), ((Term.WEIGHTS, (100, 100)), (Term.ACTIVATIONS, (20, 60))))
    assert between(areas, 3) == {Term.WEIGHTS: 100, Term.ACTIVATIONS: 40}
    assert between(areas, 4) == {Term.WEIGHTS: 100, Term.ACTIVATIONS: 60}
    assert between(areas, 5) is None


def test_that_a_moved_batch_is_shown_at_once_and_exactly_soon_after(session: Session, panel: BreakdownPresenter):
    session.choose_setup(batch=77)
    assert panel.values.peak_bytes == pytest.approx(
        session.need(session.choice.setup).level_on_line(77).peak_bytes, abs=16
    )
    settle(session)
    assert panel.values.peak_bytes == now(session).peak_bytes


def test_that_a_pinned_setup_is_compared_term_by_term(session: Session, panel: BreakdownPresenter, view: BreakdownView):
    before = now(session)
    QTest.mouseClick(view.pin, Qt.MouseButton.LeftButton)
    assert session.pinned == session.choice
    session.choose_setup(precision=Precision.MIXED_FLOAT16, batch=256)
    settle(session)
    after = now(session)
    assert "float32" in view.versus.text() and "mixed_float16" in view.title.text()
    for row in panel.values.rows:
        if row.term is not None:
            old, new = before.breakdown.get(row.term, 0), after.breakdown.get(row.term, 0)
            assert (row.pinned_bytes, row.now_bytes, row.difference_bytes) == (old, new, new - old)
    (total,) = (row for row in panel.values.rows if row.name == "in use")
    assert total.difference_bytes == after.peak_bytes - before.peak_bytes
    assert view.list.terms.headerData(3, Qt.Orientation.Horizontal) == "Change"
    QTest.mouseClick(view.pin, Qt.MouseButton.LeftButton)
    assert session.pinned is None
    assert not view.versus.isVisible()
    assert view.list.terms.headerData(2, Qt.Orientation.Horizontal) == "Bytes"


def test_that_every_term_says_where_it_comes_from(panel: BreakdownPresenter, view: BreakdownView):
    view.list.setFocus()
    for number, row in enumerate(panel.values.rows):
        view.list.setCurrentIndex(view.list.terms.index(number, 0))
        assert row.meaning in view.meaning.text()
        if row.term:
            assert row.meaning == MEANING[row.term]
            assert row.meaning in view.list.terms.index(number, 0).data(Qt.ItemDataRole.ToolTipRole)


def test_that_a_setup_beyond_the_capacity_is_marked(session: Session, panel: BreakdownPresenter):
    assert panel.values.verdict is Verdict.FITS
    session.choose_setup(batch=panel.values.areas.batches[-1])
    settle(session)
    assert panel.values.verdict is Verdict.DOES_NOT_FIT
    assert panel.values.areas.batches[-1] > session.choice.setup.batch


def test_that_what_can_t_be_seen_asks_nothing(session: Session, panel: BreakdownPresenter, view: BreakdownView):
    view.hide()
    before = panel.values
    session.choose_setup(batch=48)
    assert panel.values is before
    view.show()
    settle(session)
    assert panel.values.title == setup_text(session.choice.setup)


def test_that_the_terms_can_be_taken_away_as_numbers(session: Session, panel: BreakdownPresenter):
    table = panel.table()
    assert table.header == ("setup", "batch", "term", "bytes")
    over = sum(row[3] for row in table.rows if row[0] == "over batch" and row[1] == 64)
    assert over == session.memory(session.choice.setup).point(64).in_use_bytes


def test_that_the_panel_has_its_pictures(
    session: Session,
    panel: BreakdownPresenter,
    view: BreakdownView,
    take_pictures: Callable[..., None],
):
    session.choose_setup(batch=8192)
    settle(session)
    view.list.setCurrentIndex(view.list.terms.index(2, 0))
    terms = [row.term for row in panel.values.rows if row.term is not None and row.now_bytes]
    take_pictures(view, "breakdown", lambda theme: map(theme.term, terms))
    session.pin(session.choice)
    session.choose_setup(precision=Precision.MIXED_FLOAT16)
    settle(session)
    take_pictures(view, "breakdown_compared")
