"""What kind of file a user hands over, by its first and last bytes: a model, a plan, code, results, or a log.

Nothing is parsed here: what follows reads the file carefully, or refuses it.
"""

from enum import StrEnum
from pathlib import Path

HEAD_BYTES, TAIL_BYTES = 1 << 16, 1 << 20
MODEL_SUFFIXES = (".keras", ".h5", ".hdf5", ".hd5", ".pb")
SAVED_MODEL = ("saved_model.pb", "keras_metadata.pb")
HDF5, ZIP = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04"
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, bzip2, xz, Zstandard: packed logs
# Never in text. Left out: zeros, which a crash leaves in a log, and what progress bars move the cursor with.
CONTROL = bytes({*range(1, 32)} - set(b"\b\t\n\v\f\r\x1b"))
MOST_CONTROL = 0.05  # of a log; pictures and programs have 9 in 100


class Kind(StrEnum):
    MODEL = "model"
    PLAN = "plan"
    RUN = "results of a run"
    PYTHON = "python"
    LOG = "log"


def kind_of(path: str) -> Kind:
    """A file that can't be read is a model: opening it says why."""
    name = path.lower()
    if name.endswith(".plan.json"):
        return Kind.PLAN
    if name.endswith("run.json") and not name.endswith(".run.json"):
        return Kind.RUN
    if name.endswith(".py") or name.rpartition(":")[0].endswith(".py"):
        return Kind.PYTHON
    file = Path(path)
    try:
        if file.is_dir() or name.endswith(MODEL_SUFFIXES):
            return Kind.MODEL
        if file.is_file():
            return _by_content(file)
        return Kind.LOG if file.exists() else Kind.MODEL  # a pipe's content can't be looked at twice
    except OSError:
        return Kind.MODEL


def _by_content(file: Path) -> Kind:
    with file.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
        if head.startswith(HDF5):
            return Kind.MODEL
        if head.startswith(ZIP):  # a model's archive lists its configuration at the end
            stream.seek(max(0, file.stat().st_size - TAIL_BYTES))
            tail = stream.read(TAIL_BYTES)
            return Kind.MODEL if b"config.json" in tail and b"metadata.json" in tail else Kind.LOG
    if _is_neither(head):
        return Kind.MODEL
    if head.lstrip()[:1] != b"{" or file.suffix == ".ipynb":
        return Kind.LOG
    if b'"schema_version"' in head and b'"global_batch"' in head:
        return Kind.PLAN
    return Kind.MODEL if b'"class_name"' in head else Kind.LOG


def _is_neither(head: bytes) -> bool:
    """A picture, say: the reader of models refuses it, while any file can be read as a log."""
    if head.startswith(PACKED) or b"brain.Event:" in head or head[257:262] == b"ustar":
        return False
    return len(head) - len(head.translate(None, CONTROL)) > MOST_CONTROL * len(head)
