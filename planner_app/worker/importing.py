"""Importing TensorFlow in two thirds of the time.

A third goes into collecting garbage, though what modules make stays for good, and into packages that TensorFlow and
Keras import only because they are installed: jax for a converter of TensorFlow Lite's, pandas and SciPy for data of
`fit`, IPython to draw models. A user's code can still import them afterwards.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

UNUSED = ("jax", "pandas", "scipy", "IPython")

# A model and its trace are hundreds of thousands of objects that stay: looking through them for garbage took a tenth of
# a trace's time, and a quarter of the time in which a large model is described.
OBJECTS_BETWEEN_COLLECTIONS = 200_000


@contextmanager
def quickly() -> Iterator[None]:
    """What is imported inside."""
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]  # None: it is not installed
    hidden = [name for name in UNUSED if name not in modules] if os.environ.get("KERAS_BACKEND") == "tensorflow" else []
    collecting = gc.isenabled()
    gc.disable()
    modules |= dict.fromkeys(hidden)
    try:
        yield
    finally:
        for name in hidden:
            if modules.get(name, ...) is None:
                del modules[name]
        if collecting:
            gc.enable()


def collect_seldom() -> None:
    """What importing TensorFlow has made stays for good; of a model that another one replaces, everything goes. Not
    where training is measured: there garbage is to stay as long as it does in a script."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
