"""The only place where anything in an HDF5 file is interpreted: every type is looked at before a value is touched.

h5py makes NumPy types out of what a file declares. An opaque type with the tag "NUMPY:|O", for one, becomes an array of
Python objects whose pointers are the file's bytes. So `.dtype`, `.attrs` and indexing are never used on a type that has
not been found to be plain here.
"""

import re
from typing import Any

import numpy as np
from h5py import h5a, h5s, h5t

from planner_app.worker.inspect.refusal import Refused

MAX_DTYPE_BYTES = 32
_DTYPE_NAME = re.compile(rb"[a-z][a-z0-9_]*")
_FLOATS = {(1, 4, 3): "float8_e4m3fn", (1, 5, 2): "float8_e5m2", (2, 5, 10): "float16", (2, 8, 7): "bfloat16"}
_FLOATS |= {(4, 8, 23): "float32", (8, 11, 52): "float64"}  # bytes, bits of the exponent, bits of the fraction
_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_INTEGER_BYTES = (1, 2, 4, 8)
_OPAQUE_BYTES = (1, 2)  # as h5py keeps dtypes that it does not know: without a tag
_ENUM_OF_BOOL = {b"FALSE": 0, b"TRUE": 1}
_KINDS = {
    h5t.OPAQUE: "opaque",
    h5t.REFERENCE: "a reference",
    h5t.VLEN: "of variable length",
    h5t.ARRAY: "an array within each value",
    h5t.COMPOUND: "compound",
    h5t.ENUM: "an enumeration",
    h5t.BITFIELD: "a bit field",
    h5t.TIME: "a time",
    h5t.INTEGER: "an unusual integer",
    h5t.FLOAT: "an unusual float",
}


def text_attribute(item: Any, name: str, most_bytes: int) -> bytes | None:
    """An attribute that is one text, as bytes; None where there is none by that name."""
    if not h5a.exists(item, name.encode()):
        return None
    attribute = h5a.open(item, name.encode())
    kind, space = attribute.get_type(), attribute.get_space()
    if kind.get_class() != h5t.STRING:
        raise Refused(f"its attribute {name!r} is {_called(kind)}, expected text. Save the model again")
    if space.get_simple_extent_type() not in (h5s.SCALAR, h5s.SIMPLE) or space.get_simple_extent_npoints() != 1:
        raise Refused(f"its attribute {name!r} is not a single text. Save the model again")
    if not kind.is_variable_str() and kind.get_size() > most_bytes:
        raise Refused(f"its attribute {name!r} is larger than {_size(most_bytes)}, which no model needs")
    value = np.empty(attribute.shape, kind.dtype)  # a string type: 'S12', or str and bytes objects that h5py makes
    attribute.read(value)
    text = value.reshape(-1)[0]
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
    if len(data) > most_bytes:
        raise Refused(f"its attribute {name!r} is larger than {_size(most_bytes)}, which no model needs")
    return data


def dtype_of(path: str, dataset: Any) -> str:
    """The name of a weight's dtype. Anything but numbers, truth values and texts is refused."""
    kept = _dtype_name(dataset.get_type())
    if kept is None:
        raise Refused(f"the weight {path!r} is {_called(dataset.get_type())}, expected numbers. Save the model again")
    said = text_attribute(dataset, "dtype", MAX_DTYPE_BYTES)  # Keras keeps bfloat16 as two opaque bytes and says so
    if said is None:
        return kept
    if not _DTYPE_NAME.fullmatch(said):
        raise Refused(f"the weight {path!r} says that its dtype is {said!r}, expected a dtype. Save the model again")
    return said.decode()


def _dtype_name(kind: Any) -> str | None:
    family, size = kind.get_class(), kind.get_size()
    if family == h5t.STRING:
        return "string"
    if family == h5t.INTEGER and size in _INTEGER_BYTES:
        return f"{'u' if kind.get_sign() == h5t.SGN_NONE else ''}int{8 * size}"
    if family == h5t.OPAQUE and size in _OPAQUE_BYTES and not kind.get_tag():
        return f"opaque{8 * size}"
    if family == h5t.FLOAT:
        _, _, exponent_bits, _, fraction_bits = kind.get_fields()
        return _FLOATS.get((size, exponent_bits, fraction_bits))
    if family == h5t.ENUM and size == 1 and kind.get_nmembers() == len(_ENUM_OF_BOOL):
        members = {kind.get_member_name(n): kind.get_member_value(n) for n in range(len(_ENUM_OF_BOOL))}
        return "bool" if members == _ENUM_OF_BOOL else None
    if family == h5t.COMPOUND and kind.get_nmembers() == 2:
        parts = [(kind.get_member_name(n), kind.get_member_class(n)) for n in range(2)]
        if parts == [(b"r", h5t.FLOAT), (b"i", h5t.FLOAT)]:
            real, imaginary = (_dtype_name(kind.get_member_type(n)) for n in range(2))
            return _COMPLEX.get(str(real)) if real == imaginary else None
    return None


def _called(kind: Any) -> str:
    return _KINDS.get(kind.get_class(), "of an unknown kind")


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count} bytes"
