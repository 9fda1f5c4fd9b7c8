"""What a model's training step expects to be given, found from its inputs, outputs and losses.

Where a model has a step or a loss of its own, nothing says what they take. Then there are several candidates, likely
ones first, and the first one that the step can be traced with is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

import keras

from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.worker.build.backend import FAILURES, output_shapes
from planner_app.worker.build.inputs import Tensor, input_structure, inputs_of, output_structure
from planner_app.worker.build.said import line
from planner_app.worker.training.feed import UNKNOWN, Feed, Slot
from planner_app.worker.training.vocabularies import vocabularies

Sizes = Mapping[str, tuple[int, ...]]
SOME_SIZE = 64  # for what a model leaves open, where only what it does matters
BATCH = 8 * 211  # a batch to follow the outputs' shapes with: no other size of a model is likely to be this one


def has_own_step(model: keras.Model) -> bool:
    """Whether the model says itself how it is trained: then its step may take anything."""
    kind = type(model)
    return kind.train_step is not keras.Model.train_step or not _is_keras_own(kind.compute_loss)


def adds_losses(model: keras.Model) -> bool:
    """Whether parts of the model add losses of their own, which most of them only do when they are called."""
    found = list(model.losses)

    def call(x: Any) -> Any:
        outputs = model(x, training=True)
        found.extend(model.losses)
        return outputs

    if not found and inputs_of(model):
        with suppress(PlannerError, *FAILURES):
            slots = keras.tree.map_structure(_of_some_size, input_slots(model))
            output_shapes(call, Feed(slots).specs(written_batch(model) or BATCH))
        model._clear_losses()
    return bool(found)


def _of_some_size(slot: Slot) -> Slot:
    return replace(slot, shape=tuple(SOME_SIZE if size == UNKNOWN else size for size in slot.shape))


def expected_feeds(model: keras.Model, sizes: Sizes) -> list[Feed]:
    """One where the model leaves no doubt, otherwise several."""
    if not has_own_step(model) and model.loss is not None and all(map(_is_known, keras.tree.flatten(model.loss))):
        return [_feed(model, sizes, with_targets=True)]
    return list(_candidates(model, sizes))


def _candidates(model: keras.Model, sizes: Sizes) -> Iterator[Feed]:
    if inputs_of(model):
        # Its losses need not be called as its outputs are: its own step compares them.
        with suppress(SetupError):
            if model.loss is not None:
                yield _feed(model, sizes, with_targets=True)
        yield _feed(model, sizes, with_targets=False)
        with suppress(SetupError):
            for sparse in (True, False):
                yield _feed(model, sizes, with_targets=True, sparse=sparse)
        return
    for part in _parts(model):
        inputs = _filled(input_slots(part), sizes)
        yield Feed(inputs)
        for sparse in (True, False):
            with suppress(PlannerError, *FAILURES):  # its outputs need not be what the step compares with targets
                yield Feed((inputs, _targets(part, inputs, {"": None}, sparse)))
        slots = keras.tree.flatten(inputs)
        if len(slots) > 1:
            yield Feed(max(slots, key=_elements))


def _parts(model: keras.Model) -> list[keras.Model]:
    """Models inside that say what they take, those of the largest inputs first: pictures come before noise."""
    found = [part for part in model._flatten_layers(include_self=False) if isinstance(part, keras.Model)]
    known = [part for part in found if inputs_of(part)]
    return sorted(known, key=lambda part: -max(prod(s or 1 for s in t.shape) for t in inputs_of(part)))


def _elements(slot: Slot) -> int:
    return prod(size or 1 for size in slot.shape)


def _feed(model: keras.Model, sizes: Sizes, *, with_targets: bool, sparse: bool | None = None) -> Feed:
    inputs = _filled(input_slots(model), sizes)
    batch = written_batch(model)
    if not with_targets:
        return Feed((inputs,) if isinstance(inputs, (list, tuple)) else inputs, batch)
    return Feed((inputs, _targets(model, inputs, model.loss, sparse)), batch)


def input_slots(model: keras.Model) -> Any:
    """The model's inputs, nested as it takes them."""
    known = vocabularies(model)
    slots = [_input_slot(tensor, known) for tensor in inputs_of(model)]
    return keras.tree.pack_sequence_as(input_structure(model), slots)


def named_after_inputs(feed: Feed, model: keras.Model) -> Feed:
    """The user's own data, its first part called as the model calls its inputs: sizes are given by those names."""
    x, others = (feed.structure[0], feed.structure[1:]) if isinstance(feed.structure, tuple) else (feed.structure, None)
    slots, names = keras.tree.flatten(x), [tensor.name for tensor in inputs_of(model)]
    if len(slots) != len(names) or None in slots:
        return feed
    keys = [slot.name.rpartition("/")[2] for slot in slots]
    renamed = [
        replace(slot, name=name) for slot, name in zip(slots, keys if set(keys) == set(names) else names, strict=True)
    ]
    x = keras.tree.pack_sequence_as(x, renamed)
    return replace(feed, structure=x if others is None else (x, *others))


def with_targets(feed: Feed, model: keras.Model) -> Feed:
    """Where there are inputs alone: the targets that the loss compares the outputs with, too."""
    x, y, weight = keras.utils.unpack_x_y_sample_weight(feed.structure)
    return feed if y is not None else replace(feed, structure=(x, _targets(model, x, model.loss, None), weight))


def written_batch(model: keras.Model) -> int | None:
    """The batch size that is written into the model's inputs."""
    if not getattr(model, "inputs", None):
        return None  # a class of the user's keeps the shape of its first call, and takes others
    return next((tensor.shape[0] for tensor in inputs_of(model) if tensor.shape and tensor.shape[0] is not None), None)


def _input_slot(tensor: Tensor, known: Mapping[str, int]) -> Slot:
    sizes = tuple(UNKNOWN if size is None else size for size in tensor.shape[1:])
    return Slot(tensor.name, (None, *sizes), tensor.dtype, known.get(tensor.name, 2))


def _filled(inputs: Any, sizes: Sizes) -> Any:
    return Feed(inputs).filled(dict(sizes)).structure


def _targets(model: keras.Model, inputs: Any, loss: Any, sparse: bool | None) -> Any:
    """What the loss compares the outputs with: classes for a sparse loss, else the outputs' own shape in float32."""
    try:
        outputs = output_structure(model)
        shapes = _output_shapes(model, inputs, outputs)
    except FAILURES as error:
        raise ModelError(f"The model can't be called on its own inputs: {line(error)}") from error
    names = _output_names(model, outputs)
    losses = _losses(loss, names, outputs)
    slots = {
        name: _target(name, shape, losses[name], sparse)
        for name, shape in zip(names, shapes, strict=True)
        if name in losses
    }
    if _is_nested(outputs):
        return keras.tree.pack_sequence_as(outputs, [slots.get(name) for name in names])
    if isinstance(outputs, Mapping) or (len(names) > 1 and isinstance(loss, Mapping)):
        return slots
    found = list(slots.values())
    return found[0] if len(found) == 1 else found


def _output_names(model: keras.Model, outputs: Any) -> list[str]:
    """Keys of a dictionary of outputs, in the order they are flattened; otherwise the layers that give them."""
    if isinstance(outputs, Mapping) or _is_nested(outputs):
        return _paths(outputs)
    flat = keras.tree.flatten(outputs)
    given = getattr(model, "output_names", None)
    return list(given) if given and len(set(given)) == len(flat) else [f"output_{n}" for n in range(len(flat))]


def _is_nested(outputs: Any) -> bool:
    """Whether a structure has others inside."""
    return max((len(path) for path, _ in keras.tree.flatten_with_path(outputs)), default=0) > 1


def _paths(structure: Any) -> list[str]:
    return ["/".join(map(str, path)) for path, _ in keras.tree.flatten_with_path(structure)]


def _losses(loss: Any, names: list[str], outputs: Any) -> dict[str, Any]:
    """The loss of each output that has one."""
    if _is_nested(outputs) and isinstance(loss, (Mapping, list, tuple)) and list(loss) != [""]:
        given = dict(zip(_paths(loss), keras.tree.flatten(loss), strict=True))
        return {name: each for name, each in given.items() if name in names and each is not None} or _in_order(
            given, names
        )
    if isinstance(loss, Mapping):
        if list(loss) == [""]:
            return dict.fromkeys(names)
        return {name: loss[name] for name in names if loss.get(name) is not None} or _in_order(loss, names)
    if isinstance(loss, (list, tuple)):
        if len(loss) != len(names):
            raise SetupError(f"{len(loss)} losses came for {len(names)} outputs ({', '.join(names)}).")
        return dict(zip(names, loss, strict=True))
    del outputs
    return dict.fromkeys(names, loss)


def _in_order(loss: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Keras finds the losses of a list of outputs by the names of their layers."""
    flat = keras.tree.flatten(loss)
    if len(flat) != len(names):
        raise SetupError(f"Losses came for {', '.join(loss)}; the outputs are {', '.join(names)}.")
    return dict(zip(names, flat, strict=True))


def _target(name: str, shape: tuple[int | None, ...], loss: Any, sparse: bool | None) -> Slot:
    words = loss_name(loss)
    name = f"target of {name}"
    if sparse if sparse is not None else "sparse" in words:
        return Slot(name, shape[:-1], "int32", _classes(shape))
    if words == "ctc":
        return Slot(name, shape[:-1], "int32", _classes(shape))
    return Slot(name, shape, keras.config.floatx())


def _classes(shape: tuple[int | None, ...]) -> int:
    last = shape[-1] if shape else None
    return last if last is not None and last > 0 else 2


def loss_name(loss: Any) -> str:
    return loss if isinstance(loss, str) else str(getattr(loss, "name", "") or getattr(loss, "__name__", ""))


def _output_shapes(model: keras.Model, inputs: Any, outputs: Any) -> list[tuple[int | None, ...]]:
    """Shapes over the batch: of a graph that leaves sizes open, or has the batch in several, found by following it."""
    flat = [tuple(tensor.shape) for tensor in keras.tree.flatten(outputs)]
    # What Keras says of a front end's counts is not always the shape that they have.
    from_text = any(slot.dtype == "string" for slot in Feed(inputs).slots)
    if not from_text and not any(size is None for shape in flat for size in shape[1:]):
        return [(None, *shape[1:]) if shape else () for shape in flat]
    batch = written_batch(model) or BATCH
    found = output_shapes(lambda x: model(x, training=True), Feed(inputs).specs(batch))
    return [tuple(None if size == batch else size for size in shape) for shape in found]


def _is_known(loss: Any) -> bool:
    if loss is None or isinstance(loss, str):
        return True
    return _is_keras_own(loss if hasattr(loss, "__name__") else type(loss))


def _is_keras_own(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "keras"
