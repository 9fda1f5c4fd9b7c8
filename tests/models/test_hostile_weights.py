"""The reader refuses weights that lie elsewhere, nowhere, or never end."""

import h5py
import numpy as np
import pytest
from conftest import HERE
from hostile import (
    dense,
    keras_file,
    sequential,
    weights_file,
)

from planner_app.core.model.description import CheckedModel
from planner_app.errors import PlannerError
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
