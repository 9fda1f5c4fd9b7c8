"""Whether a dataset's elements are single samples or batches, by what the model takes."""

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from planner_app.core.plan.pipeline import Tensor, batching_warning
from planner_app.errors import PlanError

MOST_STEPS = 1000  # of a pipeline that are looked at


def in_batches(model: Any, dataset: Any, batch: int) -> tuple[Any, bool]:
    """A dataset in batches, and whether their size is still its own.

    Raises:
        PlanError: It is batched twice.
    """
    spec = dataset.element_spec
    given, expected = _matched(spec[0] if isinstance(spec, tuple) else spec, model)
    said = batching_warning(given, expected)
    if said:
        raise PlanError(said)
    if expected:
        single = any(len(a.shape) == len(b.shape) - 1 for a, b in zip(given, expected, strict=False))
    else:
        single = _looks_single(spec, dataset)
    return (dataset.batch(batch), False) if single else (dataset, True)


def _matched(inputs: Any, model: Any) -> tuple[list[Tensor], list[Tensor]]:
    """A dataset's inputs and those of the model in the same order; nothing where the model does not say."""
    expected = [Tensor(str(each.name), tuple(each.shape)) for each in getattr(model, "inputs", None) or ()]
    if not expected:
        built = getattr(model, "_build_shapes_dict", None) or {}
        shapes = [tuple(shape) for shape in built.values() if _is_shape(shape)]
        expected = [Tensor(f"input {n}", shape) for n, shape in enumerate(shapes)] if len(shapes) == 1 else []
    if isinstance(inputs, Mapping):
        wanted = getattr(model, "_inputs_struct", None)
        keys = _keys(inputs, wanted, expected)
        pairs = [(_tensor(name, inputs[name]), tensor) for name, tensor in keys if name in inputs]
        pairs = [(a, b) for a, b in pairs if a is not None]
        return [a for a, _ in pairs if a is not None], [b for _, b in pairs]
    parts = [_tensor(f"input {n}", each) for n, each in enumerate(tf.nest.flatten(inputs))]
    return [part for part in parts if part is not None], expected


def _keys(inputs: Mapping[str, Any], struct: Any, expected: list[Tensor]) -> list[tuple[str, Tensor]]:
    """By the names that the model gives its inputs in a dict, else by the inputs' own names."""
    if isinstance(struct, Mapping):
        by_key = {name: Tensor(str(name), tuple(each.shape)) for name, each in struct.items()}
        if set(by_key) & set(inputs):
            return list(by_key.items())
    return [(each.name, each) for each in expected]


def _tensor(name: str, spec: Any) -> Tensor | None:
    shape = getattr(spec, "shape", None)
    return Tensor(name, tuple(shape.as_list())) if shape is not None and shape.rank is not None else None


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(size is None or isinstance(size, int) for size in value)


def _looks_single(spec: Any, dataset: Any) -> bool:
    """For a model that has no shapes yet: batches have one first size in common, and came out of a batching step."""
    shapes = [each.shape for each in tf.nest.flatten(spec) if getattr(each, "shape", None) is not None]
    ranks = [shape.rank for shape in shapes]
    if any(rank == 0 for rank in ranks):
        return True
    if any(rank is None for rank in ranks):
        return False
    firsts = {shape[0] for shape in shapes}
    if None in firsts:
        return False
    return len(firsts) > 1 or not _was_batched(dataset)


def _was_batched(dataset: Any) -> bool:
    for each in pipeline(dataset):
        name = type(each).__name__.lower()
        if "generator" in name or ("batch" in name and "unbatch" not in name):
            return True
    return False


def pipeline(dataset: Any) -> Iterator[Any]:
    """A dataset, and what it is made from."""
    queue, seen = [dataset], 0
    while queue and seen < MOST_STEPS:
        each = queue.pop()
        seen += 1
        yield each
        queue += list(each._inputs())
