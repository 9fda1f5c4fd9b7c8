"""HDF5 files: attributes and the shapes of datasets, never their values, and nothing that leads out of the file.

libhdf5 can hang for ever on a damaged file, holding the interpreter's lock: this runs only in a
child that can be killed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import h5py
from h5py import h5d, h5g, h5l, h5o

from planner_app.core.model.description import WeightShape
from planner_app.foreign_text import is_plain
from planner_app.worker.inspect import hdf5_values
from planner_app.worker.inspect.hdf5_values import dtype_of
from planner_app.worker.inspect.refusal import Refused
from planner_app.worker.inspect.source import Window
from planner_app.worker.inspect.text import MAX_JSON_BYTES

MAGIC = b"\x89HDF\r\n\x1a\n"
MAX_OBJECTS = 500_000
MAX_DECLARED = 1000  # times what is stored; gzip reaches about that on zeros
DECLARED_FLOOR_BYTES = 64 << 10
MAX_NAME_BYTES = 1000
MAX_DIMENSION = 1 << 40
NOT_WEIGHTS = ("optimizer_weights", "optimizer")  # training state, not the model's


@contextmanager
def opened(window: Window) -> Iterator[h5py.File]:
    """The file, with every complaint of libhdf5's as a refusal."""
    try:
        with h5py.File(window, "r") as file:
            yield file
    except Refused:
        raise
    except Exception as error:  # h5py passes on whatever libhdf5 stumbles over, in a dozen classes
        lines = str(error).splitlines() or [type(error).__name__]
        raise Refused(f"the HDF5 data is damaged ({lines[0][:200]}). Save or copy the model again") from None


def text_attribute(file: h5py.File, name: str) -> bytes | None:
    """A text at the root of the file; None where there is none."""
    return hdf5_values.text_attribute(file.id, name, MAX_JSON_BYTES)


def weights(file: h5py.File) -> tuple[WeightShape, ...]:
    """Every dataset under the root, optimizer state left out."""
    root = h5g.open(file.id, b"/")
    found: list[WeightShape] = []
    seen: set[int] = set()
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        path, item = stack.pop()
        address = h5o.get_info(item).addr
        if isinstance(item, h5d.DatasetID):
            weight = WeightShape(path, _checked_shape(path, item), dtype_of(path, item))
            if path.split("/")[0] not in NOT_WEIGHTS:
                found.append(weight)
        elif not isinstance(item, h5g.GroupID):
            raise Refused(f"{path!r} in the HDF5 data is neither a group nor a weight. Only plain data is read")
        elif address not in seen:  # hard links can make a circle
            seen.add(address)
            children = islice(_children(item), MAX_OBJECTS + 1)
            stack += [(f"{path}/{name}" if path else name, child) for name, child in reversed(list(children))]
        if len(seen) + len(found) + len(stack) > MAX_OBJECTS:
            raise Refused(f"the HDF5 data holds more than {MAX_OBJECTS:,} objects, which no model needs")
    return tuple(found)


def _children(group: Any) -> Iterator[tuple[str, Any]]:
    for name in group:
        shown = name.decode("utf-8", "replace")
        if not is_plain(shown) or len(name) > MAX_NAME_BYTES:
            raise Refused(f"the HDF5 name {shown[:80]!r} is not readable text. Save the model again")
        if group.links.get_info(name).type != h5l.TYPE_HARD:
            raise Refused(f"the HDF5 link {shown!r} leads elsewhere, perhaps out of the file. Only plain data is read")
        yield shown, h5o.open(group, name)


def _checked_shape(path: str, dataset: Any) -> tuple[int, ...]:
    plan = dataset.get_create_plist()
    if plan.get_external_count():
        raise Refused(f"the weight {path!r} is kept in another file. Only data within the model file is read")
    if plan.get_layout() == h5d.VIRTUAL:
        raise Refused(f"the weight {path!r} is put together from other data. Only plain data is read")
    shape = tuple(int(n) for n in dataset.shape) if dataset.shape is not None else ()
    if any(n > MAX_DIMENSION for n in shape):
        raise Refused(f"the weight {path!r} has the shape {shape}, which no model's has")
    declared = dataset.get_type().get_size()
    for n in shape:
        declared *= n
    stored = dataset.get_storage_size()
    if declared > DECLARED_FLOOR_BYTES and declared > MAX_DECLARED * stored:
        raise Refused(f"the weight {path!r} declares {declared:,} bytes and stores {stored:,}: it looks like a bomb")
    return shape
