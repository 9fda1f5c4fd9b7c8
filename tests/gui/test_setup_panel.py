from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from waiting import wait

from planner_app.core.model.choices import REMAT_MODES
from planner_app.core.model.setup import Jit, Precision, Setup
from planner_app.errors import SetupError
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.setup.presenter import SetupPresenter
from planner_app.gui.panels.setup.values import each_text, parse_counts, parse_sizes, remat_of
from planner_app.gui.panels.setup.view import SetupView
from planner_app.gui.state.session import Session


@pytest.fixture
def view(session: Session, appearance: Appearance):
    view = SetupView()
    SetupPresenter(session, view, appearance)
    view.resize(300, 620)
    view.show()
    yield view
    view.close()


def type_into(field: QWidget, text: str) -> None:
    field.setFocus()
    field.selectAll()  # type: ignore[attr-defined]
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_that_the_division_of_a_batch_is_shown():
    assert each_text(Setup(batch=64)) == "The whole batch at once, on one GPU."
    assert each_text(Setup(batch=64, gpus=2, accumulate=4)).startswith("8 at a time on each GPU, divided among 2 GPUs")


def test_that_a_batch_typed_in_is_chosen(session: Session, view: SetupView):
    type_into(view.batch, "96")
    assert session.choice.setup.batch == 96


def test_that_a_slider_move_is_undone_as_one_change(session: Session, view: SetupView):
    before = session.choice.setup.batch
    for place in (10, 12, 14, 16):
        view.slider.setValue(place)
    view.settled.emit()
    assert session.choice.setup.batch == 384
    session.undo()
    assert session.choice.setup.batch == before
    assert view.batch.value() == before
    session.redo()
    assert view.batch.value() == 384


def test_that_more_gpus_than_samples_grow_the_batch(session: Session, view: SetupView):
    session.choose_setup(batch=2)
    view.gpus.setValue(4)
    assert (session.choice.setup.gpus, session.choice.setup.batch) == (4, 4)


def test_that_the_meaning_of_auto_is_shown(session: Session, view: SetupView):
    assert "on" in view.jit_note.text()
    view.gpus.setValue(2)
    assert "several GPUs" in view.jit_note.text()
    view.jit.setCurrentIndex(1)
    view.jit.activated.emit(1)
    assert session.choice.setup.jit is Jit.ON


def test_that_a_wrong_optimizer_is_a_sentence_and_changes_nothing(session: Session, view: SetupView):
    before = session.choice
    view.optimizer_changed.emit("sgd:momentum")
    assert session.choice == before
    assert "expected name=value" in view.trouble.text() and view.trouble.isVisible()


def test_that_an_unknown_optimizer_is_reported_where_it_was_chosen(session: Session, view: SetupView):
    view.optimizer_changed.emit("adamant")
    wait(lambda: "adamant" in view.trouble.text())


@pytest.mark.parametrize("remat", [*REMAT_MODES[:2], "larger_than:1024", "list_of_layers:block1_conv1", "no such mode"])
def test_that_every_way_to_rematerialize_can_be_shown(session: Session, view: SetupView, remat: str):
    """A plan may bring any: what Keras does not know is said when the step is traced."""
    session.choose_setup(remat=remat)
    mode, _, argument = remat.partition(":")
    assert view.remat.currentData() == (mode if mode in REMAT_MODES else None)
    assert view.remat_argument.text() == argument and view.remat_argument.isVisibleTo(view) == bool(argument)
    view.remat_argument.editingFinished.emit()
    assert session.choice.setup.remat == remat


def test_that_the_precision_looked_at_stays_on_the_chart(session: Session, view: SetupView):
    assert not view.lines[Precision.FLOAT32].isEnabled()
    view.lines[Precision.MIXED_FLOAT16].click()
    assert session.choice.precisions == (Precision.FLOAT32,)


def test_that_leaving_a_field_unchanged_is_not_a_change(session: Session, view: SetupView):
    for field in (view.freeze, view.counts, view.optimizer.lineEdit(), view.loss.lineEdit()):
        field.editingFinished.emit()
    assert not session.can_undo


def test_that_sizes_of_an_input_are_read_and_refused():
    assert parse_sizes((("a", (1,)),), "b", "32 x 32, 3") == (("a", (1,)), ("b", (32, 32, 3)))
    assert parse_sizes((("a", (1,)),), "a", " ") == ()
    with pytest.raises(SetupError, match="as in 224, 224, 3"):
        parse_sizes((), "a", "big")


def test_that_gpu_counts_and_rematerialisation_are_read_and_refused():
    assert parse_counts("4, 1,2,2") == (1, 2, 4)
    with pytest.raises(SetupError, match="as in 1, 2, 4"):
        parse_counts("0")
    assert remat_of("larger_than", " 1000 ") == "larger_than:1000"
    with pytest.raises(SetupError, match="needs layers"):
        remat_of("list_of_layers", "")


def test_that_the_setup_has_its_pictures(view: SetupView, take_pictures: Callable[..., None]):
    take_pictures(view, "setup")
