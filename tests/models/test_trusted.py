"""Packages that the user trusts: what a file may and may not name from them."""

import json

import pytest

from planner_app.cli import main
from planner_app.core.model.setup import Setup
from planner_app.core.model.trace import StepTrace
from planner_app.errors import ModelError
from planner_app.jobs.job import run
from planner_app.jobs.protocol import Trace
from planner_app.planner.opening import check_model

BACKBONE = {
    "module": "parts.models.backbone",
    "class_name": "Backbone",
    "registered_name": "parts>Backbone",
    "config": {"words": 50, "width": 8},
}
PARTS = """
import keras

def say(text):
    print(text)

@keras.saving.register_keras_serializable("parts")
def spread(shape, dtype=None):
    raise AssertionError("It is refused before it is called.")

@keras.saving.register_keras_serializable("parts")
class Leaving(keras.layers.Layer):
    def __init__(self, **given):
        raise SystemExit("leaving")

class Loader:
    def __init__(self, **given):
        raise AssertionError("It is refused before it is made.")

@keras.saving.register_keras_serializable("parts")
class Backbone(keras.Model):
    def __init__(self, words, width, **more):
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ("token_ids", "padding_mask")}
        found = keras.layers.Embedding(words, width, name="words")(inputs["token_ids"])
        found = found * keras.ops.cast(inputs["padding_mask"][..., None], found.dtype)
        super().__init__(inputs, keras.layers.Dense(width, name="mixed")(found), **more)
        self.given = {"words": words, "width": width}

    def get_config(self):
        return self.given
"""


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """An installed package of layers, whose classes lie in a module of a folder, as in keras_hub."""
    models = tmp_path / "installed" / "parts" / "models"
    models.mkdir(parents=True)
    (models.parent / "__init__.py").write_text("from parts.models.backbone import Backbone", encoding="utf-8")
    (models / "__init__.py").touch()
    (models / "backbone.py").write_text(PARTS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))


@pytest.fixture
def written(tmp_path):
    def write(config: dict) -> str:
        path = tmp_path / "model.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)

    return write


@pytest.mark.usefixtures("parts")
def test_that_an_untrusted_package_is_named_with_the_option_that_trusts_it(written):
    with pytest.raises(ModelError, match="They are of the package parts: if you trust it, open the model with"):
        check_model(written(BACKBONE))


@pytest.mark.usefixtures("parts")
def test_that_a_registered_class_of_a_trusted_package_is_rebuilt(written):
    model = check_model(written(BACKBONE), trust=["parts"])
    assert model.trusted == ("parts",)
    sizes = tuple((name, (8,)) for name in ("token_ids", "padding_mask"))
    trace = run(Trace(model=model, setup=Setup(batch=4, sizes=sizes).step("cpu")), StepTrace)
    assert trace.trained.assumed == (
        "optimizer adam: the model is not compiled",
        "loss mean_squared_error: the model is not compiled",
    )


@pytest.mark.usefixtures("parts")
def test_that_every_command_on_a_model_can_be_told_whom_to_trust(written, tmp_path, capsys):
    """`check` opens the file beside the plan, to see whether it has changed since."""
    file, plan, trust = written(BACKBONE), str(tmp_path / "model.plan.json"), ["--trust", "parts"]
    sizes = ["--set", "token_ids=8", "--set", "padding_mask=8"]
    assert main(["describe", file, *trust, *sizes]) == 0
    assert "Backbone" in capsys.readouterr().out
    assert main(["plan", file, *trust, *sizes, "--batch", "4", "--device", "cpu:2GiB", "-o", plan]) == 0
    assert main(["check", plan, *trust]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(("module", "name"), [("parts.models.backbone", "say"), ("builtins", "parts>spread")])
def test_that_a_function_of_a_trusted_package_is_refused(written, module, name):
    function = {"module": module, "class_name": "function", "config": name, "registered_name": name}
    layer = {"class_name": "Dense", "module": "keras.layers", "registered_name": None}
    config = {**layer, "config": {"units": 2, "activation": function}}
    model = {
        "module": "keras",
        "class_name": "Sequential",
        "registered_name": None,
        "config": {"name": "s", "layers": [config], "build_input_shape": [None, 4]},
    }
    with pytest.raises(ModelError, match="Of parts a model's file may name registered classes, and no functions"):
        check_model(written(model), trust=["parts"])


@pytest.mark.usefixtures("parts")
def test_that_a_class_that_the_package_has_not_registered_is_refused_before_it_is_made(written):
    config = {
        **BACKBONE,
        "class_name": "Loader",
        "registered_name": "parts>Loader",
        "config": {"preset": "/etc", "config": {}},
    }
    model = check_model(written(config), trust=["parts"])
    with pytest.raises(ModelError, match="which parts has not registered for Keras' serialization"):
        run(Trace(model=model, setup=Setup(batch=4).step("cpu")), StepTrace)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("place", ["kernel_initializer", "activation"])
def test_that_a_registered_function_is_refused_where_a_text_names_it(written, place):
    """Keras takes initializers and the like by the names they are registered under."""
    function = {"class_name": "Dense", "module": "keras.layers", "registered_name": None}
    layers = [{**function, "config": {"units": 2, place: "parts>spread"}}, {**BACKBONE, "config": {}}]
    config = {"name": "s", "layers": layers, "build_input_shape": [None, 4]}
    file = written({"module": "keras", "class_name": "Sequential", "registered_name": None, "config": config})
    with pytest.raises(ModelError, match="names parts>spread, which is not a class"):
        run(Trace(model=check_model(file, trust=["parts"]), setup=Setup(batch=4).step("cpu")), StepTrace)


@pytest.mark.usefixtures("parts")
def test_that_a_class_that_ends_the_process_is_named_as_one_that_can_not_be_made(written):
    config = {**BACKBONE, "class_name": "Leaving", "registered_name": "parts>Leaving", "config": {}}
    model = check_model(written(config), trust=["parts"])
    with pytest.raises(ModelError, match=r"can't rebuild the model from its configuration.*SystemExit"):
        run(Trace(model=model, setup=Setup(batch=4).step("cpu")), StepTrace)


def test_that_a_package_that_is_not_there_comes_with_what_to_install(written):
    with pytest.raises(ModelError, match="the package 'no_such_package' is not installed: pip install no_such_package"):
        check_model(written(BACKBONE), trust=["no_such_package"])


def test_that_a_class_of_a_script_is_asked_for_by_its_file(written):
    """Keras says that it comes from __main__, which is no package to look for."""
    with pytest.raises(ModelError, match=r"'__main__\.Backbone'.*Name the Python file that defines them with --custom"):
        check_model(written({**BACKBONE, "module": "__main__"}))


@pytest.mark.parametrize("name", ["__main__", "os", "keras", "tensorflow", "builtins", "a.b", "importlib"])
def test_that_what_would_let_a_file_name_anything_can_not_be_trusted(written, name):
    with pytest.raises(ModelError, match="can't be trusted"):
        check_model(written(BACKBONE), trust=[name])


SPITEFUL = """
import keras

def leave(name):
    open({folder!r} + "/" + name, "w").write("was here")

@keras.saving.register_keras_serializable("spiteful")
class Spiteful(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        leave("from_init")

    @classmethod
    def from_config(cls, config):
        leave("from_config")
        return cls(**config)
"""


@pytest.fixture
def spiteful(tmp_path, monkeypatch):
    """An installed package whose registered class writes files while it is made."""
    package = tmp_path / "installed" / "spiteful"
    package.mkdir(parents=True)
    marks = tmp_path / "marks"
    marks.mkdir()
    (package / "__init__.py").write_text(SPITEFUL.format(folder=str(marks)), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return marks


def test_that_code_in_a_trusted_class_runs_nowhere_but_in_the_sandbox(written, spiteful):
    layer = {"module": "spiteful", "class_name": "Spiteful", "registered_name": "spiteful>Spiteful", "config": {}}
    config = {"name": "s", "layers": [layer], "build_input_shape": [None, 4]}
    file = written({"module": "keras", "class_name": "Sequential", "registered_name": None, "config": config})
    model = check_model(file, trust=["spiteful"])
    with pytest.raises(ModelError, match=r"Permission denied|Read-only file system"):
        run(Trace(model=model, setup=Setup(batch=4).step("cpu")), StepTrace)
    assert list(spiteful.iterdir()) == []
