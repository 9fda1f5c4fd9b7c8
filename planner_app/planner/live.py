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
from types import ModuleType
from typing import Any

import msgspec

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError
from planner_app.files.writing import reason, write_atomically

LIVE = "live"  # the format of such a model
NOT_SHIPPED = ("keras", "tensorflow", "builtins", "numpy")  # modules that every worker has
SITE_PACKAGES = ("site-packages", "dist-packages")


def is_live(source: object) -> bool:
    return all(callable(getattr(source, name, None)) for name in ("get_config", "compile", "train_step"))


class LiveModel:
    """A live model's description for workers. Its folder is removed when it is closed or garbage-collected."""

    def __init__(self, model: Any) -> None:
        config, compiled = _configurations(model)
        self._folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        own = own_objects((config, compiled))
        self.checked = CheckedModel(
            name=str(getattr(model, "name", "model")),
            format=LIVE,
            config=config,
            compile_config=compiled,
            keras_version=getattr(sys.modules.get("keras"), "__version__", None),
            sha256=hashlib.sha256(msgspec.json.encode([config, compiled], order="deterministic")).hexdigest(),
            custom=str(self._shipped(own)) if own else None,
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


def own_objects(configurations: Any) -> dict[str, Any]:
    """What a configuration names beside Keras: classes and functions by the names it uses."""
    found: dict[str, Any] = {}
    registered = _keras().saving.get_custom_objects()
    for node in _nodes(configurations):
        name, module = node.get("class_name"), node.get("module")
        if name == "function":
            name = node.get("config")
        known = node.get("registered_name") or name
        if not isinstance(name, str) or not isinstance(known, str):
            continue
        if known in registered:
            found[name] = registered[known]
        elif isinstance(module, str) and module.partition(".")[0] not in NOT_SHIPPED:
            value = getattr(sys.modules.get(module), name, None)
            if value is not None:
                found[name] = value
    return found


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
    lines = str(error).strip().splitlines()
    return f"{lines[0][:300].rstrip('.')}." if lines else f"{type(error).__name__}."
