r"""Layouts made for a model: rules that a user can look at, edit and keep.

    made_layout(LayoutName.AUTO, variables, Mesh(1, 4)).rules
    # .*decoder_block_\d+/query/kernel -> (-, model, -)     heads are shared out
    # .*decoder_block_\d+/output/kernel -> (model, -, -)    and added up again

Tensor-parallel (auto): of a transformer's weights the dimension that is not the model's width is shared out, which is
heads, hidden units or the vocabulary; so what one layer gives cut, the next takes cut, and results are added up once
after each pair. Square weights are cut on the way in for queries, keys and values, on the way out otherwise. Of other
models the last dimension is shared out: output channels and units. A bias lies as its kernel's outputs do, adapters as
their kernel.

Fully sharded (fsdp): every weight over all GPUs, its largest dimension that can be cut evenly, whatever it means.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from planner_app.core.model.trace import Role
from planner_app.core.sharding.layout import REPLICATED, Axes, Layout, LayoutName, Rule
from planner_app.core.sharding.mesh import BATCH, MODEL, Mesh
from planner_app.core.sharding.placement import StateVariable
from planner_app.errors import SetupError

NUMBER = re.compile(r"\d+")
ON_THE_WAY_OUT = re.compile(r"(^|[/_])(out|output|proj|projection|down|dense_2|ffw_linear|wo|o_proj)([/_]|$)")
SMALLEST_SHARED = 1024  # elements: what is smaller costs more to send than to hold
KERNELS = ("kernel", "embeddings")
ADAPTER = re.compile(r"lora_(?P<of>kernel|embeddings)_(?P<half>[ab])")


@dataclass(frozen=True, slots=True)
class _Group:
    """Variables of one shape whose paths differ in numbers alone, as blocks of a transformer do."""

    pattern: str
    path: str
    shape: tuple[int, ...]


def made_layout(
    layout: Layout, variables: Iterable[StateVariable], mesh: Mesh, own: tuple[Rule, ...] | None = None
) -> Layout:
    """The layout with its rules, for a model's variables and a mesh.

    Args:
        own: The rules of the model's own `get_layout_map`; None if its class has none.
    """
    if layout.name in (LayoutName.DATA, LayoutName.FILE) or layout.rules:
        return layout
    if layout.name is LayoutName.OWN:
        if own is None:
            raise SetupError(
                "The model's class has no get_layout_map: choose --layout auto, fsdp, or a file of your own rules."
            )
        return Layout(LayoutName.OWN, own)
    weights = [each for each in variables if each.role in (Role.WEIGHT, Role.FROZEN)]
    if layout.name is LayoutName.FSDP:
        return Layout(LayoutName.FSDP, _rules(weights, lambda group: _fully(group, mesh)))
    if mesh.model == 1:
        return Layout(LayoutName.AUTO)
    width = _width(weights)
    kernels = {each.path: each for each in weights if _name(each.path) in KERNELS}
    return Layout(LayoutName.AUTO, _rules(weights, lambda group: _tensor_parallel(group, mesh, width, kernels)))


def _rules(weights: Sequence[StateVariable], axes: Callable[[_Group], Axes]) -> tuple[Rule, ...]:
    """One for each group that is shared out. Where a pattern covers several shapes, paths are named one by one."""
    groups: dict[str, dict[tuple[int, ...], list[str]]] = {}
    for each in weights:
        groups.setdefault(_general(each.path), {}).setdefault(each.shape, []).append(each.path)
    rules = []
    for pattern, shapes in groups.items():
        for shape, paths in shapes.items():
            found = axes(_Group(pattern, paths[0], shape))
            if not any(found):
                continue
            if len(shapes) == 1 and len(paths) > 1:
                rules.append(Rule(pattern, found))
            else:
                rules += [Rule(re.escape(path), found) for path in dict.fromkeys(paths)]
    return tuple(rules)


def _general(path: str) -> str:
    """The path with any number for each number in it."""
    return r"\d+".join(re.escape(part) for part in NUMBER.split(path))


def _fully(group: _Group, mesh: Mesh) -> Axes:
    """Both axes where two dimensions can be cut; else the one with more GPUs that can."""
    axes: list[str | None] = [None] * len(group.shape)
    left = list(group.shape)
    for axis in sorted((BATCH, MODEL), key=lambda each: -mesh.size(each)):
        shares = mesh.size(axis)
        able = [place for place, size in enumerate(left) if axes[place] is None and not size % shares and size > 1]
        if shares > 1 and able:
            axes[max(able, key=lambda place: left[place])] = axis
    return tuple(axes)


def _tensor_parallel(group: _Group, mesh: Mesh, width: int, kernels: dict[str, StateVariable]) -> Axes:
    shape, name = group.shape, _name(group.path)
    able = [place for place, size in enumerate(shape) if size > 1 and not size % mesh.model]
    if not able:
        return ()
    if adapter := ADAPTER.fullmatch(name):
        return _as_adapted(group, mesh, width, kernels, adapter)
    if len(shape) == 1 or name == "bias":
        return _as_outputs(group, mesh, width, kernels)
    elements = 1
    for size in shape:
        elements *= size
    if elements < SMALLEST_SHARED:
        return ()
    if width not in shape:  # not a transformer's: output channels or units, else what goes in
        return _at(able[-1], shape)
    others = [place for place in able if shape[place] != width]
    if others:
        return _at(others[0], shape)
    return _at(able[0] if ON_THE_WAY_OUT.search(_folder(group.path)) else able[-1], shape)


def _as_adapted(
    group: _Group, mesh: Mesh, width: int, kernels: dict[str, StateVariable], adapter: re.Match[str]
) -> Axes:
    """Half a of an adapter has all dimensions of its kernel but the last, half b the last; the rank is never cut."""
    kernel = kernels.get(f"{_folder(group.path)}/{adapter['of']}")
    if kernel is None:
        return ()
    axes = _tensor_parallel(_Group("", kernel.path, kernel.shape), mesh, width, {})
    kept = (*axes[:-1], None) if adapter["half"] == "a" else (None, *axes[-1:])
    return kept if any(kept) and len(kept) == len(group.shape) else ()


def _as_outputs(group: _Group, mesh: Mesh, width: int, kernels: dict[str, StateVariable]) -> Axes:
    """A bias is added to outputs: it is cut where its kernel's outputs are."""
    kernel = kernels.get(f"{_folder(group.path)}/kernel")
    if kernel is None or _name(group.path) != "bias":
        return ()
    axes = _tensor_parallel(_Group("", kernel.path, kernel.shape), mesh, width, {})
    outputs = axes[len(axes) - len(group.shape) :]
    same = kernel.shape[len(kernel.shape) - len(group.shape) :] == group.shape
    return outputs if same and any(outputs) else ()


def _at(place: int, shape: tuple[int, ...]) -> Axes:
    return tuple(MODEL if number == place else None for number in range(len(shape)))


def _width(weights: Sequence[StateVariable]) -> int:
    """The size that most weights have in common, where one is: a transformer's width; 0 otherwise."""
    matrices = [
        each for each in weights if len(each.shape) in (2, 3) and min(each.shape) > 1 and _name(each.path) in KERNELS
    ]
    seen = Counter(size for each in matrices for size in set(each.shape))
    size, times = max(seen.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
    return size if len(matrices) > 2 and times >= 0.75 * len(matrices) else 0


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def replicated(layout: Layout) -> bool:
    return layout == REPLICATED or not layout.rules
