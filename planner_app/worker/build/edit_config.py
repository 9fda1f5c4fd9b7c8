"""Pure changes to a model's configuration, made before it is rebuilt: precision, input sizes, what must not come back.

A configuration is a tree; an object in it is a dictionary with `class_name` and `config`. Keras 3 adds `module`,
Keras 2 has none. Every function returns a new tree and leaves the one it was given alone: Keras changes what it reads.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner_app.errors import SetupError

Config = dict[str, Any]
FLOATING = ("float", "bfloat", "mixed_", "double", "half")
MODELS = frozenset({"Functional", "Sequential", "Model"})
WITHOUT_DTYPE = MODELS | {"Pipeline"}  # the only layer of Keras 3.15 that takes none: its layers have theirs
VALUES = frozenset({"__keras_tensor__", "__tensor__", "__numpy__", "__typespec__"})
BUILT_WITH = frozenset({"query_shape", "key_shape", "value_shape"})  # Keras 2's attention: found again by the graph
SHAPE_KEYS = ("batch_shape", "batch_input_shape", "build_input_shape")


def is_object(tree: Any) -> bool:
    return isinstance(tree, Mapping) and isinstance(tree.get("class_name"), str) and "config" in tree


def copied(tree: Any, change: Callable[[Config, str], Config] | None = None, role: str = "") -> Any:
    """A deep copy; `change` sees every object of the tree after its children, and the key it was found under."""
    if isinstance(tree, Mapping):
        copy: Any = {key: copied(value, change, key) for key, value in tree.items()}
        return change(copy, role) if change and is_object(copy) else copy
    if isinstance(tree, (list, tuple)):
        return [copied(value, change, role) for value in tree]
    return tree


def without_training(tree: Any) -> Any:
    """No model in the tree, nested ones included, compiles itself when rebuilt."""
    return copied(tree, lambda node, _: {k: v for k, v in node.items() if k != "compile_config"})


def with_precision(tree: Any, precision: str) -> Any:
    """Every layer computes in `precision`. Inputs, integer and string layers keep their own dtypes, and so do casts."""

    def change(node: Config, role: str) -> Config:
        config = node["config"]
        if not isinstance(config, dict) or not _has_policy(node):
            return node
        if "dtype" in config:
            if _is_floating(config["dtype"]):
                mode = _quantized(config["dtype"])
                config["dtype"] = f"{mode}_from_{precision}" if mode else precision
        elif role in ("layers", "layer") and node["class_name"] not in WITHOUT_DTYPE and _is_keras_own(node):
            config["dtype"] = precision  # Keras 2.2 wrote no dtype: the layer would follow the process, not the setup
        return node

    return copied(tree, change)


def _has_policy(node: Config) -> bool:
    is_operation = str(node.get("module") or "").startswith(("keras.ops", "keras.src.ops"))
    return not is_operation and node["class_name"] not in VALUES | {"InputLayer"}


def _is_keras_own(node: Config) -> bool:
    module = node.get("module", "keras.layers")
    return isinstance(module, str) and module.split(".")[0] == "keras"


def _quantized(dtype: Any) -> str:
    """The mode of a policy that keeps weights in fewer bits, "int8" of `int8_from_float32`; "" for any other."""
    inner = dtype.get("config") if isinstance(dtype, Mapping) else None
    if isinstance(inner, Mapping):
        return inner["mode"] if isinstance(inner.get("mode"), str) else _quantized(inner.get("name"))
    return dtype.partition("_from_")[0] if isinstance(dtype, str) and "_from_" in dtype else ""


def _is_floating(dtype: Any) -> bool:
    """Of a dtype, a policy's name, or a serialised policy; nothing at all means Keras' default, which is floating."""
    if isinstance(dtype, Mapping):
        inner = dtype.get("config")
        name = inner.get("name") if isinstance(inner, Mapping) else None
        return _is_floating(name) if name else "Policy" in str(dtype.get("class_name"))
    return dtype is None or (isinstance(dtype, str) and (dtype.startswith(FLOATING) or "_from_" in dtype))


def with_input_layers(tree: Config, dims: Sequence[int] | None = None) -> Config:
    """Sequential models that say their input's shape elsewhere, or not at all, get an input layer that says it.

    Keras would make one itself, under a name that depends on what else the process has built. `dims` is the shape of
    the outermost model's input where the configuration has none.
    """
    changed: Config = copied(tree, lambda node, _: _with_input_layer(node, None))
    return _with_input_layer(changed, dims)


def _with_input_layer(node: Config, dims: Sequence[int] | None) -> Config:
    config = node["config"]
    if node["class_name"] != "Sequential":
        return node
    if isinstance(config, list):  # Keras 2.0 wrote the bare list of layers
        config = {"name": "sequential", "layers": config}
    layers = config.get("layers") if isinstance(config, dict) else None
    if not layers or not is_object(layers[0]) or not isinstance(layers[0]["config"], dict):
        return {**node, "config": config}
    first, inner = layers[0], layers[0]["config"]
    shape = [None, *dims] if dims is not None else inner.get("batch_input_shape") or config.get("build_input_shape")
    layers = [_without_input_shape(layer) for layer in layers]
    if first["class_name"] != "InputLayer" and isinstance(shape, list) and shape:
        dtype = inner["dtype"] if isinstance(inner.get("dtype"), str) else None
        name = f"{inner.get('name', 'first')}_input"
        added: Config = {
            "class_name": "InputLayer",
            "config": {"batch_shape": shape, "dtype": dtype, "name": name},
        }
        layers.insert(0, added | {key: first[key] for key in ("module", "registered_name") if key in first})
        if "module" in first:
            layers[0]["module"] = "keras.layers"
    return {**node, "config": {**config, "layers": layers}}


def _without_input_shape(layer: Any) -> Any:
    """Keras 2 wrote a model's input shape into its first layer as well."""
    if not is_object(layer) or not isinstance(layer["config"], dict) or layer["class_name"] == "InputLayer":
        return layer
    return {**layer, "config": {key: value for key, value in layer["config"].items() if key != "batch_input_shape"}}


def with_accepted_options(tree: Any, accepted: Callable[[str], frozenset[str] | None]) -> Any:
    """Layers of Keras 2 without the options that Keras 3 no longer knows, where they say nothing: None, False, 1.

    `accepted` gives the options a class of Keras takes; None for a class it does not know.
    """

    def change(node: Config, _role: str) -> Config:
        known = accepted(node["class_name"]) if node.get("module", "keras.layers") == "keras.layers" else None
        if known is not None and isinstance(node["config"], dict):
            node["config"] = {
                key: value
                for key, value in node["config"].items()
                if key in known or not (key in BUILT_WITH or value in (None, False, 1))
            }
        return node

    return copied(tree, change)


def input_shapes(tree: Config) -> dict[str, list[int | None]]:
    """The inputs of the outermost model by name, batch dimension included."""
    config = tree.get("config")
    layers = config.get("layers", []) if isinstance(config, dict) else []
    found = {}
    for layer in layers:
        if is_object(layer) and layer["class_name"] == "InputLayer" and isinstance(layer["config"], dict):
            shape = next((layer["config"][key] for key in SHAPE_KEYS if layer["config"].get(key)), None)
            if isinstance(shape, list):
                found[str(layer["config"].get("name"))] = shape
    return found


def with_sizes(tree: Config, sizes: Mapping[str, Sequence[int]]) -> Config:
    """The model's inputs get these sizes (batch left out); nested models fed by an input of the old size follow."""
    before = input_shapes(tree)
    for name, dims in sizes.items():
        if name not in before:
            raise SetupError(
                f"The model has no input named {name!r}: its inputs are {', '.join(before) or 'not known'}."
            )
        if len(dims) != len(before[name]) - 1:
            raise SetupError(
                f"Input {name!r} takes {len(before[name]) - 1} sizes beside the batch, as in {before[name][1:]}; "
                f"{len(dims)} came: {list(dims)}."
            )
    resized = {tuple(before[name]): [before[name][0], *dims] for name, dims in sizes.items()}

    def change(node: Config, _role: str) -> Config:
        config = node["config"]
        node.pop("build_config", None)  # it holds shapes of the old size; the graph builds every layer anyway
        if isinstance(config, dict):
            named = sizes.get(str(config.get("name"))) if node["class_name"] == "InputLayer" else None
            for key in SHAPE_KEYS:
                shape = config.get(key)
                if isinstance(shape, list) and named is not None and len(shape) == len(named) + 1:
                    config[key] = [shape[0], *named]
                elif isinstance(shape, list) and tuple(shape) in resized:
                    config[key] = resized[tuple(shape)]
        return node

    changed: Config = copied(tree, change)
    return changed
