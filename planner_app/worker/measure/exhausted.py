"""A `ResourceExhaustedError` read: which tensor, which operation, whose layer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import keras
import tensorflow as tf

from planner_app.core.measure.measurement import OutOfMemory

# op_requires.h and allocate_tensor of op_kernel.cc, copy functions of copy_tensor.cc, gpu_executable.cc.
_TENSOR = re.compile(r"OOM when allocating tensor (?:with|of) shape ?\[([\d,]*)\] and type (\w+)(?: on (\S+))?")
_NODE = re.compile(r"\{\{node ([^}\s]+)\}\}")
_EAGER = re.compile(r"\[Op:(\w+)\]")
_WRAPPED = re.compile(r"__wrapped__([A-Za-z0-9]+)_device_")
_XLA = re.compile(r"Out of memory (?:while )?trying to allocate (\d+) bytes")
_DEVICE = re.compile(r"device:([A-Z]+:\d+)")
_COPY = ("Dst tensor is not initialized", "Failed copying input tensor")
_BYTES = {"float": 4, "double": 8, "half": 2, "bfloat16": 2, "int32": 4, "int64": 8, "int8": 1, "uint8": 1, "bool": 1}
MESSAGE_CHARACTERS = 500


class NoRoom(Exception):
    """Seen beforehand: TensorFlow does not survive running out of memory while it copies from the host."""

    def __init__(self, operation: str, layer: str, shape: tuple[int, ...], dtype: str, size_bytes: int) -> None:
        super().__init__(f"no room for {operation}")
        self.found = OutOfMemory(
            "",
            operation,
            layer,
            f"[{','.join(map(str, shape))}]",
            dtype,
            size_bytes,
            message=f"no room for {operation}",
        )


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, tf.errors.ResourceExhaustedError | NoRoom):
        return True
    return isinstance(error, tf.errors.OpError | RuntimeError) and any(text in str(error) for text in _COPY)


def out_of_memory(error: BaseException, during: str, layer_of: Callable[[str], str]) -> OutOfMemory:
    if isinstance(error, NoRoom):
        return replace(error.found, during=during)
    text = str(error)
    tensor, xla = _TENSOR.search(text), _XLA.search(text)
    shape, dtype = (tensor[1], tensor[2]) if tensor else ("", "")
    operation = _operation(text, tensor.start() if tensor else 0)
    device = _DEVICE.search(tensor[3] if tensor and tensor[3] else text)
    return OutOfMemory(
        during=during,
        operation=operation,
        layer=layer_of(operation) or _being_built(error),
        shape=f"[{shape}]" if tensor else "",
        dtype=dtype,
        requested_bytes=int(xla[1]) if xla else _size(shape, dtype) if tensor else None,
        device=device[1] if device else "",
        message=_message(error),
    )


def _being_built(error: BaseException) -> str:
    """Of an error outside the step: the layer that was making a weight, or the one whose weight got a slot."""
    found, at = "", error.__traceback__
    while at is not None:
        inside = at.tb_frame.f_locals
        if isinstance(inside.get("self"), keras.layers.Layer) and not isinstance(inside["self"], keras.Model):
            found = str(inside["self"].name)
        path = getattr(inside.get("reference_variable"), "path", "")
        found = str(path).rpartition("/")[0] or found
        at = at.tb_next
    return found


def _operation(text: str, start: int) -> str:
    """The node that is named after the tensor; of a single operation, its kind."""
    found = _NODE.search(text, start) or _NODE.search(text) or _EAGER.search(text) or _WRAPPED.search(text)
    return found[1].rpartition(":")[2] if found else ""


def _size(shape: str, dtype: str) -> int | None:
    known = _BYTES.get(dtype)
    return None if known is None else known * prod(int(size) for size in shape.split(",") if size)


def _message(error: Any) -> str:
    said = str(getattr(error, "message", "") or error)
    lines = [line.strip() for line in said.splitlines() if "OOM" in line or "emory" in line]
    return (lines or said.strip().splitlines() or [type(error).__name__])[0][:MESSAGE_CHARACTERS]
