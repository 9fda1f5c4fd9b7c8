"""TensorFlow comes into a training script of these tests as fast as into a worker, whoever imports it, and when."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from planner_app.worker.importing import quickly


class Quick:
    """The first of the finders, until somebody asks for TensorFlow or Keras."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in ("keras", "tensorflow"):
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        assert spec is not None and spec.loader is not None
        execute = spec.loader.exec_module

        def at_once(module: ModuleType) -> None:
            with quickly():
                execute(module)
            gc.freeze()  # nothing of it ever becomes garbage

        spec.loader.exec_module = at_once
        return spec


def import_quickly() -> None:
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    sys.meta_path.insert(0, Quick())
