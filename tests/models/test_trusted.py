"""Packages that the user trusts: what a file may and may not name from them."""

import json

import pytest

from planner_app.core.model.setup import Setup
from planner_app.core.model.trace import StepTrace
from planner_app.errors import ModelError
from planner_app.jobs.job import run
from planner_app.jobs.protocol import Trace
from planner_app.planner.opening import check_model

keras_hub = pytest.importorskip("importlib.util").find_spec("keras_hub")
needs_hub = pytest.mark.skipif(keras_hub is None, reason="keras_hub is not installed")
BACKBONE = {
    "module": "keras_hub.src.models.bert.bert_backbone",
    "class_name": "BertBackbone",
    "registered_name": "keras_hub>BertBackbone",
    "config": {
        "vocabulary_size": 50,
        "num_layers": 1,
        "num_heads": 2,
        "hidden_dim": 8,
        "intermediate_dim": 16,
        "dropout": 0.1,
        "max_sequence_length": 16,
        "num_segments": 2,
    },
}


@pytest.fixture
def written(tmp_path):
    def write(config: dict) -> str:
        path = tmp_path / "model.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)

    return write


@needs_hub
def test_that_an_untrusted_package_is_named_with_the_option_that_trusts_it(written):
    with pytest.raises(ModelError, match="They are of the package keras_hub: if you trust it, open the model with"):
        check_model(written(BACKBONE))


@needs_hub
def test_that_a_registered_class_of_a_trusted_package_is_rebuilt(written):
    model = check_model(written(BACKBONE), trust=["keras_hub"])
    assert model.trusted == ("keras_hub",)
    sizes = tuple((name, (8,)) for name in ("token_ids", "padding_mask", "segment_ids"))
    trace = run(Trace(model=model, setup=Setup(batch=4, sizes=sizes).step("cpu")), StepTrace)
    assert trace.trained.assumed == (
        "optimizer adam: the model is not compiled",
        "loss mean_squared_error: the model is not compiled",
    )


@needs_hub
def test_that_a_function_of_a_trusted_package_is_refused(written):
    function = {
        "module": "keras_hub.src.utils.keras_utils",
        "class_name": "function",
        "config": "print_msg",
        "registered_name": "print_msg",
    }
    layer = {"class_name": "Dense", "module": "keras.layers", "registered_name": None}
    config = {**layer, "config": {"units": 2, "activation": function}}
    model = {
        "module": "keras",
        "class_name": "Sequential",
        "registered_name": None,
        "config": {"name": "s", "layers": [config], "build_input_shape": [None, 4]},
    }
    with pytest.raises(ModelError, match="Of keras_hub a model may name registered classes, and no functions"):
        check_model(written(model), trust=["keras_hub"])


@needs_hub
def test_that_a_class_that_the_package_has_not_registered_is_refused_before_it_is_made(written):
    config = {
        **BACKBONE,
        "module": "keras_hub.src.utils.preset_utils",
        "class_name": "PresetLoader",
        "registered_name": "keras_hub>PresetLoader",
        "config": {"preset": "/etc", "config": {}},
    }
    model = check_model(written(config), trust=["keras_hub"])
    with pytest.raises(ModelError, match="which keras_hub has not registered for Keras' serialization"):
        run(Trace(model=model, setup=Setup(batch=4).step("cpu")), StepTrace)


def test_that_a_package_that_is_not_there_comes_with_what_to_install(written):
    with pytest.raises(ModelError, match="the package 'no_such_package' is not installed: pip install no_such_package"):
        check_model(written(BACKBONE), trust=["no_such_package"])


@pytest.mark.parametrize("name", ["os", "keras", "tensorflow", "builtins", "a.b", "importlib"])
def test_that_what_would_let_a_file_name_anything_can_not_be_trusted(written, name):
    with pytest.raises(ModelError, match="can't be trusted"):
        check_model(written(BACKBONE), trust=[name])
