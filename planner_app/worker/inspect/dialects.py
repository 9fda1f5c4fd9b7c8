"""Older ways of writing a configuration, put into the one way that is checked and rebuilt.

Done before the check, so that what is checked is what is rebuilt.
"""

from typing import Any

from planner_app.worker.inspect.allowed.names import APPLICATIONS, KERAS_2_MODULES, OPERATIONS, KerasNames
from planner_app.worker.inspect.keras2 import with_calls

OPTIMIZER_ROLES = ("optimizer", "optimizer_config")
WRAPPED_ROLES = ("layer", "backward_layer", "forward_layer", "cell", "cells")
KERAS_3_ONLY = ("module", "registered_name", "build_config")


def is_keras_2(config: dict[str, Any], version: str | None) -> bool:
    module = config.get("module")
    return (isinstance(module, str) and module.startswith(KERAS_2_MODULES)) or (version or "").startswith(("1.", "2."))


def normalised(tree: Any, names: KerasNames, *, keras_2: bool, role: str = "") -> Any:
    """The configuration in the form that Keras 3 gives to HDF5 files. `role` is the key a part was found under."""
    if isinstance(tree, list):
        return [normalised(item, names, keras_2=keras_2, role=role) for item in tree]
    if not isinstance(tree, dict):
        return tree
    node = {key: normalised(value, names, keras_2=keras_2, role=key) for key, value in tree.items()}
    name = node.get("class_name")
    if not isinstance(name, str):
        return node
    return _of_keras_2(node, name, names, role) if keras_2 else _with_module(node, names)


def _of_keras_2(node: dict[str, Any], name: str, names: KerasNames, role: str) -> Any:
    config = node.get("config")
    if name in ("__tuple__", "TensorShape") and isinstance(node.get("items"), list):
        return node["items"]
    if name == "Policy" and isinstance(config, dict):
        return config.get("name")  # a dtype policy; Keras 3 takes its name alone
    if name == "function":
        return node
    # Keras 2.12 and later named modules that Keras 3 no longer has; the classes are known by their bare names.
    node = {key: value for key, value in node.items() if key not in KERAS_3_ONLY}
    bare = name.rpartition(">")[2]
    if role in OPTIMIZER_ROLES and bare in names.bare_classes:
        node["class_name"] = bare  # Keras 2.11 registered its own optimizers as "Custom>Adam"
    if role in WRAPPED_ROLES and f"keras.layers.{name}" in names.classes:
        node |= {"module": "keras.layers", "registered_name": None}  # Keras 3 looks here by module only
    if isinstance(config, dict) and "layers" in config:
        node["config"] = with_calls(config)
    return _with_module(node, names)


def _with_module(node: dict[str, Any], names: KerasNames) -> dict[str, Any]:
    """Keras leaves modules out of HDF5 files and then can't find two kinds of its own classes again: operations
    (x * 2), which look like layers there, and the layers that only keras.applications has.
    """
    if "module" in node:
        return node
    name = node["class_name"]
    module = names.module_of(name, OPERATIONS) if _is_operation(node) else None
    if module is None and name not in names.bare_classes:
        module = names.module_of(name, APPLICATIONS)
    return {**node, "module": module, "registered_name": None} if module else node


def _is_operation(node: dict[str, Any]) -> bool:
    """An operation's configuration has no `trainable`, which every layer's has, and it is called with `args`."""
    config, calls = node.get("config"), node.get("inbound_nodes")
    called = isinstance(calls, list) and calls and isinstance(calls[0], dict)
    return bool(called and isinstance(config, dict) and "trainable" not in config)
