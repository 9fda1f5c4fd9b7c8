"""Inputs, front ends and compilations as people write them: dictionaries, text, states, several losses."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops


def dictionary_inputs():
    """Keys in an order that is not the alphabet's."""
    words = keras.Input((20,), name="words", dtype="int32")
    age = keras.Input((1,), name="age")
    body = keras.Input((6,), name="body")
    x = layers.GlobalAveragePooling1D()(layers.Embedding(500, 16)(words))
    x = layers.Dense(16, activation="relu")(layers.Concatenate()([x, age, body]))
    model = keras.Model({"words": words, "body": body, "age": age}, {"risk": layers.Dense(1, name="risk")(x)})
    model.compile(
        optimizer=keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 100, 0.9), momentum=0.9),
        loss={"risk": keras.losses.Huber(delta=2.0)},
        metrics={"risk": ["mae"]},
    )
    return model


def nested_inputs():
    left, right, flag = keras.Input((8,), name="left"), keras.Input((8,), name="right"), keras.Input((2,), name="flag")
    x = layers.Concatenate()([layers.Dense(8)(left), layers.Dense(8)(right), flag])
    model = keras.Model({"pair": [left, right], "flag": flag}, layers.Dense(3)(x))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def optional_input():
    class Add(layers.Layer):
        def call(self, x, extra=None):
            return x if extra is None else x + extra

    x, extra = keras.Input((12,), name="x"), keras.Input((12,), name="extra", optional=True)
    model = keras.Model({"x": x, "extra": extra}, layers.Dense(4)(Add()(x, extra)))
    model.compile("adam", "mse")
    return model


def text_front_end():
    text = keras.Input((), dtype="string", name="review")
    vectorize = layers.TextVectorization(
        max_tokens=200, output_sequence_length=24, vocabulary=[f"word{n}" for n in range(150)]
    )
    x = layers.Embedding(200, 24)(vectorize(text))
    x = layers.Bidirectional(layers.LSTM(16))(x)
    model = keras.Model(text, layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


def tabular_front_end():
    city, age = keras.Input((1,), dtype="string", name="city"), keras.Input((1,), name="age")
    code = layers.Flatten()(layers.Embedding(4, 3)(layers.StringLookup(vocabulary=["rome", "oslo", "lima"])(city)))
    bucket = layers.Embedding(8, 4)(layers.Discretization(bin_boundaries=[18.0, 30.0, 60.0])(age))
    x = layers.Concatenate()([code, layers.Flatten()(bucket), layers.Normalization(mean=40.0, variance=90.0)(age)])
    model = keras.Model({"city": city, "age": age}, layers.Dense(2, activation="softmax")(layers.Dense(16)(x)))
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(), metrics=["accuracy"])
    return model


def stateful_rnn():
    model = keras.Sequential(
        [keras.Input((10, 6), batch_size=16), layers.LSTM(12, stateful=True, return_sequences=True), layers.Dense(1)]
    )
    model.compile("rmsprop", "mae")
    return model


def written_batch():
    x = keras.Input((14, 14, 3), batch_size=16)
    y = layers.Flatten()(layers.Conv2D(8, 3, activation="relu")(x))
    model = keras.Model(x, layers.Dense(5)(ops.reshape(y, (16, -1))))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def augmented():
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Rescaling(1 / 255),
            layers.RandomFlip("horizontal"),
            layers.RandomRotation(0.1),
            layers.RandomZoom(0.1),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def several_losses():
    x = keras.Input((32,), name="x")
    y = layers.Dense(32, activation="relu")(x)
    model = keras.Model(
        x, [layers.Dense(1, name="price")(y), layers.Dense(6, name="kind")(y), layers.Dense(1, name="sold")(y)]
    )
    model.compile(
        optimizer=keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(1e-3, 1000, warmup_steps=10)),
        loss={
            "price": "mse",
            "kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "sold": keras.losses.BinaryFocalCrossentropy(from_logits=True),
        },
        loss_weights={"price": 0.5, "kind": 1.0, "sold": 2.0},
        metrics={"kind": ["accuracy"], "sold": [keras.metrics.AUC(from_logits=True)]},
        steps_per_execution=2,
    )
    return model


def own_loss_function():
    def pinball(y_true, y_pred):
        return ops.mean(ops.maximum(0.9 * (y_true - y_pred), -0.1 * (y_true - y_pred)), axis=-1)

    model = keras.Sequential([keras.Input((24,)), layers.Dense(32, activation="gelu"), layers.Dense(3)])
    model.compile(keras.optimizers.Lion(1e-4), pinball, metrics=["mae"])
    return model


def added_loss():
    x = keras.Input((40,))
    code = layers.Dense(8, activation="relu", activity_regularizer="l1")(x)

    class Rebuild(layers.Layer):
        def call(self, inputs):
            given, again = inputs
            self.add_loss(ops.mean((given - again) ** 2))
            return again

    model = keras.Model(x, Rebuild()([x, layers.Dense(40)(code)]))
    model.compile("adam")
    return model


def sample_weights():
    model = keras.Sequential([keras.Input((12,)), layers.Dense(24, activation="relu"), layers.Dense(3)])
    model.compile(
        "nadam",
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=["accuracy"],
    )
    return model, (np.zeros((8, 12), "float32"), np.zeros(8, "int64"), np.ones(8, "float32"))


def small_gpt():
    """Positions are embedded by a call on real numbers, as nanoGPT-like models do it."""
    tokens = keras.Input((48,), dtype="int32")
    x = layers.Embedding(600, 32)(tokens) + layers.Embedding(48, 32)(ops.arange(48))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(2, 16)(y, y, use_causal_mask=True)
        x = x + layers.Dense(32)(layers.Dense(64, activation="gelu")(layers.LayerNormalization()(x)))
    model = keras.Model(tokens, layers.Dense(600)(x))
    model.compile(
        keras.optimizers.AdamW(3e-4, clipnorm=1.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def detector():
    """Boxes and classes on a grid, two losses."""
    x = keras.Input((64, 64, 3))
    y = x
    for width in (8, 16, 32):
        y = layers.Conv2D(width, 3, 2, padding="same", activation="relu")(y)
    boxes = layers.Reshape((64, 4), name="boxes")(layers.Conv2D(4, 1)(y))
    classes = layers.Reshape((64, 5), name="classes")(layers.Conv2D(5, 1)(y))
    model = keras.Model(x, {"boxes": boxes, "classes": classes})
    model.compile(
        keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True),
        {"classes": keras.losses.CategoricalFocalCrossentropy(from_logits=True), "boxes": "huber"},
    )
    return model


def segmenter():
    x = keras.Input((48, 48, 3))
    skips, y = [], x
    for width in (8, 16):
        y = layers.SeparableConv2D(width, 3, padding="same", activation="relu")(y)
        skips.append(y)
        y = layers.MaxPooling2D()(layers.BatchNormalization()(y))
    for width in (16, 8):
        y = layers.Conv2DTranspose(width, 3, 2, padding="same", activation="relu")(y)
        y = layers.Concatenate()([y, skips.pop()])
    model = keras.Model(x, layers.Conv2D(4, 1)(y))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def speech_ctc():
    x = keras.Input((40, 20), name="frames")
    y = layers.Conv1D(32, 5, padding="same", activation="relu")(x)
    y = layers.Bidirectional(layers.GRU(16, return_sequences=True))(y)
    model = keras.Model(x, layers.Dense(12)(y))
    model.compile("adam", keras.losses.CTC())
    return model, (np.zeros((4, 40, 20), "float32"), np.ones((4, 9), "int32"))


class Forecaster(keras.Model):
    """Built by its first call, on a dataset that says its shapes."""

    def __init__(self):
        super().__init__()
        self.inside, self.out = layers.GRU(16), layers.Dense(1)

    def call(self, inputs, training=False):
        return self.out(self.inside(inputs["past"]) + inputs["season"])


def dataset_model():
    model = Forecaster()
    model.compile("adam", "mse")
    x = {"season": np.zeros((30, 16), "float32"), "past": np.zeros((30, 12, 4), "float32")}
    return model, tf.data.Dataset.from_tensor_slices((x, np.zeros((30, 1), "float32"))).batch(10)


def looked_up_numbers():
    """Integers that a table of TensorFlow's turns into others, and counts that a clamp makes as many as said."""
    shop, day = keras.Input((1,), dtype="int64", name="shop"), keras.Input((1,), dtype="int64", name="day")
    code = layers.CategoryEncoding(4, "one_hot")(layers.IntegerLookup(vocabulary=[12, 36, 1138])(shop))
    x = layers.Concatenate()([code, layers.CategoryEncoding(7, "multi_hot")(day)])
    model = keras.Model({"shop": shop, "day": day}, layers.Dense(1, activation="sigmoid")(layers.Dense(24)(x)))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


class Warming(keras.optimizers.schedules.LearningRateSchedule):
    """Without `get_config`, as most people write one."""

    def __call__(self, step):
        return 1e-3 * ops.minimum(1.0, ops.cast(step, "float32") / 100)


def nested_outputs():
    """Losses, targets and outputs of one structure, and a schedule of the author's own."""
    x = keras.Input((16,), name="x")
    y = layers.Dense(32, activation="relu")(x)
    outputs = {"where": {"box": layers.Dense(4)(y), "depth": layers.Dense(1)(y)}, "what": layers.Dense(6)(y)}
    model = keras.Model(x, outputs)
    model.compile(
        keras.optimizers.Adam(Warming()),
        {"where": {"box": "huber", "depth": None}, "what": keras.losses.CategoricalCrossentropy(from_logits=True)},
    )
    return model


def stateful_text():
    """The batch size is written into the model, and data comes beside it."""
    model = keras.Sequential(
        [
            keras.Input((None,), batch_size=16, dtype="int32"),
            layers.Embedding(64, 16),
            layers.GRU(24, return_sequences=True, stateful=True),
            layers.Dense(64),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, (np.zeros((16, 20), "int32"), np.zeros((16, 20), "int32"))


class Widening(keras.Model):
    """Told a shape by `build`, which its layers hear nothing of before the first step."""

    def __init__(self):
        super().__init__()
        self.inside, self.out = layers.Dense(96, activation="relu"), layers.Dense(48)

    def call(self, x):
        return self.out(self.inside(x))


def built_by_its_shape():
    model = Widening()
    model.build((None, 48))
    model.compile("adam", "mse")
    return model


def word_counts():
    """Keras says one dimension more of the counts than they have."""
    text = keras.Input((1,), dtype="string", name="text")
    counts = layers.TextVectorization(output_mode="count", ngrams=2, vocabulary=[f"word{n}" for n in range(60)])
    model = keras.Model(text, layers.Dense(3, activation="softmax")(layers.Dense(16, activation="relu")(counts(text))))
    model.compile("adam", "categorical_crossentropy")
    return model


class Words(layers.Layer):
    """Texts as numbers, so many for each: how long a text becomes stands in its configuration."""

    def __init__(self, sequence_length, **kwargs):
        super().__init__(**kwargs)
        self.sequence_length = sequence_length

    def call(self, texts):
        texts = tf.convert_to_tensor(texts)
        return {"token_ids": tf.zeros((tf.shape(texts)[0], self.sequence_length), tf.int32)}

    def get_config(self):
        return {**super().get_config(), "sequence_length": self.sequence_length}


class Task(keras.Model):
    """Carries a preprocessor, as KerasHub's tasks do."""

    preprocessor = None

    def preprocess_samples(self, x, y=None, sample_weight=None):
        return keras.utils.pack_x_y_sample_weight(self.preprocessor(x), y, sample_weight)


def prepared_texts():
    tokens = keras.Input((None,), dtype="int32", name="token_ids")
    x = layers.GlobalAveragePooling1D()(layers.Embedding(300, 24)(tokens))
    model = Task({"token_ids": tokens}, layers.Dense(4)(x))
    model.preprocessor = Words(20)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def texts_as_they_come():
    return prepared_texts(), (["one text", "another one"], np.zeros(2, "int32"))
