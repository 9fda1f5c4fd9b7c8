"""A model that lives in this process, as its configuration: weights, optimizer state and GPU memory stay untouched.

Keras is not imported here: it is there already, or there would be no model. Classes and functions of the user's own,
in a notebook too, go along by value (cloudpickle), into a file that only the worker reads.
"""

import base64
import hashlib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import msgspec

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.fine_tune import layer_states
from planner_app.errors import ModelError
from planner_app.files.writing import reason, write_atomically

LIVE = "live"  # the format of such a model
NOT_SHIPPED = ("keras", "tensorflow", "builtins", "numpy")  # packages that every worker has
SITE_PACKAGES = ("site-packages", "dist-packages")


def is_live(source: object) -> bool:
    return all(callable(getattr(source, name, None)) for name in ("get_config", "compile", "train_step"))


class LiveModel:
    """A live model's description for workers. Its folder is removed when it is closed or garbage-collected."""

    def __init__(self, model: Any) -> None:
        config, compiled = _configurations(model)
        self._folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        own, layers = own_objects(model, (config, compiled)), layer_states(model)
        self.checked = CheckedModel(
            name=str(getattr(model, "name", "model")),
            format=LIVE,
            config=config,
            compile_config=compiled,
            keras_version=getattr(sys.modules.get("keras"), "__version__", None),
            sha256=hashlib.sha256(msgspec.json.encode([config, compiled, layers], order="deterministic")).hexdigest(),
            custom=str(self._shipped(own)) if own else None,
            layers=layers,
        )

    def close(self) -> None:
        self._folder.cleanup()

    def _shipped(self, own: Mapping[str, Any]) -> Path:
        path = Path(self._folder.name, "own_objects.py")
        lines = (
            '"""Classes and functions of the notebook or script that holds the model."""',
            "import base64",
            "import cloudpickle",
            f"custom_objects = cloudpickle.loads(base64.b64decode({_pickled(own)!r}))",
        )
        try:
            write_atomically(path, "\n".join(lines).encode())
        except OSError as error:
            raise ModelError(f"The model can't be written for the worker to read: {reason(error)}.") from error
        return path


def _configurations(model: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
    saving = _keras().saving
    try:
        config = saving.serialize_keras_object(model)
        compiled = model.get_compile_config() if getattr(model, "compiled", False) else None
        return _plain(config), None if compiled is None else _plain(compiled)
    except (NotImplementedError, TypeError, ValueError, msgspec.MsgspecError) as error:
        name = type(model).__name__
        raise ModelError(
            f"The {name} can't say how it is built: {_first_line(error)} Give the class a get_config() that returns "
            "the arguments of its constructor, or open it as a function: file.py:function."
        ) from error


def _plain(config: Any) -> dict[str, Any]:
    """As it would be read from a file: tuples as lists, and nothing that JSON does not have."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(config))
    return found


def _keras() -> Any:
    keras = sys.modules.get("keras")
    if keras is None:
        raise ModelError("Only models of Keras 3 can be opened as they are: save the model, and open the file.")
    return keras


def own_objects(model: Any, configurations: Any) -> dict[str, Any]:
    """What the configurations name beside Keras: classes and functions, by the names they use."""
    known: dict[str, Any] = {type(part).__name__: type(part) for part in _parts(model)}
    known |= {each.__name__: each for each in _compiled_functions(model)}
    registered = _keras().saving.get_custom_objects()
    found: dict[str, Any] = {}
    for node in _nodes(configurations):
        name, module, registered_name = (node.get(key) for key in ("class_name", "module", "registered_name"))
        if name == "function":
            name = registered_name = node.get("config")
        if not isinstance(name, str):
            continue
        homes = [vars(home) for each in (module, "__main__") if (home := sys.modules.get(str(each))) is not None]
        places: list[Mapping[str, Any]] = [registered, known, *homes]
        written = (str(registered_name), name)
        value = next((place[each] for place in places for each in written if each in place), None)
        if value is not None and not _is_everywhere(value):
            found[name] = value
    return found


def _parts(model: Any) -> Iterator[Any]:
    """The model, its layers, and what it is compiled with."""
    yield model
    yield from model._flatten_layers()
    for name in ("optimizer", "loss", "_compile_metrics"):
        if (part := getattr(model, name, None)) is not None:
            yield part


def _compiled_functions(model: Any) -> Iterator[Any]:
    """Losses and metrics that are functions: one made by another function is found nowhere by its name."""
    arguments = getattr(getattr(model, "_compile_config", None), "config", None) or {}
    for key in ("loss", "metrics", "weighted_metrics"):
        yield from (each for each in _keras().tree.flatten(arguments.get(key)) if isinstance(each, FunctionType))


def _is_everywhere(value: Any) -> bool:
    """Of a module that every worker has."""
    return str(getattr(value, "__module__", "builtins")).partition(".")[0] in NOT_SHIPPED


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for each in value.values():
            yield from _nodes(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _nodes(each)


def _pickled(own: Mapping[str, Any]) -> str:
    try:
        import cloudpickle
    except ImportError as error:
        raise ModelError(
            f"The model has classes of its own ({', '.join(own)}), and shipping them to a worker needs cloudpickle: "
            "install it with pip install cloudpickle."
        ) from error
    modules = {sys.modules[value.__module__] for value in own.values() if _is_local(value)}
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return base64.b64encode(cloudpickle.dumps(dict(own))).decode()
    except Exception as error:
        raise ModelError(f"The model's own classes can't be shipped to a worker: {_first_line(error)}") from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _is_local(value: Any) -> bool:
    """Of a module that a worker would not find: beside the script, not installed. Notebooks go by value anyway."""
    module = sys.modules.get(getattr(value, "__module__", ""))
    if not isinstance(module, ModuleType) or module.__name__ == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return file is not None and not any(part in Path(file).parts for part in SITE_PACKAGES)


def _first_line(error: Exception) -> str:
    first = " ".join(str(error).strip().partition("\n\n")[0].split())
    return f"{first[:300].rstrip('.')}." if first else f"{type(error).__name__}."
