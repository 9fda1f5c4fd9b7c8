"""Without Ray, or without a cluster: one sentence that says what to do."""

import socket
import subprocess
import sys

import pytest

from planner_app.cli import main
from planner_app.errors import PlannerError
from planner_app.fleet.cluster import Cluster
from planner_app.fleet.training import tensorflow_trainer

COMMANDS = {
    "fleet": ["fleet"],
    "measure": ["measure", "model.keras", "--batch", "1", "--ray"],
    "max-batch": ["max-batch", "model.keras", "--measured", "--limit", "1GiB", "--ray"],
    "selftest": ["selftest", "--ray"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_that_a_missing_ray_is_one_sentence_with_what_to_install(command, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed, where it is
    assert main(command) == 1
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith("plimsoll: ")
    assert 'pip install "plimsoll[ray]"' in line


def test_that_a_missing_ray_train_is_one_sentence_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(PlannerError, match=r'pip install "ray\[train\]"'):
        tensorflow_trainer("module:function", {}, workers=2, gpus=0)


def test_that_neither_the_package_nor_the_app_imports_ray_or_what_knows_it():
    """Where Ray is installed as well: whoever does not ask for it must not pay for it."""
    code = (
        "import sys, planner_app, planner_app.train, planner_app.cli, planner_app.gui.app\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'ray' or name == 'planner_app.fleet.training'])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"


def test_that_what_the_driver_printed_says_why_no_cluster_answered(tmp_path, monkeypatch):
    """A Ray that can't be imported, whether or not a real one is installed."""
    (tmp_path / "ray.py").write_text(
        "import sys\nsys.stderr.write('the port is closed\\n')\nraise OSError('no route')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with (
        pytest.raises(PlannerError, match=r"'10\.0\.0\.5:6379' \(no route\): start one with `ray start") as caught,
        Cluster("10.0.0.5:6379"),
    ):
        pass
    assert "the port is closed" in caught.value.detail
    assert "OSError: no route" in caught.value.detail


def test_that_an_address_where_nobody_listens_is_known_at_once(tmp_path, monkeypatch):
    (tmp_path / "ray.py").write_text("def init(**_):\n    raise AssertionError('It would take half a minute.')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(PlannerError, match=rf"'{address}' \(Connection refused\): start one"), Cluster(address):
            pass


def test_that_the_last_line_is_the_reason_where_the_driver_only_died(tmp_path, monkeypatch):
    logged = "[2026-11-19 E 7 8] a.cc:2: illegal hardware. Bye"
    (tmp_path / "ray.py").write_text(f"import os, sys\nsys.stderr.write('first\\n{logged}\\n')\nos._exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(PlannerError, match=r"\(illegal hardware\)") as caught, Cluster():
        pass
    assert caught.value.detail == f"first\n{logged}"
