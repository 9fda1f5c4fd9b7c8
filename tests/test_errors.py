"""What is said to the user, whatever stood in the file that it is about."""

import pytest

from planner_app.cli import INTERRUPTED, main
from planner_app.commands.ask import devices
from planner_app.errors import LONGEST_SENTENCE, Cancelled, ModelError, PlannerError


@pytest.mark.parametrize("letter", ["\x1b", "\x00", "\x7f", "\x9b", "\r", "\u202e", "\u2066", "\ud800"])
def test_that_a_sentence_can_not_steer_a_terminal(letter):
    assert str(ModelError(f"It names {letter}[31mred.")) == "It names \ufffd[31mred."


def test_that_letters_of_all_people_and_new_lines_stay():
    said = "Größe, размер, 大きさ, 🐋\n\tand more"
    assert str(PlannerError(said)) == said


def test_that_a_sentence_is_not_longer_than_anyone_reads():
    assert len(str(PlannerError("x" * 100_000))) == LONGEST_SENTENCE


def test_that_the_detail_of_an_error_can_not_steer_a_terminal_either():
    assert PlannerError("A sentence.", "conv\x1b]0;title\x07").detail == "conv\ufffd]0;title\ufffd"


def test_that_to_cancel_is_not_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert not issubclass(Cancelled, PlannerError)

    def stop(_options: object) -> int:
        raise Cancelled

    monkeypatch.setattr(devices, "run", stop)
    assert main(["devices"]) == INTERRUPTED == 130
    assert capsys.readouterr() == ("", "")
