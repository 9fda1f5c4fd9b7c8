"""The versions that figures depend on, asked of the Python that workers run in: ours may have no TensorFlow."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata

from planner_app.jobs import interpreter, interpreter_probe

FIGURES = ("tensorflow", "keras")  # what estimates, measurements and plans depend on


def worker_versions() -> Mapping[str, str]:
    """By package, of those that workers use and that are there; none where there is no Python to run them in.

    Another Python is asked once: what it has does not change while we run.
    """
    return interpreter.find().packages if interpreter.is_outside() else _own_versions()


def figures_depend_on() -> dict[str, str]:
    """Of TensorFlow and Keras alone; empty for what is not there."""
    found = worker_versions()
    return {package: found.get(package, "") for package in FIGURES}


@cache
def _own_versions() -> Mapping[str, str]:
    """As `interpreter_probe` would ask for them, without a child."""
    named = [*interpreter_probe.NAMES, *((name, (name,)) for name in interpreter_probe.DISTRIBUTIONS)]
    return {package: version for package, names in named if (version := _first(names))}


def _first(names: Iterable[str]) -> str:
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""
