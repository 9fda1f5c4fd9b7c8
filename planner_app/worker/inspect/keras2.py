"""The graph of a Keras 2 model, written the way Keras 3 writes it.

Keras 2 writes a call as a list of references, `[["conv", 0, 0, {"mask": ["mask", 0, 0]}]]`: layer, its n-th call, its
n-th output, other arguments. Keras 3 reads the simplest of these only, and counts calls of nested models differently.
"""

from typing import Any

MODELS = frozenset({"Functional", "Sequential", "Model"})
CONSTANT = "_CONSTANT_VALUE"


def with_calls(config: dict[str, Any]) -> dict[str, Any]:
    """A model's own configuration with every call of every layer in the form of Keras 3."""
    layers = config.get("layers")
    if not isinstance(layers, list) or not all(isinstance(layer, dict) for layer in layers):
        return config
    names = {_name(layer) for layer in layers}
    nested = {_name(layer): str(layer.get("class_name")) for layer in layers if _is_model(layer)}
    changed = [
        {**layer, "inbound_nodes": [_call(call, names, nested) for call in layer["inbound_nodes"]]}
        if isinstance(layer.get("inbound_nodes"), list)
        else layer
        for layer in layers
    ]
    outputs = _outputs(config.get("output_layers"), nested)
    return {**config, "layers": changed, **({"output_layers": outputs} if "output_layers" in config else {})}


def _name(layer: dict[str, Any]) -> str:
    return str(layer.get("name"))


def _is_model(layer: dict[str, Any]) -> bool:
    config = layer.get("config")
    return str(layer.get("class_name")) in MODELS or (
        isinstance(config, dict) and isinstance(config.get("layers"), list)
    )


def _call(call: Any, names: set[str], nested: dict[str, str]) -> Any:
    if isinstance(call, dict) and "args" in call:
        return call
    if isinstance(call, dict):
        return {"args": [{key: _argument(item, names, nested) for key, item in call.items()}], "kwargs": {}}
    if not isinstance(call, list) or not call:
        return call
    inputs = [_argument(item, names, nested) for item in call]
    last = call[-1]
    others = last[3] if isinstance(last, list) and len(last) == 4 and isinstance(last[3], dict) else {}
    kwargs = {key: _argument(value, names, nested) for key, value in others.items()}
    return {"args": inputs if len(inputs) == 1 else [inputs], "kwargs": kwargs}


def _argument(value: Any, names: set[str], nested: dict[str, str]) -> Any:
    """A tensor for a reference, the value for anything else."""
    if not isinstance(value, list):
        return value
    if len(value) >= 3 and value[0] == CONSTANT:
        return value[2]
    is_reference = len(value) in (3, 4) and isinstance(value[0], str) and all(isinstance(n, int) for n in value[1:3])
    if is_reference and value[0] in names:
        number = value[1] - (1 if value[0] in nested else 0)
        history = {"shape": [], "dtype": "float32", "keras_history": [value[0], number, value[2]]}
        return {"class_name": "__keras_tensor__", "config": history}
    return [_argument(item, names, nested) for item in value]


def _outputs(value: Any, nested: dict[str, str]) -> Any:
    """Keras 2 counts a nested model's own graph as its first call. Keras 3 expects that of Functional models only."""
    if isinstance(value, dict):
        return {key: _outputs(item, nested) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) == 3 and isinstance(value[0], str) and isinstance(value[1], int):
        return [value[0], value[1] - 1, value[2]] if nested.get(value[0]) == "Sequential" else value
    return [_outputs(item, nested) for item in value]
