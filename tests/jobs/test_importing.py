"""TensorFlow is imported without what it would import only because it is installed."""

import os
import subprocess
import sys

TOLD = """
import gc, sys
from planner_app.worker.importing import quickly
with quickly():
    assert not gc.isenabled()
    try:
        import pandas
    except ImportError:
        print("hidden")
assert gc.isenabled()
import pandas
print("there")
with quickly():
    import pandas
    print("kept")
"""


def told(backend: str) -> list[str]:
    environment = os.environ | {"KERAS_BACKEND": backend}
    return subprocess.check_output([sys.executable, "-c", TOLD], env=environment, text=True).split()


def test_that_packages_nobody_needs_are_hidden_only_while_tensorflow_is_imported():
    assert told("tensorflow") == ["hidden", "there", "kept"]


def test_that_nothing_is_hidden_from_keras_on_jax():
    assert told("jax") == ["there", "kept"]
