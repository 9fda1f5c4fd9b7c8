"""The reader refuses weights that lie elsewhere, nowhere, or never end."""

import json

import h5py
import numpy as np
import pytest
from h5py import h5a, h5d, h5s, h5t
from hostile import (
    dense,
    keras_file,
    sequential,
    weights_file,
)
from scripts import HERE

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError, PlannerError
from planner_app.jobs.job import run
from planner_app.jobs.protocol import Inspect, Limits
from planner_app.worker.inspect import hdf5


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


# Types that h5py would turn into something else than numbers, as datasets and as attributes. An opaque type tagged for
# NumPy objects makes h5py 3.14 hand out the file's bytes as pointers: reading one ends in a segmentation fault.
def opaque(tag, size=8):
    kind = h5t.create(h5t.OPAQUE, size)
    kind.set_tag(tag)
    return kind


def compound(*members):
    kind = h5t.create(h5t.COMPOUND, sum(member.get_size() for _, member in members))
    at = 0
    for name, member in members:
        kind.insert(name, at, member)
        at += member.get_size()
    return kind


def enumeration(**members):
    kind = h5t.enum_create(h5t.STD_I8LE)
    for name, value in members.items():
        kind.enum_insert(name.encode(), value)
    return kind


ODD_TYPES = {
    "objects": opaque(b"NUMPY:|O"),
    "objects in a list": opaque(b"NUMPY:[('a', '|O')]"),
    "many objects": opaque(b"NUMPY:|O", 64),
    "dates": opaque(b"NUMPY:<M8[s]"),
    "any tag": opaque(b"x", 2),
    "large": opaque(b"", 4096),
    "reference": h5t.STD_REF_OBJ,
    "region": h5t.STD_REF_DSETREG,
    "vlen": h5t.vlen_create(h5t.STD_I8LE),
    "vlen of vlen": h5t.vlen_create(h5t.vlen_create(h5t.IEEE_F32LE)),
    "vlen of objects": h5t.vlen_create(opaque(b"NUMPY:|O")),
    "vlen of texts": h5t.vlen_create(h5t.py_create(h5py.string_dtype(), logical=True)),
    "array": h5t.array_create(h5t.IEEE_F32LE, (4,)),
    "array of objects": h5t.array_create(opaque(b"NUMPY:|O"), (4,)),
    "compound": compound((b"a", h5t.STD_I8LE), (b"b", h5t.IEEE_F32LE)),
    "compound of an object": compound((b"r", opaque(b"NUMPY:|O")), (b"i", opaque(b"NUMPY:|O"))),
    "compound of references": compound((b"r", h5t.STD_REF_OBJ), (b"i", h5t.STD_REF_OBJ)),
    "enumeration": enumeration(FALSE=0, TRUE=7),
    "long enumeration": enumeration(A=0, B=1, C=2),
    "bits": h5t.STD_B64LE,
    "time": h5t.UNIX_D32LE,
    "extended float": h5t.NATIVE_LDOUBLE,
}


def odd_attribute(item, name, kind, shape=()):
    space = h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)
    h5a.create(item.id, name, kind, space)


@pytest.mark.parametrize("odd", ODD_TYPES)
def test_that_a_weight_must_be_of_numbers(refused, odd):
    def write(file):
        space = h5s.create_simple((4, 2))
        h5d.create(file.create_group("layers/dense/vars").id, b"0", ODD_TYPES[odd], space)

    assert "'layers/dense/vars/0' is " in refused(sequential(dense()), weights=weights_file(write))


@pytest.mark.parametrize("odd", ODD_TYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_that_a_weights_dtype_must_be_a_text(refused, odd, shape):
    def write(file):
        file["layers/dense/vars/0"] = np.zeros((4, 2), "float32")
        odd_attribute(file["layers/dense/vars/0"], b"dtype", ODD_TYPES[odd], shape)

    assert "attribute 'dtype' is " in refused(sequential(dense()), weights=weights_file(write))


@pytest.mark.parametrize("odd", ODD_TYPES)
@pytest.mark.parametrize("name", ["model_config", "training_config", "keras_version"])
def test_that_what_an_hdf5_file_says_of_its_model_must_be_text(read, tmp_path, odd, name):
    with h5py.File(tmp_path / "model.h5", "w") as file:
        if name != "model_config":
            file.attrs["model_config"] = json.dumps(sequential(dense()))
        odd_attribute(file, name.encode(), ODD_TYPES[odd])
    with pytest.raises(ModelError, match=f"attribute '{name}' is .*, expected text"):
        read(tmp_path / "model.h5")


@pytest.mark.parametrize(
    "version", ["\u00b3.\u00b2", "9" * 64, "\u0669.\u0663", "..", "-1.5", "3.15.1\x1b[31m", "\u202e3.15"]
)
def test_that_any_version_is_read_or_left_out(read, tmp_path, version):
    with h5py.File(tmp_path / "model.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(sequential(dense()))
        file.attrs["keras_version"] = version
    assert read(tmp_path / "model.h5").keras_version in (version, None)


@pytest.mark.parametrize("text", [b"\x1b[31m", b"float32 ", b"", b"Float32", b"a" * 33])
def test_that_a_dtype_must_read_like_one(refused, text):
    def write(file):
        file["layers/dense/vars/0"] = np.zeros((4, 2), "float32")
        file["layers/dense/vars/0"].attrs["dtype"] = np.bytes_(text) if text else h5py.Empty("S4")

    assert "dtype" in refused(sequential(dense()), weights=weights_file(write))


def test_that_a_named_type_among_the_weights_is_refused(refused):
    def write(file):
        file["layers/dense"] = np.dtype("float32")

    assert "neither a group nor a weight" in refused(sequential(dense()), weights=weights_file(write))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "uint32", "float16", "float32", "float64", "complex64", "S4"]
)
def test_that_the_dtypes_of_keras_are_told_from_their_types(read, tmp_path, dtype):
    def write(file):
        file["layers/dense/vars/0"] = np.zeros((4, 2), dtype)

    model = read(keras_file(tmp_path / "m.keras", sequential(dense()), weights=weights_file(write)))
    assert model.weights[0].dtype == ("string" if dtype == "S4" else dtype)


def test_that_bfloat16_is_told_from_what_keras_says_of_it(read, tmp_path):
    def write(file):
        file["layers/dense/vars/0"] = np.zeros((4, 2), "V2")
        file["layers/dense/vars/0"].attrs["dtype"] = "bfloat16"

    model = read(keras_file(tmp_path / "m.keras", sequential(dense()), weights=weights_file(write)))
    assert model.weights[0].dtype == "bfloat16"
