"""Real model files, made by Keras 3 and Keras 2 in a process of their own: `python maker.py FOLDER`.

Beside each model its parameters as Keras counts them, in counts.json.
"""

import json
import sys
import warnings
from pathlib import Path

from planner_app.worker.importing import quickly

with quickly():
    import keras
    import tf_keras
    from custom_classes import Scale, Shift, Tower, my_loss
    from keras import layers

folder = Path(sys.argv[1])
counts: dict[str, int] = {}


def keep(model, *names: str) -> None:
    for name in names:
        path = folder / name
        if path.suffix == ".json":
            path.write_text(model.to_json())
        else:
            model.save(path)
        if model.built:
            counts[name] = model.count_params()


def functional() -> keras.Model:
    pictures = keras.Input((16, 16, 3), name="pictures")
    x = layers.Conv2D(8, 3, padding="same", activation="relu", name="conv")(pictures)
    x = layers.Add(name="residual")([x, layers.BatchNormalization(name="norm")(x)])
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    model = keras.Model(pictures, layers.Dense(3, activation="softmax", name="classes")(x), name="small_cnn")
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss="categorical_crossentropy")
    return model


def mixed_bag() -> keras.Model:
    """Two inputs, two outputs, a frozen nested model, a shared layer, an operation, unknown and text sizes."""
    pictures = keras.Input((32, 32, 3), name="pictures")
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    words = keras.Input((1,), dtype="string", name="words")
    base = keras.Sequential(
        [keras.Input((32, 32, 3)), layers.Conv2D(8, 3, name="conv"), layers.GlobalAveragePooling2D(name="pool")],
        name="base",
    )
    base.trainable = False
    shared = layers.Dense(8, name="shared")
    sequence = layers.LSTM(8, name="lstm")(layers.Embedding(100, 8, name="embedding")(tokens))
    lookup = layers.StringLookup(vocabulary=["a", "b"], name="lookup")(words)
    text = layers.Flatten(name="flat")(layers.Embedding(5, 8, name="word_embedding")(lookup))
    x = shared(base(pictures)) + shared(sequence) * 2.0 + text
    outputs = [layers.Dense(3, name="kind")(x), layers.Dense(1, name="price")(x)]
    model = keras.Model([pictures, tokens, words], outputs, name="mixed_bag")
    model.compile("adamw", loss={"kind": "mse", "price": keras.losses.Huber()})
    return model


def keras_2() -> None:
    k = tf_keras.layers
    pictures = tf_keras.Input((16, 16, 3), name="pictures")
    x = k.BatchNormalization()(k.DepthwiseConv2D(3)(k.Conv2D(8, 3, name="conv")(pictures)))
    inner = tf_keras.Sequential([k.Dense(4, input_shape=(8,))], name="inner")
    y = inner(k.GlobalAveragePooling2D()(x))
    model = tf_keras.Model(pictures, k.Dense(3, name="classes")(y), name="old_cnn")
    model.compile("adam", "mse")
    keep(model, "old_cnn.h5", "old_cnn.json", "old_cnn.keras", "old_cnn_folder")
    query, value = tf_keras.Input((5, 8), name="query"), tf_keras.Input((7, 8), name="value")
    attention = k.MultiHeadAttention(2, 4)(query, value, return_attention_scores=False)
    keep(
        tf_keras.Model([query, value], k.Bidirectional(k.LSTM(4))(attention), name="old_attention"), "old_attention.h5"
    )
    tf_keras.mixed_precision.set_global_policy("mixed_float16")
    keep(tf_keras.Sequential([k.Dense(4, input_shape=(8,), name="half")], name="old_mixed"), "old_mixed.h5")


warnings.simplefilter("ignore")
keep(
    functional(),
    "functional.keras",
    "functional.h5",
    "functional.json",
    "h5_inside.keras",
    "name with 'quotes' é.keras",
)
(folder / "h5_inside.keras").unlink()
functional().save(folder / "plain.h5")
(folder / "plain.h5").rename(folder / "h5_inside.keras")
keep(mixed_bag(), "mixed_bag.keras", "mixed_bag.h5", "mixed_bag.json")
keep(keras.Sequential([keras.Input((4,)), layers.Dense(8), Scale(2.0), Shift()], name="own"), "custom_layers.keras")
tower = Tower(16, name="tower")
tower.build((None, 4))
tower.compile("adam", loss=my_loss)
keep(tower, "custom_model.keras")
small = functional()
small.compile("adam", loss=my_loss)
keep(small, "odd_loss.keras")
keep(keras.Sequential([layers.Dense(4), layers.Dense(2)], name="unbuilt"), "unbuilt.json")
keras.config.set_dtype_policy("mixed_bfloat16")
half = keras.Sequential(
    [keras.Input((4,)), layers.Dense(8), layers.Dense(2, dtype="float32", name="head")], name="half"
)
keep(half, "half.keras")
keras.config.set_dtype_policy("float32")
functional().export(folder / "exported", verbose=False)
(folder / "weights_only.weights.h5").unlink(missing_ok=True)
functional().save_weights(folder / "weights_only.weights.h5")
keras_2()
(folder / "counts.json").write_text(json.dumps(counts))
