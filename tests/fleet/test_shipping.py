"""What is sent to a node: the checked configuration and the user's code, nothing that tells of this machine."""

import os
from pathlib import Path

import msgspec
import pytest

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.errors import ModelError
from planner_app.planner.fleet.measuring import Point
from planner_app.planner.fleet.on_node import MeasureThere
from planner_app.planner.fleet.shipping import Shipped, ship, unpacked

SECRET = "hunter2-of-this-machine"


@pytest.fixture
def model(tmp_path: Path) -> CheckedModel:
    home = tmp_path / "private"
    (home / "parts").mkdir(parents=True)
    (home / "notes").mkdir()
    for name in ("mine.py", "beside.py", "parts/__init__.py", "parts/block.py", "notes/own.py", ".hidden.py"):
        (home / name).write_text(f"# {name}\n")
    (home / "passwords.txt").write_text(SECRET)
    return CheckedModel("net", "python", {}, custom=str(home / "mine.py:build"), data=str(home / "beside.py:batch"))


def test_that_neither_paths_nor_variables_nor_other_files_are_sent(model, tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_FLEET_SECRET", SECRET)
    work = Point(model, Setup(batch=4), kind="L4", on_gpu=True).work("0")
    sent = msgspec.json.encode(work).decode()
    for private in (
        str(tmp_path),
        str(Path.cwd()),
        str(Path.home()),
        tmp_path.name,
        SECRET,
        "PLIMSOLL_FLEET",
        os.sep + "private",
    ):
        assert private not in sent, private
    shipped = msgspec.json.decode(work.request, type=MeasureThere).shipped
    assert (shipped.model.custom, shipped.model.data) == ("mine.py:build", "beside.py:batch")
    # A folder without __init__.py is no package of the code's, and what begins with a dot is hidden.
    assert set(shipped.custom) == {"mine.py", "beside.py", "parts/__init__.py", "parts/block.py"}
    assert shipped.custom["parts/block.py"] == b"# parts/block.py\n"
    assert (work.needs.kind, work.needs.gpus, work.needs.node) == ("L4", 1, "")


def test_that_the_code_lies_on_the_node_for_as_long_as_it_is_needed(model):
    with unpacked(ship(model)) as there:
        file, function = there.custom.rsplit(":", 1)
        assert function == "build"
        assert Path(file).read_text() == "# mine.py\n"
        assert (Path(file).parent / "parts" / "block.py").exists()
        assert Path(file).parent != Path(model.custom).parent
    assert not Path(file).exists()


def test_that_a_file_outside_its_folder_is_refused(model):
    bad = Shipped(ship(model).model, {"../../escaped.py": b""}, {})
    with pytest.raises(ModelError, match="lies outside its folder"), unpacked(bad):
        pass
