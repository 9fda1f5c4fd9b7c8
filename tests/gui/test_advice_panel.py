from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from turning import turn
from waiting import traced, wait

from planner_app.core.advise import Advice, Cost
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.files.devices.catalogue import catalogue, find_device
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.advice.presenter import AdvicePresenter
from planner_app.gui.panels.advice.values import Use, rows_of
from planner_app.gui.panels.advice.view import AdviceView
from planner_app.gui.state.session import Session
from planner_app.planner.advise import advice_request

TOO_MUCH = 36_000  # of the demo model on an L4, by little: the cheap changes are enough, and few traces are made


@pytest.fixture
def view(appearance: Appearance) -> Iterator[AdviceView]:
    view = AdviceView(appearance.theme)
    view.resize(1270, 225)
    view.show()
    yield view
    view.close()


@pytest.fixture
def panel(session: Session, view: AdviceView, appearance: Appearance) -> AdvicePresenter:
    return AdvicePresenter(session, view, appearance)


@pytest.fixture
def advised(session: Session, panel: AdvicePresenter, view: AdviceView) -> Advice:
    """The list for a batch that does not fit, as the button brings it; and as the job says it."""
    session.choose_setup(batch=TOO_MUCH)
    wait(lambda: traced(session))
    assert "Does not fit" in view.verdict.text()
    view.work.click()
    assert panel.busy and not view.work.isEnabled() and view.cancel.isEnabled()
    wait(lambda: not panel.busy)
    choice = session.choice
    request = advice_request(choice.setup, choice.device, session.description, catalogue().devices)
    return session.planner.advise(request)  # every trace is there by now


def test_that_the_list_is_what_the_adviser_says_cheapest_first(
    advised: Advice, panel: AdvicePresenter, view: AdviceView, take_pictures: Callable
):
    assert panel.values.rows == rows_of(advised)
    assert [row.rank for row in panel.values.rows if row.use in (Use.FITS, Use.TIGHT)] == list(
        map(str, range(1, len(advised.options) + 1))
    )
    first, option = panel.values.rows[0], advised.options[0]
    assert first.setup == option.setup and option.after_bytes <= allocator_limit_bytes(option.device)
    assert view.table.rowCount() == len(panel.values.rows)
    assert panel.table().rows[0][3:6] == (option.before_bytes, option.after_bytes, option.limit_bytes)
    shown = view.detail.toPlainText()
    assert option.changes[0].code[0] in shown and first.memory in shown
    view.copy.click()
    assert QGuiApplication.clipboard().text().splitlines() == list(first.code)
    take_pictures(view, "advice")


def test_that_apply_chooses_the_setup_and_undo_takes_it_back(
    session: Session, advised: Advice, panel: AdvicePresenter, view: AdviceView
):
    asked = session.choice
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    assert session.choice.setup == advised.options[0].setup
    wait(lambda: panel.values.applied == 0)
    assert not view.apply.isEnabled() and view.apply.text() == "Applied"
    wait(lambda: view.verdict.text().startswith("Fits"))
    assert panel.values.rows == rows_of(advised)  # another one can still be tried
    session.undo()
    assert session.choice == asked
    wait(lambda: panel.values.applied is None)
    assert not panel.values.stale


def test_that_a_larger_gpu_is_applied_as_the_device(
    session: Session, advised: Advice, panel: AdvicePresenter, view: AdviceView
):
    place = next(n for n, each in enumerate(advised.options) if each.changes[0].cost is Cost.DEVICE)
    view.table.setCurrentCell(place, 1)
    view.apply.click()
    assert session.choice.device == advised.options[place].device
    assert session.choice.setup.batch == TOO_MUCH


def test_that_the_list_updates_while_no_trace_is_needed_and_says_so_otherwise(
    session: Session, advised: Advice, panel: AdvicePresenter, view: AdviceView
):
    session.choose_setup(batch=TOO_MUCH + 64)
    assert panel.values.stale
    wait(lambda: not panel.values.stale)
    assert f"{TOO_MUCH + 64:,}" in panel.values.asked
    session.choose_setup(optimizer=replace(session.choice.setup.optimizer, name="lion"))
    assert panel.values.stale and "get advice again" in view.note.text()
    turn(700)
    wait(lambda: not panel.busy)
    assert panel.values.stale and view.work.isEnabled()


def test_that_a_batch_can_be_asked_for_that_fits_already(session: Session, panel: AdvicePresenter, view: AdviceView):
    assert view.batch.value() == session.choice.setup.batch
    view.batch.setValue(2048)
    view.work.click()
    wait(lambda: not panel.busy)
    (row,) = panel.values.rows
    assert "2,048 fits as it is" in row.text
    view.apply.click()
    assert session.choice.setup.batch == 2048


def test_that_cancelled_work_ends_at_once_and_leaves_the_panel_ready(
    session: Session, panel: AdvicePresenter, view: AdviceView
):
    session.choose_setup(batch=200_000, loss="mean_absolute_error")  # nobody has traced that
    view.work.click()
    turn(300)
    view.cancel.click()
    wait(lambda: not panel.busy, seconds=20)
    assert view.work.isEnabled() and "Cancelled" in view.doing.text()


def test_that_a_device_without_limit_is_a_sentence(session: Session, panel: AdvicePresenter, view: AdviceView):
    session.choose(lambda choice: replace(choice, device=find_device("cpu")))
    view.work.click()
    wait(lambda: not panel.busy)
    assert "no memory limit of its own" in view.doing.text()
