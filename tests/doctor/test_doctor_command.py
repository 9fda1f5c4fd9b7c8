import io
import json
import sys

import pytest
from corpus import FOLDER, log

from planner_app.cli import main

LOG = str(FOLDER / "tf24_requested_by.log")


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(["doctor", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return command


def test_that_a_log_is_explained_to_people(run):
    code, out, _ = run(LOG)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("GPU:0 ran out of memory: operation Mul asked for 18.0 MiB with 16.2 MiB left of ")
    for title in ("In figures", "What to do", "The lines that show it"):
        assert title in lines
    assert " 1 2021-03-15 17:16:57.300037: W tensorflow/core" in " ".join(out.split())


def test_that_programs_get_everything(run):
    code, out, _ = run(LOG, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["kind"] == "not enough memory"
    assert (found["requested_bytes"], found["limit_bytes"], found["exact"]) == (18874368, 1225252864, True)
    assert found["shape"] == [3, 3, 512, 1024]
    assert found["evidence"][0]["line"] == 1
    assert found["comparison"] is None


def test_that_a_log_may_come_on_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log("tf26_eager_const"))))
    code, out, _ = run("-")
    assert code == 0
    assert out.startswith("GPU:0: a whole array of 18.6 GiB")


def test_that_a_gpu_that_is_shared_is_known_from_the_catalogue(run):
    _, out, _ = run(str(FOLDER / "shared_t4.log"), "--json")
    assert json.loads(out)["kind"] == "memory taken by another process"


def test_that_unknown_text_is_called_so(run, tmp_path):
    file = tmp_path / "letter.txt"
    file.write_text("Dear Sir or Madam")
    code, out, _ = run(str(file))
    assert (code, out.strip()) == (0, "This log holds no out-of-memory report.")


def test_that_control_characters_do_not_reach_the_terminal(run, tmp_path):
    file = tmp_path / "evil.log"
    file.write_bytes(
        log("tf24_requested_by").replace(b"requested by op Mul", b"requested by op \x1b[2J\x07M\x1b]0;x\x07ul")
    )
    _, out, _ = run(str(file))
    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.parametrize("name", ["nothing.log", "."])
def test_that_what_can_t_be_read_gets_one_sentence(run, tmp_path, name):
    code, out, err = run(str(tmp_path / name))
    assert (code, out) == (1, "")
    assert err.startswith("plimsoll: The log ")
    assert len(err.splitlines()) == 1


def test_that_several_logs_are_those_of_one_run(run, tmp_path):
    other = tmp_path / "rank0.log"
    other.write_text("Epoch 1/5\n")
    code, out, _ = run(str(other), LOG)
    assert code == 0
    assert out.startswith("GPU:0 ran out of memory")
    assert "2 files were read" in " ".join(out.split())


def test_that_what_is_not_proven_is_said_and_asked(run):
    _, out, _ = run(str(FOLDER / "glued_killed.log"))
    assert "Likely, not proven" in out
    assert "One answer would decide" in out


@pytest.mark.parametrize("name", ["pytorch_newer.log", "tf24_requested_by.log", "glued_killed.log"])
def test_that_the_app_says_the_same(run, name):
    from planner_app.core.doctor.story import story
    from planner_app.files.logs import read_log

    _, out, _ = run(str(FOLDER / name))
    found = read_log(FOLDER / name)
    said = " ".join(out.split())
    for section in story(found):  # what gui/panels/doctor/words.py shows
        for sentence in (section.title, *section.sentences, *section.points):
            assert " ".join(sentence.split()) in said
