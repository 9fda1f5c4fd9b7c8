"""Run out of memory for real, on the CPU, through the allocator that GPUs use, and let TensorFlow write its log.

    python tests/doctor/provoke.py CASE LIMIT_MIB 2> case.log

Once in a process: TensorFlow never gives memory back. Each case is what a user's script would do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "0",  # the dump is of level INFO
    "CUDA_VISIBLE_DEVICES": "-1",
    "TF_CPU_ALLOCATOR_USE_BFC": "1",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}


def _conv_net() -> Any:
    import keras
    from keras import layers as L

    inputs = keras.Input((64, 64, 3))
    x = L.Conv2D(32, 3, padding="same", activation="relu", name="stem")(inputs)
    x = L.BatchNormalization(name="norm")(x)
    x = L.Conv2D(64, 3, padding="same", activation="relu", name="wide")(x)
    x = L.MaxPooling2D(name="pool")(x)
    x = L.Conv2D(64, 3, padding="same", activation="relu", name="deep")(x)
    return keras.Model(inputs, L.Dense(10, name="head")(L.GlobalAveragePooling2D()(x)))


def _train(model: Any, batch: int, *, samples: int = 0, optimizer: str = "adam", **more: Any) -> None:
    import numpy as np

    model.compile(optimizer=optimizer, loss="mean_squared_error", jit_compile=more.pop("jit", False))
    rng = np.random.default_rng(0)
    count = samples or batch
    xs = [_array(rng, (count, *t.shape[1:]), t.dtype) for t in model.inputs]
    ys = [_array(rng, (count, *t.shape[1:]), "float32") for t in model.outputs]
    model.fit(xs[0] if len(xs) == 1 else xs, ys[0] if len(ys) == 1 else ys, batch_size=batch, **more)


def _array(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return rng.integers(0, 2, shape).astype(dtype) if "int" in dtype else rng.random(shape, dtype="float32")


def convolution() -> None:
    _train(_conv_net(), 128)


def backward() -> None:
    """The forward pass fits; what the gradients want on top does not."""
    _train(_conv_net(), 64, optimizer="sgd")


def optimizer_state() -> None:
    import keras
    from keras import layers as L

    model = keras.Sequential([keras.Input((64,)), L.Dense(4096, name="first"), L.Dense(4096, name="second")])
    _train(model, 8)


def weights() -> None:
    import keras
    from keras import layers as L

    keras.Sequential([keras.Input((512,)), L.Dense(8192, name="first"), L.Dense(8192, name="second")])


def lstm() -> None:
    import keras
    from keras import layers as L

    inputs = keras.Input((60,), dtype="int32")
    x = L.LSTM(128, name="recurrent")(L.Embedding(5000, 64, name="words")(inputs))
    _train(keras.Model(inputs, L.Dense(1, name="head")(x)), 256)


def transformer() -> None:
    import keras
    from keras import layers as L

    inputs = keras.Input((96,), dtype="int32")
    x = L.Embedding(2000, 128, name="words")(inputs)
    for number in range(2):
        a = L.LayerNormalization(name=f"norm_{number}")(x)
        x = L.Add()([x, L.MultiHeadAttention(4, 32, name=f"attention_{number}")(a, a)])
        x = L.Add()([x, L.Dense(128, name=f"down_{number}")(L.Dense(512, activation="gelu", name=f"up_{number}")(x))])
    _train(keras.Model(inputs, L.Dense(2000, name="logits")(x)), 64)


def unet() -> None:
    import keras
    from keras import layers as L

    inputs = keras.Input((96, 96, 1))
    x, skips = inputs, []
    for number, filters in enumerate((16, 32)):
        x = L.Conv2D(filters, 3, padding="same", activation="relu", name=f"down_{number}")(x)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    for number, (filters, skip) in enumerate(zip((32, 16), reversed(skips), strict=True)):
        x = L.Concatenate(name=f"join_{number}")([L.UpSampling2D()(x), skip])
        x = L.Conv2D(filters, 3, padding="same", activation="relu", name=f"up_{number}")(x)
    _train(keras.Model(inputs, L.Conv2D(1, 1, name="mask")(x)), 32)


def mixed() -> None:
    import keras

    keras.config.set_dtype_policy("mixed_float16")
    _train(_conv_net(), 128)


def embedding() -> None:
    import keras
    from keras import layers as L

    inputs = keras.Input((16,), dtype="int32")
    x = L.GlobalAveragePooling1D()(L.Embedding(400_000, 64, name="words")(inputs))
    _train(keras.Model(inputs, L.Dense(1, name="head")(x)), 32)


def models_pile_up() -> None:
    """Models trained one after the other, none of which is given up."""
    import keras
    from keras import layers as L

    kept = []
    for _ in range(40):
        model = keras.Sequential([keras.Input((256,)), L.Dense(1024), L.Dense(256)])
        kept.append(model)
        _train(model, 16, samples=64, epochs=2, verbose=2)


def results_pile_up() -> None:
    """A custom loop that keeps every step's output."""
    import keras
    import numpy as np
    import tensorflow as tf

    model = _conv_net()
    model.compile(optimizer="sgd", loss="mean_squared_error", jit_compile=False)
    kept = []

    class Keep(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            kept.append(tf.random.normal((512, 1024)))

    xs, ys = np.zeros((512, 64, 64, 3), "float32"), np.zeros((512, 10), "float32")
    model.fit(xs, ys, batch_size=4, epochs=3, callbacks=[Keep()])


def own_loop(says: bool = True) -> None:
    """Without fit(): what each step computed is kept in a list."""
    import keras
    import tensorflow as tf

    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(2048, name="wide"), keras.layers.Dense(1)])
    optimizer, kept = keras.optimizers.SGD(), []
    for step in range(10_000):
        x = tf.random.normal((256, 64))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        kept.append(model.layers[0](x))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        if says and step % 5 == 0:
            sys.stderr.write(f"step {step}: loss {float(loss):.4f}\n")


def silent_loop() -> None:
    own_loop(says=False)


def lengths_grow() -> None:
    """Each batch is longer than the one before: what was free for one is too small a piece for the next."""
    import keras
    import numpy as np
    from keras import layers as L

    inputs = keras.Input((None, 32))
    x = L.GlobalMaxPooling1D()(L.Conv1D(256, 5, padding="same", name="scan")(inputs))
    model = keras.Model(inputs, L.Dense(1)(x))
    model.compile(optimizer="adam", loss="mean_squared_error", jit_compile=False)

    class Longer(keras.utils.PyDataset):
        def __len__(self) -> int:
            return 60

        def __getitem__(self, number: int) -> tuple[Any, Any]:
            return np.zeros((16, 400 * (number + 1), 32), "float32"), np.zeros((16, 1), "float32")

    model.fit(Longer(), shuffle=False)


def fragmented() -> None:
    """Every other one of many buffers given back: half is free, and no piece is large."""
    import tensorflow as tf

    held = [tf.zeros((512, 1024)) for _ in range(40)]
    held = [each for number, each in enumerate(held) if number % 2]
    tf.zeros((8192, 1024))
    del held


def too_large() -> None:
    import tensorflow as tf

    tf.zeros((1 << 16, 1 << 14))


def array() -> None:
    """A whole data set handed over as one array."""
    import numpy as np
    import tensorflow as tf

    tf.data.Dataset.from_tensor_slices(np.zeros((50_000, 28, 28, 3), "float32"))


def validation() -> None:
    """Training fits; validation, with a larger batch, does not."""
    import numpy as np

    xs, ys = np.zeros((256, 64, 64, 3), "float32"), np.zeros((256, 10), "float32")
    _train(_conv_net(), 8, samples=16, validation_data=(xs, ys), validation_batch_size=256)


def compiled() -> None:
    _train(_conv_net(), 128, jit=True)


def session() -> None:
    """A session that was asked to tell who holds what."""
    import tensorflow as tf

    v1 = tf.compat.v1
    v1.disable_eager_execution()
    with v1.Session() as session:
        x = tf.random.normal((1024, 1024), name="noise")
        for number in range(30):
            x = tf.concat([x, tf.random.normal((1024, 1024))], 0, name=f"tower/join_{number}")
        options = v1.RunOptions(report_tensor_allocations_upon_oom=True)
        session.run(tf.reduce_sum(x), options=options)


def mirrored() -> None:
    import numpy as np
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = _conv_net()
        model.compile(optimizer="adam", loss="mean_squared_error", jit_compile=False)
    model.fit(np.zeros((256, 64, 64, 3), "float32"), np.zeros((256, 10), "float32"), batch_size=256)


CASES: dict[str, Callable[[], None]] = {
    case.__name__: case
    for case in (
        convolution,
        backward,
        optimizer_state,
        weights,
        lstm,
        transformer,
        unet,
        mixed,
        embedding,
        models_pile_up,
        results_pile_up,
        own_loop,
        silent_loop,
        lengths_grow,
        fragmented,
        too_large,
        array,
        validation,
        compiled,
        session,
        mirrored,
    )
}

if __name__ == "__main__":
    os.environ.update(ENVIRONMENT, TF_CPU_BFC_MEM_LIMIT_IN_MB=sys.argv[2])
    sys.stdout = sys.stderr  # one log, as on a terminal
    CASES[sys.argv[1]]()
