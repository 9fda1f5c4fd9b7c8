"""The reader refuses what could run code, and the message says where it is."""

import json

import h5py
import pytest
from hostile import (
    OFFERING,
    bytecode,
    dense,
    function,
    keras_file,
    layer,
    sequential,
)

from planner_app.errors import ModelError


def test_that_a_lambda_with_code_is_refused_and_the_sentence_says_why(refused):
    sentence = refused(sequential(layer("Lambda", name="trick", function=bytecode())))
    assert "'trick' is a Lambda" in sentence
    assert "Python code" in sentence
    assert "--custom" in sentence


def test_that_a_lambda_in_a_nested_model_is_refused(refused):
    inner = sequential(layer("Lambda", name="deep", function=bytecode()), name="inner")
    assert "'deep'" in refused(sequential(inner))


def test_that_code_is_refused_wherever_it_is(refused):
    assert "__lambda__" in refused(sequential(layer("Dropout", name="mask", rate=0.5, noise_shape=bytecode())))


def test_that_a_lambda_of_keras_2_is_refused_in_hdf5_files(read, tmp_path):
    config = {"class_name": "Sequential", "config": {"name": "m", "layers": []}}
    code = {"name": "trick", "function": ["4wAAAA==", None, None], "function_type": "lambda"}
    config["config"]["layers"].append({"class_name": "Lambda", "config": code})
    with h5py.File(tmp_path / "model.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = "2.15.0"
    with pytest.raises(ModelError, match="'trick' is a Lambda"):
        read(tmp_path / "model.h5")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("keras.config", "set_floatx"),
        ("keras.utils", "get_file"),
        ("keras.layers", "TFSMLayer"),
        ("keras.src.utils.file_utils", "get_file"),
        ("keras.datasets.mnist", "load_data"),
        ("keras.ops", "zeros"),
    ],
)
def test_that_a_lambda_may_not_call(refused, module, name):
    sentence = refused(sequential(layer("Lambda", name="trick", function=function(name, module))))
    assert f"would call '{module}.{name}'" in sentence


def test_that_a_lambda_may_name_an_activation_of_keras(read, tmp_path):
    config = sequential(layer("Lambda", function=function("relu", "keras.activations")))
    assert read(keras_file(tmp_path / "m.keras", config)).name == "model"


@pytest.mark.parametrize("name", ["TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer"])
def test_that_layers_that_run_foreign_code_are_refused(refused, name):
    assert f"'odd' is a {name}" in refused(sequential(layer(name, filepath="/tmp/evil")))


@pytest.mark.parametrize("name", ["StringLookup", "IntegerLookup", "TextVectorization"])
def test_that_a_vocabulary_kept_in_a_file_is_not_opened(refused, name):
    sentence = refused(sequential(layer(name, name="words", vocabulary="/etc/passwd")))
    assert "'words' would read the file '/etc/passwd'" in sentence


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "mkdir"),
        ("subprocess", "Popen"),
        ("keras.utils", "FeatureSpace"),
        ("keras.models", "load_model"),
        ("keras.saving", "load_model"),
        ("keras.activations", "relu"),
        ("keras_hub.models", "Backbone"),
        ("tensorflow", "Module"),
    ],
)
def test_that_classes_from_elsewhere_are_refused(refused, module, name):
    assert f"'{module}.{name}' (layer 'odd')" in refused(sequential(layer(name, module=module)))


def test_that_a_class_of_keras_may_not_go_by_another_registered_name(refused):
    sly = dense() | {"registered_name": "keras.layers>TFSMLayer"}
    assert "readers differ" in refused(sequential(sly))


def test_that_a_class_of_the_users_may_not_stand_in_for_a_function_of_keras(refused, tmp_path):
    custom = tmp_path / "mine.py"
    custom.write_text("def set_floatx(x): ...\n")
    sly = layer("set_floatx", module="keras.config")
    assert "'keras.config.set_floatx'" in refused(sequential(sly), custom=custom)


def test_that_a_custom_file_is_not_run_by_the_reader(read, tmp_path):
    custom = tmp_path / "mine.py"
    custom.write_text(f"open({str(tmp_path / 'marker')!r}, 'w')\nimport keras\nclass Mine(keras.layers.Layer): ...\n")
    config = sequential(layer("Mine", module="mine"))
    assert read(keras_file(tmp_path / "m.keras", config), custom).custom == str(custom)
    assert not (tmp_path / "marker").exists()


@pytest.fixture
def offering(tmp_path):
    custom = tmp_path / "mine.py"
    custom.write_text(OFFERING)
    return custom


OF_ITS_OWN = (
    "makedirs Tidy Another remove Program Plain Runner helper swish2 os register "
    "Meta Unhashable Raising Proxy proxy mkdir make __getattr__ Scale.helper mine.os"
).split()


@pytest.mark.parametrize("name", OF_ITS_OWN)
def test_that_a_model_may_not_name_as_a_class_what_a_custom_file_has_for_itself(refused, offering, name):
    sentence = refused(sequential(layer(name, module=None)), custom=offering)
    assert f"'{name}' (layer 'odd')" in sentence


@pytest.mark.parametrize("name", ["makedirs", "Tidy", "remove", "helper", "Scale"])
def test_that_a_lambda_may_not_call_what_a_custom_file_has_for_itself(refused, offering, name):
    sentence = refused(sequential(layer("Lambda", function=function(name, "mine"))), custom=offering)
    assert f"would call 'mine.{name}'" in sentence
    assert ("custom_objects" in sentence) == (name != "Scale")


@pytest.mark.parametrize("name", ["Scale", "Twice", "Shift", "Other", "Late", "listed"])
def test_that_a_model_may_name_what_a_custom_file_defines_for_it(read, offering, tmp_path, name):
    read(keras_file(tmp_path / "m.keras", sequential(layer(name, module="mine"))), offering)


def test_that_no_module_is_imported_for_a_name_that_a_custom_file_turns_out_not_to_have(read, tmp_path):
    custom = tmp_path / "mine.py"
    custom.write_text("import keras\nif not keras:\n    class makedirs(keras.layers.Layer): ...\n")
    named = layer("makedirs", module="os")
    checked = read(keras_file(tmp_path / "m.keras", sequential(named)), custom)
    assert [each["module"] for each in checked.config["config"]["layers"]] == ["keras.layers", None]


@pytest.mark.parametrize("name", ["swish2", "listed"])
def test_that_a_lambda_may_call_what_a_custom_file_registers_or_lists(read, offering, tmp_path, name):
    read(keras_file(tmp_path / "m.keras", sequential(layer("Lambda", function=function(name, "mine")))), offering)


def test_that_a_custom_class_may_not_go_by_the_registered_name_of_something_private(refused, offering):
    sly = layer("Scale", module="mine") | {"registered_name": "os>makedirs"}
    assert "readers differ" in refused(sequential(sly), custom=offering)


def test_that_a_custom_file_of_aliases_in_a_circle_is_looked_at_in_no_time(read, tmp_path):
    custom = tmp_path / "mine.py"
    custom.write_text("a = b.x\nb = a.y\n" + "".join(f"class C{n}(a.z): ...\n" for n in range(3000)))
    with pytest.raises(ModelError):
        read(keras_file(tmp_path / "m.keras", sequential(layer("Nothing", module=None))), custom)
