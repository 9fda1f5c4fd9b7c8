"""A model that can't be opened is never a dead end: where the command line names an option, the app has a button."""

import json
from pathlib import Path

import pytest

from planner_app.errors import ModelError
from planner_app.gui.panels.centre.remedy import in_the_app, remedy_for
from planner_app.gui.state.source import ModelSource
from planner_app.planner.opening import check_model


def refusal(path: Path, module: str, class_name: str) -> str:
    """What the reader says about a model with a class of that module."""
    layers = [
        {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 8], "name": "x"}},
        {"module": module, "class_name": class_name, "config": {"name": "own"}, "registered_name": f"a>{class_name}"},
    ]
    config = {"name": "m", "layers": layers}
    path.write_text(json.dumps({"module": "keras", "class_name": "Sequential", "config": config}))
    with pytest.raises(ModelError) as refused:
        check_model(str(path))
    return str(refused.value)


def test_that_a_class_of_the_user_s_asks_for_its_file(tmp_path: Path):
    source = ModelSource(str(tmp_path / "own.json"))
    why = refusal(Path(source.path), "layers_of_mine", "Scale")
    found = remedy_for(source, why)
    assert (found.asks, found.source) == ("custom", source)
    assert "--custom" in why and "--" not in in_the_app(why) and "Choose the Python file" in in_the_app(why)


def test_that_a_class_of_an_installed_package_asks_whether_to_trust_it(tmp_path: Path):
    source = ModelSource(str(tmp_path / "packaged.json"))
    why = refusal(Path(source.path), "rich.layers", "Block")
    found = remedy_for(source, why)
    assert (found.package, found.source.trust, found.asks) == ("rich", ("rich",), "")
    assert "rich" in found.button
    assert "--trust" in why and "--" not in in_the_app(why) and "only if you trust it" in in_the_app(why)


def test_that_a_python_file_asks_for_its_function(tmp_path: Path):
    path = tmp_path / "models.py"
    path.write_text("def build(): ...\n")
    with pytest.raises(ModelError) as refused:
        check_model(str(path))
    assert remedy_for(ModelSource(str(path)), str(refused.value)).asks == "function"


def test_that_nothing_is_offered_where_nothing_helps():
    assert remedy_for(ModelSource("a.keras"), "'a.keras' can't be opened: it is not a Keras model.") is None
