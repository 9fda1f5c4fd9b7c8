"""HDF5 files that are sound, of every type that HDF5 has: as weights, as attributes, one within the other."""

import io
import json
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5s, h5t

from fuzz_targets.common import corpus, written
from fuzz_targets.model_file import outcome

KIND = "model files"
CONFIG = json.dumps(json.loads(corpus("models/functional.json")[0])).encode()
PLAIN = (h5t.IEEE_F32LE, h5t.IEEE_F64BE, h5t.IEEE_F16LE, h5t.STD_I8LE, h5t.STD_U64BE, h5t.STD_B16LE, h5t.NATIVE_LDOUBLE)
TAGS = (
    b"",
    b"NUMPY:|O",
    b"NUMPY:O",
    b"NUMPY:<M8[ns]",
    b"NUMPY:[('a', '|O')]",
    b"NUMPY:|V8",
    b"numpy:|O",
    b"\xff" * 200,
)
NAMES = (b"dtype", b"model_config", b"training_config", b"keras_version", b"backend", b"layer_names", b"x")
SHAPES: tuple[tuple[int, ...] | None, ...] = ((), (1,), (2, 3), (0,), (1, 1), None)
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("models/functional.h5")


def run(data: bytes) -> str:
    return outcome(written(data, "model.h5"))


def mutate(_data: bytes, random: Random, _others: Sequence[bytes] = ()) -> bytes:
    """A file of its own: what HDF5 itself finds nothing wrong with."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        if random.random() < 0.8:
            file.attrs["model_config"] = CONFIG if random.random() < 0.9 else CONFIG.decode()
        for _ in range(random.randrange(3)):
            _attribute(file.id, random.choice(NAMES), random)
        group = file.create_group("model_weights/dense/vars")
        for number in range(random.randrange(1, 4)):
            with suppress(OSError, ValueError):  # HDF5 itself would not make it
                item = h5d.create(group.id, str(number).encode(), _kind(random), _space(random))
                _attribute(item, random.choice(NAMES), random)
        if random.random() < 0.1:
            file["model_weights/named"] = np.dtype("f4")
    return buffer.getvalue()


def _attribute(item: Any, name: bytes, random: Random) -> None:
    with suppress(OSError, ValueError):
        h5a.create(item, name, _kind(random), _space(random))


def _space(random: Random) -> h5s.SpaceID:
    shape = random.choice(SHAPES)
    if shape is None:
        return h5s.create(h5s.NULL)
    return h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)


def _kind(random: Random, depth: int = 0) -> h5t.TypeID:
    match random.randrange(4 if depth > 2 else 9):
        case 0 | 1:
            return random.choice(PLAIN)
        case 2:
            kind = h5t.create(h5t.OPAQUE, random.choice((1, 2, 8, 16, 4096)))
            kind.set_tag(random.choice(TAGS))
            return kind
        case 3:
            return random.choice((h5t.STD_REF_OBJ, h5t.STD_REF_DSETREG, h5t.UNIX_D32LE))
        case 4:
            return h5t.vlen_create(_kind(random, depth + 1))
        case 5:
            return h5t.array_create(_kind(random, depth + 1), random.choice(((2,), (1, 1), (100, 100))))
        case 6:
            members = [
                (name, _kind(random, depth + 1)) for name in random.choice(((b"r", b"i"), (b"a",), (b"r", b"x")))
            ]
            kind = h5t.create(h5t.COMPOUND, sum(member.get_size() for _, member in members))
            at = 0
            for name, member in members:
                kind.insert(name, at, member)
                at += member.get_size()
            return kind
        case 7:
            kind = h5t.enum_create(h5t.STD_I8LE)
            for value, name in enumerate(random.choice(((b"FALSE", b"TRUE"), (b"A",), (b"TRUE", b"FALSE", b"C")))):
                kind.enum_insert(name, value)
            return kind
    kind = h5t.C_S1.copy()
    kind.set_size(random.choice((1, 8, 4000, h5t.VARIABLE)))
    return kind
