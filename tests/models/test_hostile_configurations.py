"""The reader refuses configurations that are not JSON, or make no sense as a model."""

import json

import h5py
import pytest
from hostile import (
    dense,
    input_layer,
    keras_file,
    layer,
    sequential,
)

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError
from planner_app.jobs.job import run
from planner_app.jobs.protocol import Inspect, Limits
from planner_app.worker.inspect import sense, text


def test_that_a_configuration_that_is_not_json_is_refused(refused):
    assert "config.json is not valid JSON" in refused("{'class_name': ")


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_that_json_nested_100_000_deep_is_refused(refused, deep):
    assert "nested deeper than 200" in refused(deep)


def test_that_brackets_within_text_are_no_nesting(read, tmp_path):
    config = sequential(dense(note='\\"' + "[" * 1000))
    assert read(keras_file(tmp_path / "m.keras", config))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000])
def test_that_numbers_that_are_none_are_refused(refused, number):
    assert "not valid JSON" in refused(json.dumps(sequential(dense())).replace('"units": 2', f'"units": {number}'))


def test_that_a_duplicate_key_is_refused(refused):
    assert "'units' stands twice" in refused(
        json.dumps(sequential(dense())).replace('"units": 2', '"units": 2, "units": 3')
    )


@pytest.mark.parametrize("value", ["[]", "3", '"text"', "null", "{}", '{"class_name": "Dense"}'])
def test_that_json_that_describes_no_model_is_refused(refused, value):
    assert refused(value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_that_other_encodings_of_unicode_are_read(read, tmp_path, encoding):
    assert read(keras_file(tmp_path / "m.keras", json.dumps(sequential(dense())).encode(encoding)))


def test_that_bytes_that_are_no_text_are_refused(refused):
    assert "is not text" in refused(b'{"class_name": "\xff\xfe\xfa"}')


def test_that_half_a_character_is_refused(refused):
    assert "not valid Unicode" in refused(json.dumps(sequential(dense())).replace('"dense"', '"\\ud800"', 1))


def test_that_a_configuration_that_is_too_large_is_refused(refused, monkeypatch):
    monkeypatch.setattr(text, "MAX_JSON_BYTES", 100)
    assert "larger than" in refused(sequential(dense()))


def test_that_a_configuration_of_too_many_values_is_refused(refused, monkeypatch):
    monkeypatch.setattr(text, "MAX_VALUES", 10)
    assert "holds more than 10 values" in refused(sequential(dense()))


@pytest.mark.parametrize("units", [0, -3, 2.5, "many", [1], True, 10**30, 2**31])
def test_that_absurd_sizes_are_refused_with_layer_and_field(refused, units):
    assert "its layer 'dense' (Dense) has units = " in refused(sequential(dense(units=units)))


@pytest.mark.parametrize("shape", [[None, -4], [None, 0], [None, 10**12], [None, 1.5], [None, "x"], [None] + [2] * 40])
def test_that_shapes_with_negative_or_absurd_dimensions_are_refused(refused, shape):
    config = sequential(dense())
    config["config"]["layers"][0] = input_layer(shape)
    assert "its layer 'x' (InputLayer) has batch_shape = " in refused(config)


def test_that_two_layers_of_one_name_are_refused(refused):
    assert "both named 'dense'" in refused(sequential(dense(), dense()))


def test_that_an_output_that_is_not_a_layer_is_refused(refused):
    config = {"name": "m", "layers": [input_layer()], "input_layers": [["x", 0, 0]], "output_layers": [["y", 0, 0]]}
    model = {"module": "keras.src.models.functional", "class_name": "Functional", "config": config}
    assert "output_layers of 'm' name 'y'" in refused(model)


def test_that_what_was_saved_for_training_can_not_steer_a_terminal(read, tmp_path):
    config = sequential(dense()) | {"compile_config": {"\x1b[31m" + "x" * 5000: layer("Evil", module="os")}}
    (said,) = [each for each in read(keras_file(tmp_path / "m.keras", config)).warnings if "left out" in each]
    assert said.startswith("The saved \ufffd[31mxxx")
    assert len(said) < 150


def test_that_a_version_that_is_not_a_string_is_left_out(read, tmp_path):
    with h5py.File(tmp_path / "model.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(sequential(dense()))
        file.attrs["keras_version"] = "3\x1b[31m"
    assert read(tmp_path / "model.h5").keras_version is None


def test_that_more_layers_than_anybody_waits_for_are_refused(refused, monkeypatch):
    monkeypatch.setattr(sense, "MAX_LAYERS", 5)
    inner = sequential(*(dense(name=f"dense_{n}") for n in range(3)), name="inner")
    assert "it has 6 layers; models of at most 5" in refused(sequential(inner))


def test_that_a_functional_model_without_a_graph_is_refused(refused):
    model = {"module": "keras.src.models.functional", "class_name": "Functional", "config": [dense()]}
    assert "layers nobody wrote down" in refused(model)


def test_that_names_that_steer_a_terminal_are_refused(refused):
    assert "not readable text" in refused(sequential(dense(name="\x1b[31mred")))


def test_that_all_unknown_classes_are_named_at_once_with_their_layers(refused):
    first = layer("Attend", module=None, name="attend_1")
    second = layer("Mixer", module="own_lab.layers", name="mixer")  # a package that nobody has
    sentence = refused(sequential(first, second))
    assert "'Attend' (layer 'attend_1'), 'own_lab.layers.Mixer' (layer 'mixer')" in sentence
    assert "--custom file.py" in sentence


def test_that_what_a_reader_may_take_is_bounded_by_the_kernel_too(tmp_path):
    path = keras_file(tmp_path / "wide.keras", sequential(dense(note=[f"word {n}" for n in range(900_000)])))
    limits = Limits(memory_bytes=8 << 30, seconds=120, data_bytes=100 << 20)
    with pytest.raises(ModelError, match="too large or too deep to be read safely"):
        run(Inspect(path=str(path)), CheckedModel, limits)
    assert Inspect.limits.data_bytes is not None


@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN", "ConvLSTM2D"])
def test_that_thousands_of_recurrent_layers_are_refused_before_they_are_traced(refused, name):
    layers = [layer(name, name=f"r{n}", units=2) for n in range(3000)]
    assert "3,000 recurrent layers and cells" in refused(sequential(*layers))


def test_that_thousands_of_recurrent_cells_in_one_layer_are_refused_too(refused):
    cells = [layer("LSTMCell", name=f"c{n}", units=2) for n in range(3000)]
    stack = layer("RNN", cell=layer("StackedRNNCells", name="cells", cells=cells))
    assert "recurrent layers and cells" in refused(sequential(stack))
