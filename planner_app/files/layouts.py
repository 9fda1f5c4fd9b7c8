"""Layout files: rules as Keras' `LayoutMap` has them, in JSON.

{"layout": {".*dense.*/kernel": [null, "model"], ".*embeddings": ["model", null]}}
"""

from pathlib import Path
from typing import TypedDict

import msgspec

from planner_app.core.sharding.layout import Layout, LayoutName, Rule
from planner_app.core.sharding.mesh import ONE_GPU, Mesh, parse_mesh
from planner_app.errors import SetupError
from planner_app.files.reading import read_at_most
from planner_app.files.writing import write_atomically

NAMES = tuple(str(name) for name in LayoutName if name is not LayoutName.FILE)
MOST_BYTES = 1 << 20


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    layout: dict[str, tuple[str | None, ...]]


class Sharding(TypedDict):
    mesh: Mesh
    layout: Layout


def sharding(mesh: str | None, layout: str | None) -> Sharding:
    """Of a setup on JAX, as a user writes it. A mesh without a layout gets one made for the model."""
    name = layout or (LayoutName.AUTO if mesh else LayoutName.DATA)
    return {"mesh": parse_mesh(mesh) if mesh else ONE_GPU, "layout": layout_named(str(name))}


def layout_named(text: str) -> Layout:
    """A name, or the rules of a file."""
    if text in NAMES:
        return Layout(LayoutName(text))
    try:
        return read_layout(Path(text))
    except (OSError, ValueError) as error:
        raise SetupError(
            f"There is no layout {text!r:.200}: expected one of {', '.join(NAMES)}, or a file of rules."
        ) from error


def read_layout(path: Path) -> Layout:
    try:
        read = msgspec.json.decode(read_at_most(path, MOST_BYTES), type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SetupError(
            f"{path.name!r} is not a layout: {error}. Expected patterns of variable paths, each with an axis or null "
            'for every dimension, as in {"layout": {".*dense.*/kernel": [null, "model"]}}.'
        ) from error
    return Layout(LayoutName.FILE, tuple(Rule(pattern, axes) for pattern, axes in read.layout.items()), path.name)


def write_layout(layout: Layout, path: Path) -> None:
    rules = {rule.pattern: rule.axes for rule in layout.rules}
    write_atomically(path, msgspec.json.format(msgspec.json.encode(_File(rules)), indent=2) + b"\n")
