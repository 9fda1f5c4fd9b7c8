"""The package versions that figures depend on, from the Python that workers run in: ours may lack TensorFlow."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata

from planner_app.jobs import interpreter, interpreter_probe

FIGURES = ("tensorflow", "keras")  # what estimates, measurements and plans depend on


def worker_versions() -> Mapping[str, str]:
    """Versions by package, of installed packages that workers use; empty if there is no Python to run workers.

    Another Python is asked only once: its packages are assumed not to change while we run.
    """
    return interpreter.find().packages if interpreter.is_outside() else _own_versions()


def figures_depend_on() -> dict[str, str]:
    """The versions of TensorFlow and Keras; empty for a missing one."""
    found = worker_versions()
    return {package: found.get(package, "") for package in FIGURES}


@cache
def _own_versions() -> Mapping[str, str]:
    """The same as `interpreter_probe` reports, without a child process."""
    named = [*interpreter_probe.NAMES, *((name, (name,)) for name in interpreter_probe.DISTRIBUTIONS)]
    return {package: version for package, names in named if (version := _first(names))}


def _first(names: Iterable[str]) -> str:
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""
