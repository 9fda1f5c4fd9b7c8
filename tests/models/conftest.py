import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hostile import keras_file
from once import once_a_run
from scripts import HERE, TOOLS, run_script

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError
from planner_app.jobs.protocol import Inspect
from planner_app.worker.inspect import inspect


@pytest.fixture(scope="session")
def saved() -> Path:
    """A folder of real model files."""
    return once_a_run("saved", lambda folder: run_script(HERE / "maker.py", str(folder)))


@pytest.fixture(scope="session")
def counts(saved: Path) -> Mapping[str, int]:
    return json.loads((saved / "counts.json").read_text())


@pytest.fixture(scope="session")
def described(saved: Path) -> Mapping[str, Mapping[str, Any]]:
    """Every one of them read and described: by file name, either a description or an error."""
    files = sorted(str(path) for path in saved.iterdir() if path.name != "counts.json")
    lines = run_script(TOOLS / "describe_files.py", *files).splitlines()
    return {answer["file"]: answer for answer in map(json.loads, lines)}


@pytest.fixture
def read() -> Callable[..., CheckedModel]:
    """The reader, called directly: it is free of TensorFlow."""

    def reader(path: Path | str, custom: Path | None = None) -> CheckedModel:
        request = Inspect(path=str(path), custom=str(custom) if custom else None)
        return inspect(request, lambda *_: None)

    return reader


@pytest.fixture
def refused(read, tmp_path):
    """Writes a .keras file and returns the sentence it is refused with."""

    def sentence(config, members=None, weights=None, custom=None) -> str:
        with pytest.raises(ModelError) as caught:
            read(keras_file(tmp_path / "model.keras", config, members, weights), custom)
        assert str(caught.value).startswith("'model.keras' can't be opened: ")
        return str(caught.value)

    return sentence
