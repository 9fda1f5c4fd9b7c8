"""The reader refuses archives that mislead or exhaust, before it unpacks them."""

import stat
import zipfile

import pytest
from hostile import (
    bytecode,
    dense,
    keras_file,
    layer,
    sequential,
)

from planner_app.errors import ModelError
from planner_app.worker.inspect import archive


def test_that_a_file_that_is_not_an_archive_is_refused(read, tmp_path):
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


def test_that_a_bomb_in_an_unread_member_is_refused_too(read, tmp_path):
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


def test_that_a_duplicate_member_is_refused(read, tmp_path):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("config.json", "{}")
    with pytest.raises(ModelError, match=r"'config.json' twice"):
        read(path)


@pytest.mark.parametrize("name", ["./config.json", "config.json\0", "metadata.json/"])
def test_that_a_member_that_unpacks_to_the_same_place_as_another_is_refused(read, tmp_path, name):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    info = zipfile.ZipInfo("x")
    info.filename = name  # as it stands: Python would cut it at the zero
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(info, "{}")
    with pytest.raises(ModelError, match=r"' twice, and readers differ"):
        read(path)


def test_that_a_member_that_is_shorter_than_the_archive_says_is_refused(read, tmp_path):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = (1 << 20).to_bytes(4, "little")  # of config.json, when unpacked
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"'config.json' in it is not as long as the archive says"):
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


@pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_that_a_member_that_is_not_a_file_is_refused(read, tmp_path, kind):
    path = keras_file(tmp_path / "m.keras", sequential(dense()))
    info = zipfile.ZipInfo("assets/odd")
    info.external_attr = (kind | 0o666) << 16
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(info, "")
    with pytest.raises(ModelError, match="a pipe or a device"):
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
