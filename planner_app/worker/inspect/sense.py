"""Does the configuration make sense: sizes that can be, names that are there once, references that lead somewhere."""

from typing import Any

from planner_app.worker.inspect.allowed.objects import Node, layers_of
from planner_app.worker.inspect.refusal import Refused

MAX_SIZE = 2**31 - 1  # TensorFlow counts along one dimension in 32 bits in most kernels
MAX_RANK = 32
MAX_INTEGER = 2**63 - 1
MAX_NAME = 1000
MAX_LAYERS = 50_000  # rebuilding takes longer than anybody waits
MAX_RECURRENT = 500  # tracing takes about a third of a second for each
RECURRENT = frozenset(
    "RNN SimpleRNN SimpleRNNCell LSTM LSTMCell GRU GRUCell CuDNNLSTM CuDNNGRU ConvLSTM1D ConvLSTM2D ConvLSTM3D "
    "ConvLSTMCell StackedRNNCells".split()
)
CONTAINERS = frozenset({"Functional", "Sequential", "Model"})

# One whole number, at least 1.
COUNTS = frozenset(
    {"units", "filters", "input_dim", "output_dim", "num_heads", "key_dim", "value_dim", "num_query_heads"}
    | {"num_key_value_heads", "head_dim", "groups", "depth_multiplier", "n", "height", "width"}
    | {"num_bins", "num_tokens", "max_tokens"}
)
# One whole number or several, at least 1.
EXTENTS = frozenset({"kernel_size", "strides", "pool_size", "dilation_rate"})
# Shapes: whole numbers at least 1, or unknown.
SHAPES = frozenset({"batch_shape", "batch_input_shape", "build_input_shape", "input_shape"})
# Shapes in which -1 means "whatever is left".
LOOSE_SHAPES = frozenset({"target_shape"})
# Whole numbers at least 0, nested.
MARGINS = frozenset({"cropping"})


def check_sense(nodes: list[Node]) -> None:
    layers = sum(1 for node in nodes for _ in layers_of(node.value))
    if layers > MAX_LAYERS:
        raise Refused(f"it has {layers:,} layers; models of at most {MAX_LAYERS:,} are rebuilt")
    recurrent = sum(1 for node in nodes if node.class_name in RECURRENT)
    if recurrent > MAX_RECURRENT:
        raise Refused(
            f"it has {recurrent:,} recurrent layers and cells, each a loop that is traced by itself; models of at most "
            f"{MAX_RECURRENT:,} are rebuilt"
        )
    for node in nodes:
        config = node.value.get("config")
        _check_name(node.layer)
        if node.keras_own and isinstance(config, dict):
            for key, value in config.items():
                _check_field(node, key, value)
        if node.class_name in CONTAINERS or (isinstance(config, dict) and isinstance(config.get("layers"), list)):
            _check_graph(node)


def _check_name(name: str) -> None:
    if len(name) > MAX_NAME or not name.isprintable():
        raise Refused(f"a layer's name in it is not readable text: {name[:80]!r}. Rename the layer")


def _check_field(node: Node, key: str, value: Any) -> None:
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        _refuse(node, key, value, "a number of at most 64 bits")
    if value is None:
        return
    if key in COUNTS and not _is_size(value):
        _refuse(node, key, value, f"a whole number from 1 to {MAX_SIZE}")
    elif key in EXTENTS and not all(_is_size(item) for item in (value if isinstance(value, list) else [value])):
        _refuse(node, key, value, f"whole numbers from 1 to {MAX_SIZE}")
    elif key in SHAPES and isinstance(value, list):
        _check_shape(node, key, value, lowest=1)
    elif key in LOOSE_SHAPES and isinstance(value, list):
        _check_shape(node, key, value, lowest=-1)
    elif key in MARGINS and any(not _is_size(item, 0) for item in _flat(value)):
        _refuse(node, key, value, f"whole numbers from 0 to {MAX_SIZE}")


def _check_shape(node: Node, key: str, shape: list[Any], lowest: int) -> None:
    if shape and isinstance(shape[0], list):
        for part in shape:
            _check_shape(node, key, part if isinstance(part, list) else [part], lowest)
        return
    if len(shape) > MAX_RANK or not all(n is None or _is_size(n, lowest) for n in shape):
        _refuse(node, key, shape, f"at most {MAX_RANK} sizes, each from 1 to {MAX_SIZE} or unknown")


def _is_size(value: Any, lowest: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= MAX_SIZE


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, list) else [value]


def _refuse(node: Node, key: str, value: Any, expected: str) -> None:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    raise Refused(f"its layer {node.layer!r} ({node.class_name}) has {key} = {shown}, expected {expected}")


def _check_graph(node: Node) -> None:
    names: set[str] = set()
    for layer in layers_of(node.value):
        config = layer.get("config")
        name = layer.get("name") or (config.get("name") if isinstance(config, dict) else None)
        if not isinstance(name, str):
            continue
        if name in names:
            raise Refused(f"two layers of {node.layer!r} are both named {name!r}: the graph is not consistent")
        names.add(name)
    config = node.value.get("config")
    if node.class_name == "Functional" and not isinstance(config, dict):
        raise Refused(f"its model {node.layer!r} is a Functional whose layers nobody wrote down")
    if isinstance(config, dict) and (node.class_name == "Functional" or "output_layers" in config):
        if not names:
            raise Refused(f"its model {node.layer!r} has no layers")
        for key in ("input_layers", "output_layers"):
            for name in _referred(config.get(key)):
                if name not in names:
                    raise Refused(
                        f"{key} of {node.layer!r} name {name!r:.80}, no layer of it: the graph is not consistent"
                    )


def _referred(value: Any) -> list[str]:
    """Names in references: [name, node, tensor], alone, in lists or in dictionaries."""
    if isinstance(value, dict):
        return [name for item in value.values() for name in _referred(item)]
    if not isinstance(value, list):
        return []
    if len(value) == 3 and isinstance(value[0], str):
        return [value[0]]
    return [name for item in value for name in _referred(item)]
