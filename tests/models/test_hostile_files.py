"""The reader refuses what could run, mislead or exhaust, with a sentence that says where it is."""

import json
import os
import stat
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import HERE
from hostile import (
    bytecode,
    dense,
    function,
    input_layer,
    keras_file,
    layer,
    sequential,
    weights_file,
)

from planner_app.core.model import CheckedModel
from planner_app.errors import ModelError, PlannerError
from planner_app.jobs.job import run
from planner_app.jobs.protocol import Inspect, Limits
from planner_app.worker.inspect import archive, hdf5, sense, source, text


@pytest.fixture
def refused(read, tmp_path):
    """Writes a .keras file and returns the sentence it is refused with."""

    def sentence(config, members=None, weights=None, custom=None) -> str:
        with pytest.raises(ModelError) as caught:
            read(keras_file(tmp_path / "model.keras", config, members, weights), custom)
        assert str(caught.value).startswith("'model.keras' can't be opened: ")
        return str(caught.value)

    return sentence


# Code


def test_that_a_lambda_with_code_is_refused_and_the_sentence_says_why(refused):
    sentence = refused(sequential(layer("Lambda", name="trick", function=bytecode())))
    assert "'trick' is a Lambda" in sentence
    assert "Python code" in sentence
    assert "--custom" in sentence


def test_that_a_lambda_in_a_nested_model_is_refused(refused):
    inner = sequential(layer("Lambda", name="deep", function=bytecode()), name="inner")
    assert "'deep'" in refused(sequential(inner))


def test_that_code_is_refused_wherever_it_stands(refused):
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
    custom.write_text(f"open({str(tmp_path / 'marker')!r}, 'w')\nclass Mine: ...\n")
    config = sequential(layer("Mine", module="mine"))
    assert read(keras_file(tmp_path / "m.keras", config), custom).custom == str(custom)
    assert not (tmp_path / "marker").exists()


# Archives


def test_that_a_file_that_is_no_archive_is_refused(read, tmp_path):
    (tmp_path / "model.keras").write_bytes(b"not a zip at all, but long enough to look at")
    with pytest.raises(ModelError, match="none of the kinds of file"):
        read(tmp_path / "model.keras")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.99])
def test_that_an_archive_cut_short_is_refused(read, tmp_path, part):
    whole = keras_file(tmp_path / "whole.keras", sequential(dense())).read_bytes()
    (tmp_path / "cut.keras").write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(ModelError, match=r"'cut.keras' can't be opened: .*damaged"):
        read(tmp_path / "cut.keras")


def test_that_an_archive_without_a_configuration_is_refused(read, tmp_path):
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as file:
        file.writestr("photo.txt", "hello")
    with pytest.raises(ModelError, match=r"holds no 'config.json'"):
        read(tmp_path / "m.keras")


def test_that_a_zip_bomb_is_refused_before_it_is_unpacked(read, tmp_path):
    with zipfile.ZipFile(tmp_path / "m.keras", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("config.json", b" " * (30 << 20))
    with pytest.raises(ModelError, match="zip bomb"):
        read(tmp_path / "m.keras")


def test_that_a_bomb_in_a_member_nobody_reads_is_refused_too(read, tmp_path):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("assets/big", b"\0" * (30 << 20))
    with pytest.raises(ModelError, match="'assets/big' would unpack to"):
        read(path)


def test_that_a_member_larger_than_it_says_is_refused(read, tmp_path, monkeypatch):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    monkeypatch.setattr(archive, "MAX_JSON_BYTES", 100)
    with pytest.raises(ModelError, match=r"'config.json' in it is larger"):
        read(path)


def test_that_a_member_that_stands_twice_is_refused(read, tmp_path):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("config.json", "{}")
    with pytest.raises(ModelError, match=r"'config.json' twice"):
        read(path)


@pytest.mark.parametrize("name", ["../up", "/etc/cron.d/x", "assets/../../up", "C:/windows", "back\\slash"])
def test_that_a_member_that_would_land_elsewhere_is_refused(refused, name):
    assert "outside its folder" in refused(sequential(dense()), {name: b"x"})


def test_that_a_member_that_is_a_symbolic_link_is_refused(read, tmp_path):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    link = zipfile.ZipInfo("assets/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(link, "/etc/passwd")
    with pytest.raises(ModelError, match="symbolic link"):
        read(path)


def test_that_an_encrypted_member_is_refused(read, tmp_path):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 8] |= 1  # general purpose flag, bit 0
    path.write_bytes(data)
    with pytest.raises(ModelError, match="encrypted"):
        read(path)


def test_that_too_many_members_are_refused(refused, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 5)
    assert "members" in refused(sequential(dense()), {f"assets/{n}": b"x" for n in range(5)})


def test_that_a_list_of_members_longer_than_any_models_is_refused_before_it_is_read(read, tmp_path, monkeypatch):
    path = keras_file(tmp_path / "m.keras", sequential(dense()), {f"assets/{n}": b"x" for n in range(50)})
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 1000)
    with pytest.raises(ModelError, match=r"list of members has [0-9,]* bytes"):
        read(path)


def test_that_an_archive_within_an_archive_stays_closed(read, tmp_path):
    inner = keras_file(tmp_path / "inner.keras", sequential(layer("Lambda", function=bytecode()))).read_bytes()
    path = keras_file(tmp_path / "m.keras", sequential(dense()), {"assets/inner.zip": inner, "inner.keras": inner})
    assert read(path).name == "model"


# JSON


def test_that_a_configuration_that_is_no_json_is_refused(refused):
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


def test_that_a_key_that_stands_twice_is_refused(refused):
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
    assert "is no text" in refused(b'{"class_name": "\xff\xfe\xfa"}')


def test_that_half_a_character_is_refused(refused):
    assert "no valid Unicode" in refused(json.dumps(sequential(dense())).replace('"dense"', '"\\ud800"', 1))


def test_that_a_configuration_that_is_too_large_is_refused(refused, monkeypatch):
    monkeypatch.setattr(text, "MAX_JSON_BYTES", 100)
    assert "larger than" in refused(sequential(dense()))


def test_that_a_configuration_of_too_many_values_is_refused(refused, monkeypatch):
    monkeypatch.setattr(text, "MAX_VALUES", 10)
    assert "holds more than 10 values" in refused(sequential(dense()))


# HDF5


def external(file):
    file.create_dataset("layers/dense/vars/0", (4, 2), "float32", external=[("/etc/passwd", 0, 32)])


def virtual(file):
    layout = h5py.VirtualLayout((4, 2), "float32")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (4, 2), "float32")
    file.create_virtual_dataset("layers/dense/vars/0", layout)


def bomb(file):
    file.create_dataset("layers/dense/vars/0", (2**20, 2**18), "float32", chunks=(1024, 1024))


def external_link(file):
    file["layers"] = h5py.ExternalLink("/etc/passwd", "/")


def soft_link(file):
    file["layers/dense/vars/0"] = h5py.SoftLink("/elsewhere")


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (external, "'layers/dense/vars/0' is kept in another file"),
        (virtual, "'layers/dense/vars/0' is put together"),
        (bomb, "looks like a bomb"),
        (external_link, "leads elsewhere"),
        (soft_link, "leads elsewhere"),
    ],
)
def test_that_weights_that_lie_elsewhere_or_nowhere_are_refused(refused, write, said):
    assert said in refused(sequential(dense()), weights=weights_file(write))


def test_that_hdf5_groups_that_form_a_circle_end(read, tmp_path):
    def circle(file):
        group = file.create_group("layers/dense")
        group["again"] = file["layers"]
        group.create_dataset("vars/0", data=np.zeros((4, 2), "float32"))

    model = read(keras_file(tmp_path / "m.keras", sequential(dense()), weights=weights_file(circle)))
    assert [w.path for w in model.weights if "again" not in w.path] == ["layers/dense/vars/0"]


def test_that_too_many_hdf5_objects_are_refused(refused, monkeypatch):
    monkeypatch.setattr(hdf5, "MAX_OBJECTS", 3)

    def many(file):
        for n in range(5):
            file.create_group(f"layers/{n}")

    assert "objects" in refused(sequential(dense()), weights=weights_file(many))


def test_that_damaged_hdf5_is_refused(refused):
    def plain(file):
        file["layers/dense/vars/0"] = np.zeros((4, 2), "float32")

    data = weights_file(plain)
    assert "HDF5 data is damaged" in refused(sequential(dense()), weights=data[:600])
    assert "HDF5 data is damaged" in refused(sequential(dense()), weights=b"nothing of the kind" * 10)


def test_that_a_file_that_hangs_libhdf5_is_given_up():
    """Found by mutation: the library loops for ever and holds the interpreter's lock. Later versions may refuse it."""
    limits = Limits(memory_bytes=1 << 30, seconds=30, silence_seconds=2)
    with pytest.raises(PlannerError):
        run(Inspect(path=str(HERE / "corpus" / "hangs_libhdf5.h5")), CheckedModel, limits)


def test_that_pickled_weights_are_never_opened(read, tmp_path):
    path = keras_file(tmp_path / "m.keras", sequential(dense()), {"model.weights.npz": b"\x80\x04pickle"})
    assert "no weights" in read(path).warnings[0]


# Sense


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


def test_that_an_output_that_is_no_layer_is_refused(refused):
    config = {"name": "m", "layers": [input_layer()], "input_layers": [["x", 0, 0]], "output_layers": [["y", 0, 0]]}
    model = {"module": "keras.src.models.functional", "class_name": "Functional", "config": config}
    assert "output_layers of 'm' name 'y'" in refused(model)


def test_that_what_was_saved_for_training_can_not_steer_a_terminal(read, tmp_path):
    config = sequential(dense()) | {"compile_config": {"\x1b[31m" + "x" * 5000: layer("Evil", module="os")}}
    (said,) = [each for each in read(keras_file(tmp_path / "m.keras", config)).warnings if "left out" in each]
    assert said.startswith("The saved \ufffd[31mxxx")
    assert len(said) < 150


def test_that_a_version_that_is_no_text_is_not_told(read, tmp_path):
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
    second = layer("Mixer", module="lab.layers", name="mixer")
    sentence = refused(sequential(first, second))
    assert "'Attend' (layer 'attend_1'), 'lab.layers.Mixer' (layer 'mixer')" in sentence
    assert "--custom file.py" in sentence


def test_that_what_a_reader_may_take_is_bounded_by_the_kernel_too(tmp_path):
    path = keras_file(tmp_path / "wide.keras", sequential(dense(note=[f"word {n}" for n in range(900_000)])))
    limits = Limits(memory_bytes=8 << 30, seconds=120, data_bytes=100 << 20)
    with pytest.raises(ModelError, match="too large or too deep to be read safely"):
        run(Inspect(path=str(path)), CheckedModel, limits)
    assert Inspect.limits.data_bytes is not None


# The file itself


def test_that_a_pipe_is_refused_without_waiting(read, tmp_path):
    os.mkfifo(tmp_path / "pipe.keras")
    with pytest.raises(ModelError, match="no regular file"):
        read(tmp_path / "pipe.keras")


def test_that_a_device_is_refused(read):
    with pytest.raises(ModelError, match="no regular file"):
        read("/dev/zero")


@pytest.mark.parametrize("make", ["dangling", "loop"])
def test_that_a_link_that_leads_nowhere_is_refused(read, tmp_path, make):
    link = tmp_path / "link.keras"
    link.symlink_to(link if make == "loop" else tmp_path / "gone")
    with pytest.raises(ModelError, match=r"'link.keras' can't be opened"):
        read(link)


def test_that_a_file_that_may_not_be_read_is_refused(read):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders may only be entered by whoever runs it
        Path(folder).chmod(0o755)
        path = keras_file(Path(folder, "secret.keras"), sequential(dense()))
        path.chmod(0)
        assert "it may not be read. Give yourself read permission" in as_nobody(lambda: read(path))


def as_nobody(call) -> str:
    """What a call raises in a process that has given up root, which reads everything."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setuid(65534)
            call()
        except BaseException as error:
            os.write(theirs, str(error).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
        said = file.read()
    os.wait()
    return said


def test_that_an_empty_file_is_refused(read, tmp_path):
    (tmp_path / "empty.keras").touch()
    with pytest.raises(ModelError, match="is empty"):
        read(tmp_path / "empty.keras")


def test_that_a_file_that_changes_while_it_is_read_is_refused(read, tmp_path, monkeypatch):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    hashed = source.sha256

    def meanwhile(opened, *rest):
        with path.open("ab") as file:
            file.write(b"more")
        return hashed(opened, *rest)

    monkeypatch.setattr("planner_app.worker.inspect.reader.sha256", meanwhile)
    with pytest.raises(ModelError, match="changed while it was being read"):
        read(path)


def test_that_a_folder_that_is_no_savedmodel_is_refused_before_it_is_searched(read, tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "link").symlink_to("/")
    with pytest.raises(ModelError, match="it is no SavedModel"):
        read(photos)


def test_that_a_graph_alone_is_refused_and_not_run(read, tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"graph")
    with pytest.raises(ModelError, match="a graph is a program, which is not run"):
        read(tmp_path)


@pytest.mark.parametrize("data", [b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", b"\xff" * 20, b"", b"\x0a\x02\x1a\x05"])
def test_that_damaged_metadata_of_a_savedmodel_is_refused(read, tmp_path, data):
    (tmp_path / "saved_model.pb").write_bytes(b"graph")
    (tmp_path / "keras_metadata.pb").write_bytes(data)
    with pytest.raises(ModelError, match="can't be opened"):
        read(tmp_path)


def test_that_a_link_in_a_savedmodel_folder_is_refused(read, tmp_path):
    (tmp_path / "saved_model.pb").symlink_to("/etc/passwd")
    (tmp_path / "keras_metadata.pb").write_bytes(b"metadata")
    with pytest.raises(ModelError, match="symbolic link"):
        read(tmp_path)
