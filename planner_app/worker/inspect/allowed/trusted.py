"""Packages whose classes a model's file may name, because the user trusts them.

The reader only looks at names: an object of a trusted package may stand in the configuration, a function of one may
not. That each is a class which the package registered for Keras' serialization is checked where the package is
imported, in the sandbox, before anything of the file is rebuilt.
"""

import importlib.util
import sys
from collections.abc import Iterable
from typing import Any

from planner_app.worker.inspect.refusal import Refused

# What to install for packages that write models of their own, by the name they are imported under.
KNOWN = {
    "keras_hub": 'pip install "plimsoll[hub]" (keras-hub 0.32)',
    "keras_nlp": 'pip install "plimsoll[hub]" (keras-hub 0.32 reads models of keras-nlp)',
    "keras_cv": "pip install keras-cv",
    "keras_rs": "pip install keras-rs",
}
# Whoever names one of these would let a file name anything.
NEVER = frozenset(sys.stdlib_module_names) | {
    "__main__",
    "keras",
    "tensorflow",
    "tf_keras",
    "numpy",
    "planner_app",
    "h5py",
}


def checked_packages(names: Iterable[str]) -> frozenset[str]:
    """The packages the user trusts.

    Raises:
        Refused: One that may not be trusted, or that isn't there.
    """
    packages = frozenset(names)
    for name in sorted(packages):
        if not name.isidentifier() or name in NEVER:
            raise Refused(f"{name[:60]!r} can't be trusted: expected a package with Keras layers, as in keras_hub")
        if not _is_installed(name):
            raise Refused(f"the package {name!r} is not installed: {KNOWN.get(name, f'pip install {name}')}")
    return packages


def package_of(value: dict[str, Any]) -> str:
    """The package that an object of a configuration says it comes from; "" if it does not say."""
    module = value.get("module")
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_of(value: dict[str, Any], packages: frozenset[str]) -> bool:
    """Whether the object is named as a registered class of one of the packages is."""
    name, registered = value.get("class_name"), value.get("registered_name")
    return (
        package_of(value) in packages
        and isinstance(name, str)
        and name.isidentifier()
        and isinstance(registered, str)
        and registered.rpartition(">")[2] == name
    )


def advice(unknown: Iterable[str], packages: frozenset[str]) -> str | None:
    """How to open a model with classes of packages that are known, or installed; None where there are none."""
    named = {package for name in unknown if (package := _package(name)).isidentifier()} - NEVER
    if trusted := sorted(named & packages):
        return (
            f"Of {', '.join(trusted)} a model's file may name registered classes, and no functions: open the model as "
            "file.py:function, a function of yours that makes it"
        )
    missing = [name for name in sorted(named & KNOWN.keys()) if not _is_installed(name)]
    if missing:
        return f"They are of {missing[0]}, which is not installed: {KNOWN[missing[0]]}, then open it with --trust"
    there = [name for name in sorted(named) if name in KNOWN or _is_installed(name)]
    if there:
        return f"They are of the package {there[0]}: if you trust it, open the model with --trust {there[0]}"
    return None


def _package(name: str) -> str:
    """Of `parts.layers.Scale`, and of `builtins.parts>scale`, as functions are written."""
    module, dotted, last = name.rpartition(".")
    registered, named, _ = last.rpartition(">")
    return registered if named else module.partition(".")[0] if dotted else ""


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # a module that was made, not found
        return False
