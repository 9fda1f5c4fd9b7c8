"""The reader refuses special files, files that change while being read, and folders without a model."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hostile import (
    dense,
    keras_file,
    sequential,
)

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError
from planner_app.jobs.job import Job, result_of
from planner_app.jobs.launch import worker_command
from planner_app.jobs.protocol import Inspect
from planner_app.worker.inspect import reader, source
from planner_app.worker.inspect.refusal import Refused


def test_that_a_pipe_is_refused_without_waiting(read, tmp_path):
    os.mkfifo(tmp_path / "pipe.keras")
    with pytest.raises(ModelError, match="not a regular file"):
        read(tmp_path / "pipe.keras")


def test_that_a_device_is_refused(read):
    with pytest.raises(ModelError, match="not a regular file"):
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


def test_that_a_folder_that_is_not_a_savedmodel_is_refused_before_it_is_searched(read, tmp_path):
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


def savedmodel(folder: Path, name: str) -> bytes:
    """A SavedModel folder of Keras 2 with a model of that name; gives its metadata."""
    config = {"name": name, "layers": [{"class_name": "Dense", "config": {"name": "d", "units": 2}}]}
    said = json.dumps({"class_name": "Sequential", "config": config}).encode()
    node = b"\x1a\x04root\x2a" + bytes([len(said) & 0x7F | 0x80, len(said) >> 7]) + said
    metadata = b"\x0a" + bytes([len(node) & 0x7F | 0x80, len(node) >> 7]) + node
    folder.mkdir(exist_ok=True)
    (folder / "saved_model.pb").write_bytes(b"graph")
    (folder / "keras_metadata.pb").write_bytes(metadata)
    return metadata


@pytest.mark.parametrize("swap", ["file", "link"])
def test_that_what_is_read_of_a_savedmodel_folder_is_what_its_hash_is_of(read, tmp_path, monkeypatch, swap):
    savedmodel(tmp_path / "model", "first")
    savedmodel(tmp_path / "other", "second")
    alone = read(tmp_path / "model").sha256
    parse = reader.savedmodel.read_metadata

    def swapped(*given):
        found = parse(*given)
        named = tmp_path / "model" / "keras_metadata.pb"
        named.unlink()
        if swap == "link":
            named.symlink_to(tmp_path / "other" / "keras_metadata.pb")
        else:
            (tmp_path / "other" / "keras_metadata.pb").rename(named)
        return found

    monkeypatch.setattr(reader.savedmodel, "read_metadata", swapped)
    try:
        found = read(tmp_path / "model")
    except ModelError as error:
        assert "changed while it was being read" in str(error)
    else:
        assert (found.name, found.sha256) == ("first", alone)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_that_metadata_of_a_savedmodel_that_is_not_a_file_is_refused_without_waiting(read, tmp_path, make):
    savedmodel(tmp_path / "model", "first")
    (tmp_path / "model" / "keras_metadata.pb").unlink()
    make(tmp_path / "model" / "keras_metadata.pb")
    with pytest.raises(ModelError, match=r"can't be opened"):
        read(tmp_path / "model")


def test_that_a_file_that_is_swapped_once_it_was_named_is_not_read(tmp_path):
    """What a worker reads is what was there when it was asked: it gets the file open, not its name."""
    path = keras_file(tmp_path / "model.keras", sequential(dense(), name="asked_for"))
    other = keras_file(tmp_path / "other.keras", sequential(dense(), name="put_there"))
    swap = ["sh", "-c", 'mv "$1" "$2"; shift 2; exec "$@"', "sh", str(other), str(path), *worker_command()]
    model = result_of(Job(Inspect(path=str(path)), command=swap), CheckedModel)
    assert not other.exists()
    assert model.name == "asked_for"


def test_that_a_file_that_is_written_to_meanwhile_is_refused_even_if_its_time_is_set_back(tmp_path):
    path = keras_file(tmp_path / "model.keras", sequential(dense()))
    before = path.stat()
    opened = source.open_source(path)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(Refused, match="changed while it was being read"):
        opened.check_unchanged()
    opened.close()
