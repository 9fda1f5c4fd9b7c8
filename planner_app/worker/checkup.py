"""What this Python has for planning, by its own account; TensorFlow is started only when asked for."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import Any

from planner_app.core.checkup import Started, Surroundings
from planner_app.errors import WorkerError
from planner_app.jobs import protocol
from planner_app.worker.compile import compiler
from planner_app.worker.importing import quickly

PACKAGES = (*compiler.PACKAGES, "tf_keras", "h5py", "numpy", "plimsoll")


def check_up(request: protocol.CheckUp, _report: Any) -> Surroundings | Started:
    return _started() if request.start_tensorflow else _surroundings()


def _surroundings() -> Surroundings:
    try:
        compiler.check_installed()
        trouble = ""
    except WorkerError as error:
        trouble = str(error)
    return Surroundings(platform.python_version(), sys.executable, _versions(), trouble)


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _started() -> Started:
    with quickly():
        import keras
        import tensorflow as tf

    assert keras.__version__
    built = tf.sysconfig.get_build_info()
    gpus = tf.config.list_physical_devices("GPU")
    return Started(tf.__version__, built.get("cuda_version"), built.get("cudnn_version"), len(gpus))
