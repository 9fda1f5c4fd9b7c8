from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from waiting import wait

from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.estimate import estimate
from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.setup import Setup
from planner_app.core.model.trace import Phase
from planner_app.core.replay.stack import layer_bytes, stack
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.timeline.presenter import TimelinePresenter
from planner_app.gui.panels.timeline.values import MOST_MOVES, Course
from planner_app.gui.panels.timeline.view import TimelineView
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.session import Session
from planner_app.planner.measuring.measure import measure


@pytest.fixture
def view(appearance: Appearance) -> Iterator[TimelineView]:
    view = TimelineView(appearance.theme)
    view.resize(1270, 200)
    view.show()
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: TimelineView, appearance: Appearance) -> TimelinePresenter:
    session.choose_setup(gpus=2, batch=128)
    presenter = TimelinePresenter(session, view, appearance)
    settle(session)
    return presenter


def settle(session: Session) -> None:
    wait(lambda: session.answers.idle)


def course_of(panel: TimelinePresenter) -> Course:
    assert panel.values.course is not None
    return panel.values.course


def test_that_the_stack_s_top_is_what_the_estimate_expects(session: Session, panel: TimelinePresenter):
    choice, course = session.choice, course_of(panel)
    expected = estimate(session.need(choice.setup), choice.setup)
    assert course.peak_bytes == course.stack.in_use.max() == expected.peak_bytes
    at_peak = {str(term): int(size[course.stack.peak]) for term, size in course.stack.terms.items()}
    assert {term: size for term, size in at_peak.items() if size} == dict(expected.breakdown)
    assert panel.values.peak.startswith("Peak ") and expected.peak_layer in panel.values.peak


def test_that_what_is_drawn_is_the_step_without_what_can_t_be_seen(session: Session, panel: TimelinePresenter):
    whole, course = stack(session.memory(session.choice.setup), 64), course_of(panel)
    assert len(course.stack.moves) <= MOST_MOVES + 2
    known = {int(move): level for move, level in zip(whole.moves, whole.in_use, strict=True)}
    assert [known[move] for move in course.stack.moves.tolist()] == course.stack.in_use.tolist()
    shown = np.interp(whole.moves, course.stack.moves, course.stack.in_use)
    assert abs(shown - whole.in_use).max() < 0.5 * course.peak_bytes
    assert (np.diff(course.places) > 0).all()


def test_that_phases_lie_in_their_order_and_fill_the_step(panel: TimelinePresenter):
    spans = panel.values.spans
    assert [span.phase for span in spans] == list(Phase)
    assert (spans[0].begin, spans[-1].end) == (0.0, 1.0)
    assert all(left.end == right.begin for left, right in pairwise(spans))
    course = course_of(panel)
    (backward,) = (span for span in spans if span.phase is Phase.BACKWARD)
    inside = [
        course.stack.source(number).phase
        for number, place in enumerate(course.places)
        if backward.begin <= place < backward.end
    ]
    assert inside.count(Phase.BACKWARD) > 0.9 * len(inside)


def test_that_what_is_alive_at_the_peak_is_listed(session: Session, panel: TimelinePresenter, view: TimelineView):
    choice = session.choice
    expected = estimate(session.need(choice.setup), choice.setup)
    assert [row.size_bytes for row in panel.values.held] == [each.size_bytes for each in expected.held[:12]]
    item = view.held.topLevelItem(0)
    assert expected.held[0].layer == item.text(0)
    view.held.itemClicked.emit(item, 0)
    assert session.layer == expected.held[0].layer


def test_that_a_highlighted_layer_s_own_bytes_are_drawn_over_it(session: Session, panel: TimelinePresenter):
    session.highlight("stem")
    settle(session)
    line, course = panel.values.layer, course_of(panel)
    moves, size = layer_bytes(session.memory(session.choice.setup), 64, "stem")
    assert line is not None
    for move, drawn in zip(course.stack.moves, line.size_bytes, strict=True):
        assert drawn == size[moves <= move][-1]
    session.highlight("")
    assert panel.values.layer is None


def test_that_a_click_highlights_the_layer_whose_operation_it_is(
    session: Session, panel: TimelinePresenter, view: TimelineView
):
    course = course_of(panel)
    move = next(n for n in range(len(course.places) // 2, 0, -1) if course.stack.source(n).layer)
    box = view.plot.plot.getViewBox()
    middle = (course.places[move] + course.places[move + 1]) / 2
    at = box.mapViewToScene(QPointF(middle, box.viewRange()[1][1] / 2))
    viewport = view.plot.plot.viewport()
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=view.plot.plot.mapFromScene(at))
    wait(lambda: bool(session.layer))
    assert session.layer == course.stack.source(move).layer


def test_that_the_card_says_operation_layer_and_terms(panel: TimelinePresenter, view: TimelineView):
    course = course_of(panel)
    QTest.keyClick(view.plot.plot, Qt.Key.Key_P)
    source = course.stack.source(course.stack.peak)
    assert view.plot.card.isVisible()
    assert source.layer in view.plot.card.text and str(Term.ACTIVATIONS) in view.plot.card.text
    QTest.keyClick(view.plot.plot, Qt.Key.Key_Right)
    assert view.plot._at == course.stack.peak + 1
    QTest.keyClick(view.plot.plot, Qt.Key.Key_Left)
    QTest.keyClick(view.plot.plot, Qt.Key.Key_Left)
    assert view.plot._at == course.stack.peak - 1


def test_that_the_last_picture_stays_while_another_batch_is_computed(session: Session, panel: TimelinePresenter):
    before = course_of(panel)
    session.choose_setup(batch=140)
    assert panel.values.course is before and panel.values.note
    settle(session)
    assert course_of(panel) is not before and not panel.values.note


def test_that_a_measured_step_is_drawn_over_the_estimate(
    session: Session,
    panel: TimelinePresenter,
    view: TimelineView,
    take_pictures: Callable[..., None],
):
    setup, cpu = Setup(batch=32), find_device("cpu")
    session.choose(lambda _: Choice(setup, cpu, (cpu,), precisions=(setup.precision,), gpu_counts=(1,)))
    wait(lambda: (memory := session.memory(setup)) is not None and len(memory.points) > 5)
    assert session.opened is not None
    session.keep_measurement(measure(session.opened.checked, setup, Place(), order=Order.INLINE))
    wait(lambda: session.answers.idle and not panel.values.note)
    line = panel.values.measured
    assert line is not None and "measured" in line.text
    assert line.size_bytes.max() == max(
        moment.in_use_bytes for run in session.measurements[-1].runs for moment in run.timeline.moments
    )
    assert line.size_bytes.max() == pytest.approx(course_of(panel).peak_bytes, rel=0.1)
    session.highlight("block1_conv1")
    settle(session)
    take_pictures(view, "timeline_measured")


def test_that_the_steps_can_be_taken_away_as_numbers(session: Session, panel: TimelinePresenter):
    table, course = panel.table(), course_of(panel)
    assert table.header[:3] == ("operation", "layer", "phase") and table.header[-1] == "in use bytes"
    assert max(row[-1] for row in table.rows) == course.peak_bytes
    assert all(sum(row[3:-1]) == row[-1] for row in table.rows)


def test_that_the_timeline_has_its_pictures(
    session: Session, panel: TimelinePresenter, view: TimelineView, take_pictures: Callable[..., None]
):
    take_pictures(view, "timeline", lambda theme: [theme.term(Term.ACTIVATIONS)])
    session.highlight("block2_conv1")
    settle(session)
    QTest.keyClick(view.plot.plot, Qt.Key.Key_P)
    take_pictures(view, "timeline_layer")
