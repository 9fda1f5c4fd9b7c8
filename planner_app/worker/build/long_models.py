"""Models of many layers: work that Keras does quadratically is done once, and depth does not fail.

`Sequential.from_config` rebuilds the whole graph after every layer it adds: 500 layers took 95 s, and 0.5 s built once.
And Keras follows a graph from its outputs by recursion, one frame or two a layer, where Python stops at 1000.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras

MOST_FRAMES = 100_000  # Python's frames lie on the heap: this bounds memory, not the stack


@contextmanager
def built_once() -> Iterator[None]:
    """Sequential models that are made from a configuration in here are built when all their layers are there."""
    add, from_config = keras.Sequential.add, keras.Sequential.__dict__["from_config"]
    limit = sys.getrecursionlimit()

    def add_only(model: Any, layer: Any, rebuild: bool = False) -> None:  # noqa: ARG001 - Keras passes it
        add(model, layer, rebuild=False)

    def then_build(kind: Any, config: Any, custom_objects: Any = None) -> Any:
        model = from_config.__func__(kind, config, custom_objects=custom_objects)
        if model._layers and not model.built:
            model._maybe_rebuild()
        return model

    keras.Sequential.add = add_only
    keras.Sequential.from_config = classmethod(then_build)
    sys.setrecursionlimit(max(limit, MOST_FRAMES))
    try:
        yield
    finally:
        keras.Sequential.add = add
        keras.Sequential.from_config = from_config
        sys.setrecursionlimit(limit)
