"""SavedModel folders of Keras 2: the configuration lies in `keras_metadata.pb`, beside the graph, which is not read.

The file is a protocol buffer: nodes (field 1), each with a path (3) and its metadata as JSON (5).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planner_app.worker.inspect.refusal import Refused
from planner_app.worker.inspect.source import Source
from planner_app.worker.inspect.text import MAX_JSON_BYTES, parse_object

GRAPH = "saved_model.pb"
METADATA = "keras_metadata.pb"
NODES, NODE_PATH, NODE_METADATA = 1, 3, 5
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
MAX_VARINT_BYTES = 10


def check_folder(folder: Path) -> None:
    """Whether there is anything to read, before anything is."""
    if not (folder / GRAPH).is_file():
        raise Refused(f"the folder holds no {GRAPH!r}: it is no SavedModel. Name a model file or a SavedModel folder")
    if not (folder / METADATA).is_file():
        raise Refused(
            f"the folder holds a graph and no {METADATA!r}, as model.export() of Keras 3 writes it: the layers are not "
            "in it, and a graph is a program, which is not run. Save the model with model.save('name.keras') and open "
            "that"
        )


def read_metadata(source: Source) -> dict[str, Any]:
    """The root's metadata: `class_name`, `config`, `model_config`, `training_config`, `keras_version`."""
    if source.size_bytes > MAX_JSON_BYTES:
        raise Refused(f"its {METADATA!r} is larger than {MAX_JSON_BYTES >> 20} MiB, which no model needs")
    data = source.read(source.size_bytes)
    for field, value in fields(data):
        if field == NODES and isinstance(value, bytes):
            node = dict(fields(value))
            if node.get(NODE_PATH) == b"root":
                metadata = node.get(NODE_METADATA)
                return parse_object(metadata if isinstance(metadata, bytes) else b"", METADATA)
    raise Refused(f"its {METADATA!r} has no root: the folder is damaged. Save the model again")


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer message: numbers as int, everything else as bytes."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == VARINT:
            number, position = _varint(data, position)
            yield key >> 3, number
            continue
        if kind == LENGTH:
            length, position = _varint(data, position)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise Refused(f"its {METADATA!r} is damaged. Save the model again")
        if position + length > len(data):
            raise Refused(f"its {METADATA!r} is cut short. Save or copy the model again")
        yield key >> 3, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for n in range(MAX_VARINT_BYTES):
        if position + n >= len(data):
            break
        byte = data[position + n]
        value |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            return value, position + n + 1
    raise Refused(f"its {METADATA!r} is cut short. Save or copy the model again")
