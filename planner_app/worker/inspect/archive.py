"""`.keras` files: a zip archive with `config.json`, `metadata.json` and the weights as an HDF5 file."""

import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath

from planner_app.worker.inspect.refusal import Refused
from planner_app.worker.inspect.source import Source, Window
from planner_app.worker.inspect.text import MAX_JSON_BYTES

MAX_MEMBERS = 10_000
MAX_DIRECTORY_BYTES = 8 << 20  # their list, with long names
MAX_RATIO = 200  # deflate reaches 1030 on zeros; configurations stay under 100
RATIO_FLOOR_BYTES = 1 << 20  # small members may be as regular as they like
UNREADABLE = (zipfile.BadZipFile, OSError, ValueError, NotImplementedError)  # a UnicodeDecodeError is a ValueError
READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

WEIGHTS = "model.weights.h5"
LOCAL_HEADER_BYTES = 30  # PKZIP APPNOTE 4.3.7: fixed part of a local file header
MODE_SHIFT = 16  # the upper half of external_attr holds the Unix mode


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive whose list of members has been checked."""

    source: Source
    zip: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]

    def read(self, name: str) -> bytes:
        """A small member as bytes; never more than the limit, whatever the archive declares."""
        member = self.members[name]
        if member.file_size > MAX_JSON_BYTES:
            raise Refused(f"{name!r} in it is larger than {MAX_JSON_BYTES >> 20} MiB, which no model needs")
        try:
            with self.zip.open(member) as file:
                data = file.read(MAX_JSON_BYTES + 1)
        except (*UNREADABLE, zlib.error, EOFError, RuntimeError) as error:
            raise Refused(f"{name!r} in it is damaged ({error}). Save or copy the model again") from None
        if len(data) != member.file_size:
            raise Refused(f"{name!r} in it is not as long as the archive says. Save or copy the model again")
        return data

    def window(self, name: str) -> Window | None:
        """A stored member as a window over the file; None for a compressed one."""
        member = self.members[name]
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            return None
        header = self.source.read(LOCAL_HEADER_BYTES, member.header_offset)
        if len(header) < LOCAL_HEADER_BYTES or header[:4] != b"PK\x03\x04":
            raise Refused(f"{name!r} in it is not where the archive says. Save or copy the model again")
        start = member.header_offset + LOCAL_HEADER_BYTES + int.from_bytes(header[26:28], "little")
        start += int.from_bytes(header[28:30], "little")
        if start + member.file_size > self.source.size_bytes:
            raise Refused(f"{name!r} in it reaches beyond the end of the file: it is cut short. Copy it again")
        return self.source.window(start, member.file_size)


class _Bounded(Window):
    """Python's zipfile reads the whole list of members at once, however long the archive says it is."""

    most_bytes: int = MAX_JSON_BYTES + 1

    def read(self, size: int = -1) -> bytes:
        if size > self.most_bytes:
            raise Refused(f"the archive's list of members has {size:,} bytes, far more than any model's")
        return super().read(size) or b""


def open_archive(source: Source) -> Archive:
    try:
        window = _Bounded(source, 0, source.size_bytes)
        window.most_bytes = MAX_DIRECTORY_BYTES
        opened = zipfile.ZipFile(window)
        del window.most_bytes
        infos = opened.infolist()
    except (*UNREADABLE, OverflowError) as error:
        raise Refused(f"the archive is damaged or cut short ({error}). Save or copy the model again") from None
    if len(infos) > MAX_MEMBERS:
        raise Refused(f"the archive holds {len(infos)} members, expected at most {MAX_MEMBERS}")
    members: dict[str, zipfile.ZipInfo] = {}
    places: set[str] = set()
    for info in infos:
        _check(info)
        name = str(PurePosixPath(info.filename))  # "./config.json" unpacks to "config.json"
        if name in places:
            raise Refused(f"the archive holds {name!r} twice, and readers differ on which counts")
        places.add(name)
        members[info.filename] = info
    if "config.json" not in members:
        raise Refused("the archive holds no 'config.json': it is no .keras file. Save it with model.save('name.keras')")
    return Archive(source, opened, members)


def _check(info: zipfile.ZipInfo) -> None:
    name = info.filename
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name.split("/")[0]:
        raise Refused(f"the archive's member {name!r} would land outside its folder, which no model's does")
    mode = info.external_attr >> MODE_SHIFT
    if stat.S_ISLNK(mode):
        raise Refused(f"the archive's member {name!r} is a symbolic link, which no model's is")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):  # 0: not made on Unix
        raise Refused(f"the archive's member {name!r} is a pipe or a device, which no model's is")
    if info.flag_bits & 1:
        raise Refused(f"the archive's member {name!r} is encrypted. Unpack it and pack it again without a password")
    if info.compress_type not in READABLE:
        raise Refused(f"the archive's member {name!r} is packed in an unusual way. Pack it again with deflate")
    if info.file_size > RATIO_FLOOR_BYTES and info.file_size > MAX_RATIO * info.compress_size:
        raise Refused(
            f"the archive's member {name!r} would unpack to {info.file_size:,} bytes from {info.compress_size:,}: "
            "it looks like a zip bomb"
        )
