"""A checked configuration becomes a Keras model that can be compiled and traced, and holds no weights."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scripts import HERE, run_script

GIB = 1 << 30


@pytest.fixture(scope="module")
def facts(saved: Path) -> Mapping[str, Any]:
    return json.loads(run_script(HERE / "rebuild_facts.py", str(saved)))


@pytest.mark.parametrize(
    ("precision", "computes", "keeps"),
    [
        ("float32", "float32", "float32"),
        ("mixed_float16", "float16", "float32"),
        ("mixed_bfloat16", "bfloat16", "float32"),
        ("bfloat16", "bfloat16", "bfloat16"),
        ("float16", "float16", "float16"),
        ("float64", "float64", "float64"),
    ],
)
def test_that_a_precision_is_how_layers_compute_and_keep_weights(facts, precision, computes, keeps):
    assert facts[precision] == [computes, keeps]


def test_that_without_a_precision_layers_stay_as_saved(facts):
    assert facts["as saved"] == "float32"


def test_that_precision_reaches_nested_models_and_keras_2_but_no_inputs(facts):
    assert facts["nested conv"] == "float16"
    assert facts["old, mixed"] == "float16"
    assert facts["input dtypes"] == ["float32", "int32", "string"]


def test_that_float64_does_not_stay_behind_in_the_process(facts):
    assert facts["floatx"] == "float32"


def test_that_sizes_fill_unknown_dimensions_and_replace_known_ones(facts):
    assert facts["resized"] == [[None, 64, 64, 3], [None, 12], [None, 1]]
    assert facts["resized conv"] == [None, 62, 62, 8]


def test_that_an_unbuilt_model_is_built_with_the_size_given(facts):
    assert facts["unbuilt, sized"] == (7 * 4 + 4) + (4 * 2 + 2)


def test_that_wrong_sizes_and_precisions_are_errors_of_the_setup(facts):
    assert facts["wrong name"].startswith(
        "SetupError: The model has no input named 'token': its inputs are tokens, pictures"
    )
    assert facts["wrong rank"].startswith("SetupError: Input 'tokens' takes 1 sizes")
    assert facts["wrong precision"].startswith("SetupError: precision must be one of ")


def test_that_the_training_step_can_be_traced_without_values(facts):
    assert facts["traced"]
    # Weights and Adam's two slots of the wide layers; biases of two elements and counters keep their values.
    assert facts["without value"] == [4096, 2 * 4096, 4 * 4096]


@pytest.mark.parametrize("name", ["text as metrics", "number as optimizer", "layer as optimizer", "odd loss"])
def test_that_a_model_whose_training_can_not_be_restored_is_compiled_with_adam(facts, name):
    assert facts[f"compiled, {name}"] == ["no error", "Adam"]


def test_that_keras_is_left_as_it_was(facts):
    assert facts["restored"]


def test_that_a_users_function_makes_the_model(facts):
    assert facts["function"] == (4 * 16 + 16) + (16 * 2 + 2) + 2


def test_that_a_failing_user_function_is_reported_with_its_line(facts):
    assert "ran build_badly(), it raised ValueError: no such data set at line" in facts["build_badly"]
    needs = facts["build_with_what_is_missing"]
    assert "needs 'not_installed_here' at line" in needs
    assert "install it there (pip install not_installed_here), put it beside the file if it is yours" in needs
    assert "gave a int, expected a keras.Model" in facts["build_nothing"]
    assert "has no function 'no_such'" in facts["no_such"]


def test_that_a_users_file_that_is_a_pipe_is_not_waited_for(facts):
    assert facts["pipe"].startswith("ModelError: 'pipe.py' can't be imported: it is not a regular file")


def test_that_the_first_weight_that_differs_is_named(facts):
    (warning,) = facts["mismatch"]
    assert "'layers/dense/vars/0' has the shape [1, 1], expected [8, 3]" in warning
    (warning,) = facts["missing"]
    assert "don't match its configuration: layer " in warning


def test_that_a_model_of_1500_layers_in_a_row_is_built_once_and_not_1500_times(facts):
    assert facts["long"] == 1500
    assert facts["long seconds"] < 60  # 2 s; by the square, a quarter of an hour


def test_that_65_billion_parameters_fit_in_one_and_a_half_gib(facts):
    assert facts["giant params"] > 60e9
    assert facts["peak bytes"] < 1.5 * GIB


def test_that_a_model_can_not_call_what_a_custom_file_imports(facts):
    assert "makedirs" in facts["calls an import"]
    assert not facts["import was called"]


def test_that_a_custom_file_offers_its_keras_classes_what_it_registers_and_what_it_lists(facts):
    assert facts["offered"] == ["Late", "Scale", "Shift", "Twice", "listed", "swish2"]


@pytest.mark.parametrize("name", ["wide", "repeated", "padded", "flattened", "convolved"])
def test_that_sizes_beyond_counting_are_a_sentence_and_no_crash(facts, name):
    assert facts[name].startswith("ModelError: The ")
    assert "more elements than TensorFlow can count" in facts[name]
