"""What a user drops on the window is known by its content."""

import json
import zipfile
from pathlib import Path

import pytest

from planner_app.data import FOLDER
from planner_app.errors import ModelError
from planner_app.files.kinds import Kind, kind_of
from planner_app.files.python_functions import functions_in

MODEL = {"module": "keras", "class_name": "Sequential", "config": {"layers": []}}
PLAN = {"schema_version": 1, "training": {"global_batch": 32}}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("train.log", "Epoch 1/5\nKilled\n", Kind.LOG),
        ("slurm-17.out", "ResourceExhaustedError\n", Kind.LOG),
        ("no_suffix", "ResourceExhaustedError\n", Kind.LOG),
        ("notebook.ipynb", json.dumps({"cells": [{"class_name": 1}]}), Kind.LOG),
        ("events.json", '{"message": "out of memory"}\n{"message": "killed"}\n', Kind.LOG),
        ("model.json", json.dumps(MODEL), Kind.MODEL),
        ("broken.keras", "not a model", Kind.MODEL),
        ("renamed", "\x89HDF\r\n\x1a\n", Kind.MODEL),
        ("plan.json", json.dumps(PLAN), Kind.PLAN),
        ("any.plan.json", "{}", Kind.PLAN),
        ("run.json", '{"schema_version": 1, "tries": []}', Kind.RUN),
        ("models.py", "def build(): ...", Kind.PYTHON),
        ("photo.jpg", "\xff\xd8\xff\xe0\x00\x10JFIF" + "".join(map(chr, range(256))) * 9, Kind.MODEL),
        ("crashed.log", "Epoch 1/5\n" + "\x00" * 4096 + "Killed\n", Kind.LOG),
        ("bar.log", "1/9 loss: 2\x1b[0m" + "\x08" * 400 + "2/9", Kind.LOG),
        ("packed.log.gz", "\x1f\x8b" + "".join(map(chr, range(256))), Kind.LOG),
    ],
)
def test_that_a_file_is_known_by_what_is_in_it(tmp_path: Path, name: str, content: str, kind: Kind):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    assert kind_of(str(path)) is kind


def test_that_an_archive_is_a_model_only_with_a_model_s_configuration(tmp_path: Path):
    assert kind_of(str(FOLDER / "demo.keras")) is Kind.MODEL
    renamed = tmp_path / "demo.zip"
    renamed.write_bytes((FOLDER / "demo.keras").read_bytes())
    assert kind_of(str(renamed)) is Kind.MODEL
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("worker0.log", "Killed\n")
    assert kind_of(str(tmp_path / "logs.zip")) is Kind.LOG


def test_that_a_folder_a_function_and_a_missing_file_go_to_the_reader_of_models(tmp_path: Path):
    assert kind_of(str(tmp_path)) is Kind.MODEL
    assert kind_of(str(tmp_path / "gone.keras")) is Kind.MODEL
    assert kind_of(str(tmp_path / "gone")) is Kind.MODEL
    assert kind_of(f"{tmp_path}/models.py:build") is Kind.PYTHON


def test_that_functions_without_required_arguments_are_offered_and_nothing_is_run(tmp_path: Path):
    path = tmp_path / "models.py"
    path.write_text(
        'raise SystemExit("this must not run")\n'
        'def build(width=8, *, deep=False):\n    """A small one.\n\n    More."""\n'
        "def _private(): ...\n"
        "def needs(units): ...\n"
        "def also(*, units): ...\n"
        "def last(): ...\n"
    )
    assert [(each.name, each.summary) for each in functions_in(str(path))] == [("build", "A small one."), ("last", "")]


@pytest.mark.parametrize("content", [b"def broken(:", b"\x00", b"(" * 100_000])
def test_that_a_file_that_is_not_python_is_a_sentence(tmp_path: Path, content: bytes):
    path = tmp_path / "models.py"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"models\.py"):
        functions_in(str(path))
