"""Models of a few layers as configurations, written without Keras: rebuilt and traced by a real worker."""

from typing import Any

from planner_app.core.model.description import CheckedModel

Config = dict[str, Any]


def layer(class_name: str, name: str, *inputs: str, **options: Any) -> Config:
    tensors = [
        {"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32", "keras_history": [i, 0, 0]}}
        for i in inputs
    ]
    args = [tensors] if class_name in ("Add", "Concatenate") else tensors
    return {
        "module": "keras.layers",
        "class_name": class_name,
        "config": {"name": name, "trainable": True, "dtype": "float32", **options},
        "registered_name": None,
        "name": name,
        "inbound_nodes": [{"args": args, "kwargs": {}}] if inputs else [],
    }


def input_layer(*shape: int | None, name: str = "x", dtype: str = "float32") -> Config:
    made = layer("InputLayer", name)
    return made | {"config": {"name": name, "batch_shape": [None, *shape], "dtype": dtype}}


def functional(*layers: Config, loss: Any = None) -> CheckedModel:
    """Inputs are the input layers; the one output is the last layer's."""
    inputs = [[each["name"], 0, 0] for each in layers if each["class_name"] == "InputLayer"]
    config = {"name": "tiny", "trainable": True, "layers": list(layers), "input_layers": inputs}
    config["output_layers"] = [[layers[-1]["name"], 0, 0]]
    whole = {"module": "keras.src.models.functional", "class_name": "Functional", "config": config}
    return CheckedModel("tiny", "keras", whole, compile_config={"loss": loss} if loss else None)


def chain(*layers: Config, **more: Any) -> CheckedModel:
    """Each layer reads the one before it."""
    joined = list(layers[:1])
    for each in layers[1:]:
        nodes = layer("", "", joined[-1]["name"])["inbound_nodes"]
        joined.append(each | {"inbound_nodes": nodes})
    return functional(*joined, **more)


def dense_net(*hidden: int, inputs: int = 64, outputs: int = 10, **more: Any) -> CheckedModel:
    """Dense layers with relu, `dense_0`, `dense_1` ..., then `out`."""
    layers = [layer("Dense", f"dense_{n}", units=units, activation="relu") for n, units in enumerate(hidden)]
    return chain(input_layer(inputs), *layers, layer("Dense", "out", units=outputs), **more)


def conv_net(blocks: int = 2, *, normed: bool = True) -> CheckedModel:
    layers = [input_layer(16, 16, 3)]
    for n in range(blocks):
        layers.append(layer("Conv2D", f"conv_{n}", filters=8, kernel_size=3, padding="same"))
        layers += [layer("BatchNormalization", f"norm_{n}")] * normed
        layers.append(layer("ReLU", f"relu_{n}"))
    return chain(*layers, layer("GlobalAveragePooling2D", "pool"), layer("Dense", "out", units=4))


def gelu_net(blocks: int = 5) -> CheckedModel:
    """A convolution and a gelu each time, which keeps several tensors for its gradient unless it is rematerialised."""
    layers = [input_layer(16, 16, 3)]
    for n in range(blocks):
        layers.append(layer("Conv2D", f"conv_{n}", filters=8, kernel_size=3, padding="same"))
        layers.append(layer("Activation", f"gelu_{n}", activation="gelu"))
    return chain(*layers, layer("GlobalAveragePooling2D", "pool"), layer("Dense", "out", units=4))


def transformer(length: int = 8, width: int = 16) -> CheckedModel:
    return functional(
        input_layer(length, width),
        layer("LayerNormalization", "norm_a", "x"),
        layer("MultiHeadAttention", "attend", "norm_a", "norm_a", num_heads=2, key_dim=width // 2),
        layer("Add", "add_a", "x", "attend"),
        layer("LayerNormalization", "norm_b", "add_a"),
        layer("Dense", "up", "norm_b", units=4 * width, activation="gelu"),
        layer("Dense", "down", "up", units=width),
        layer("Add", "add_b", "add_a", "down"),
        layer("GlobalAveragePooling1D", "pool", "add_b"),
        layer("Dense", "out", "pool", units=4),
    )


def recurrent(length: int | None = 6, kind: str = "LSTM") -> CheckedModel:
    return chain(input_layer(length, 8), layer(kind, kind.lower(), units=16), layer("Dense", "out", units=4))
