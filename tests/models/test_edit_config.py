"""Changes to a configuration are pure, and reach everything they should and nothing else."""

import copy

import pytest
from hostile import dense, layer, sequential

from planner_app.errors import SetupError
from planner_app.worker.build.edit_config import with_input_layers, with_precision, with_sizes, without_training

POLICY = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}


def dtypes(config):
    return [inner["config"].get("dtype") for inner in config["config"]["layers"]]


@pytest.mark.parametrize("dtype", ["float32", POLICY, None, "mixed_float16"])
def test_that_every_way_to_write_a_floating_policy_is_replaced(dtype):
    assert dtypes(with_precision(sequential(dense(dtype=dtype)), "bfloat16")) == ["float32", "bfloat16"]


def test_that_a_quantised_policy_stays_quantised():
    config = sequential(dense(dtype="int8_from_float32"))
    assert dtypes(with_precision(config, "bfloat16")) == ["float32", "int8_from_bfloat16"]


@pytest.mark.parametrize("dtype", ["int64", "string", {**POLICY, "config": {"name": "int64"}}])
def test_that_integer_and_text_layers_keep_their_dtype(dtype):
    assert dtypes(with_precision(sequential(dense(dtype=dtype)), "bfloat16"))[1] == dtype


def test_that_a_layer_without_a_dtype_gets_one():
    config = sequential(dense())
    del config["config"]["layers"][1]["config"]["dtype"]
    assert dtypes(with_precision(config, "bfloat16"))[1] == "bfloat16"


def test_that_a_pipeline_gets_no_dtype_but_its_layers_do():
    """Its constructor takes none."""
    pipeline = layer("Pipeline", layers=[dense(dtype=POLICY)])
    del pipeline["config"]["dtype"]
    changed = with_precision(sequential(pipeline), "bfloat16")["config"]["layers"][1]["config"]
    assert "dtype" not in changed
    assert changed["layers"][0]["config"]["dtype"] == "bfloat16"


def test_that_a_cast_keeps_what_it_casts_to():
    cast = layer("Cast", module="keras.src.ops.core", dtype="float32")
    assert dtypes(with_precision(sequential(cast), "bfloat16"))[1] == "float32"


def test_that_wrapped_layers_change_too():
    wrapper = layer("TimeDistributed", layer=dense(dtype=POLICY))
    changed = with_precision(sequential(wrapper), "bfloat16")
    assert changed["config"]["layers"][1]["config"]["layer"]["config"]["dtype"] == "bfloat16"


def test_that_the_given_configuration_is_left_alone():
    config = sequential(dense(dtype=POLICY))
    before = copy.deepcopy(config)
    with_precision(config, "bfloat16")
    with_sizes(config, {"x": [9]})
    with_input_layers(config)
    without_training(config)
    assert config == before


def test_that_no_model_in_the_tree_compiles_itself():
    config = sequential(sequential(dense()) | {"compile_config": {"optimizer": "adam"}})
    assert "compile_config" not in without_training(config)["config"]["layers"][1]


def test_that_sizes_replace_what_was_built_with_the_old_ones():
    changed = with_sizes(sequential(dense()), {"x": [9]})
    assert changed["config"]["layers"][0]["config"]["batch_shape"] == [None, 9]
    assert "build_config" not in changed["config"]["layers"][1]


def test_that_a_size_for_no_input_is_an_error_of_the_setup():
    with pytest.raises(SetupError, match="no input named 'y': its inputs are x"):
        with_sizes(sequential(dense()), {"y": [9]})


def test_that_a_sequential_model_of_keras_2_gets_an_input_layer():
    first = {"class_name": "Dense", "config": {"name": "dense", "units": 2, "batch_input_shape": [None, 4]}}
    config = {"class_name": "Sequential", "config": [first]}
    added, kept = with_input_layers(config)["config"]["layers"]
    assert added["config"] == {"batch_shape": [None, 4], "dtype": None, "name": "dense_input"}
    assert "batch_input_shape" not in kept["config"]
