"""Ways to train that accumulation must not change: each a model, data, and what `compile` and `fit` are told.

    python matrix.py PLANS.json ANSWER.json     PLANS: {"cases": [...], "plans": {name: path}, "worker": n or null}

Every case is trained by Keras' own `fit` with the whole batch (where asked for), and by every plan.
"""

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quick_imports import import_quickly

from planner_app.train import load_plan

SAMPLES, BATCH, EPOCHS = 41, 16, 3  # the last batch has 9: ragged in steps, on devices and on hosts, one without any
HELD_OUT = 0.3
STEPS, FEATURES, WORDS, CLASSES = 7, 5, 11, 3

Case = tuple[Callable[[], Any], Callable[[], dict[str, Any]], dict[str, Any], Callable[[], dict[str, Any]]]


def vectors() -> dict[str, Any]:
    import numpy as np

    random = np.random.default_rng(1)
    x = random.normal(size=(SAMPLES, FEATURES)).astype("float32")
    return {"x": x, "y": (x[:, :CLASSES] ** 2 + random.normal(size=(SAMPLES, CLASSES)) / 10).astype("float32")}


def labels() -> dict[str, Any]:
    import numpy as np

    data = vectors()
    return data | {"y": np.random.default_rng(2).integers(0, CLASSES, SAMPLES)}


def words() -> dict[str, Any]:
    """Texts of very different lengths, padded with zeros, and a tag for each word."""
    import numpy as np

    random = np.random.default_rng(3)
    x = random.integers(1, WORDS, (SAMPLES, STEPS))
    lengths = np.where(np.arange(SAMPLES) % 4 == 0, STEPS, random.integers(1, 3, SAMPLES))
    x[np.arange(STEPS)[None] >= lengths[:, None]] = 0
    return {"x": x, "y": random.integers(0, CLASSES, (SAMPLES, STEPS))}


def two_targets() -> dict[str, Any]:
    data = vectors()
    return data | {"y": {"a": data["y"], "b": labels()["y"]}}


def weighted(make: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    def data() -> dict[str, Any]:
        import numpy as np

        return make() | {"sample_weight": np.random.default_rng(4).uniform(0, 3, SAMPLES).astype("float32")}

    return data


def weighted_words() -> dict[str, Any]:
    import numpy as np

    return words() | {"sample_weight": np.random.default_rng(4).uniform(0, 3, (SAMPLES, STEPS)).astype("float32")}


def dense(**options: Any) -> Any:
    import keras

    outputs = options.pop("outputs", CLASSES)
    return keras.Sequential(
        [keras.Input((FEATURES,)), keras.layers.Dense(8, "tanh", **options), keras.layers.Dense(outputs)]
    )


def tagger(cell: str = "LSTM") -> Any:
    import keras

    return keras.Sequential(
        [
            keras.Input((STEPS,), dtype="int32"),
            keras.layers.Embedding(WORDS, 4, mask_zero=True),
            getattr(keras.layers, cell)(6, return_sequences=True),
            keras.layers.Dense(CLASSES, activation="softmax"),
        ]
    )


def two_heads(heads: tuple[str, str] = ("a", "b")) -> Any:
    import keras

    x = keras.Input((FEATURES,), name="x")
    h = keras.layers.Dense(8, "tanh")(x)
    a = keras.layers.Dense(CLASSES, name=heads[0])(h)
    b = keras.layers.Dense(CLASSES, activation="softmax", name=heads[1])(h)
    return keras.Model(x, {heads[0]: a, heads[1]: b})


def adding(mean: bool) -> Callable[[], Any]:
    def build() -> Any:
        import keras

        class Adds(keras.layers.Layer):
            def call(self, x):
                self.add_loss((keras.ops.mean if mean else keras.ops.sum)(keras.ops.square(x)) * 0.01)
                return x

        x = keras.Input((FEATURES,))
        h = Adds()(keras.layers.Dense(8, "tanh")(x))
        return keras.Model(x, keras.layers.Dense(CLASSES)(h))

    return build


def own_loss(mean: bool) -> Callable[[], Any]:
    def build() -> Any:
        import keras

        class Own(keras.Model):
            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
                reduce = keras.ops.mean if mean else keras.ops.sum
                return super().compute_loss(x, y, y_pred, sample_weight) + reduce(keras.ops.abs(y - y_pred)) * 0.1

        x = keras.Input((FEATURES,))
        return Own(x, keras.layers.Dense(CLASSES)(keras.layers.Dense(8, "tanh")(x)))

    return build


def own_step() -> Any:
    import keras
    import tensorflow as tf

    class Own(keras.Model):
        def train_step(self, data):
            x, y = data[:2]
            with tf.GradientTape() as tape:
                loss = keras.ops.mean(keras.ops.square(y - self(x, training=True)))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"loss": loss}

    x = keras.Input((FEATURES,))
    return Own(x, keras.layers.Dense(CLASSES)(keras.layers.Dense(8, "tanh")(x)))


def scalar_metric(y: Any, predicted: Any) -> Any:
    import keras

    return keras.ops.mean(keras.ops.abs(y - predicted))


def loss(name: str, reduction: str | None = "sum_over_batch_size", **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        import keras

        return getattr(keras.losses, name)(reduction=reduction, **options)

    return make


SPARSE = "SparseCategoricalCrossentropy"
# name: model, data, arguments of compile (a function is called for its value), arguments of fit
CASES: dict[str, tuple[Callable[[], Any], Callable[[], dict[str, Any]], dict[str, Any], dict[str, Any]]] = {
    "plain": (dense, vectors, {"metrics": ["mae", scalar_metric]}, {"validation_split": HELD_OUT}),
    "masked": (lambda: tagger("SimpleRNN"), words, {"loss": SPARSE, "metrics": ["accuracy"]}, {}),
    "masked LSTM, weighted": (tagger, weighted_words, {"loss": SPARSE, "weighted_metrics": ["accuracy"]}, {}),
    "masked, by weight": (tagger, words, {"loss": loss(SPARSE, "mean_with_sample_weight")}, {}),
    "ignored class": (lambda: tagger("GRU"), words, {"loss": loss(SPARSE, ignore_class=1)}, {}),
    "sample weight": (dense, weighted(vectors), {"weighted_metrics": ["mae"]}, {}),
    "class weight": (
        dense,
        labels,
        {"loss": loss(SPARSE, from_logits=True)},
        {"class_weight": {0: 1.0, 1: 5.0, 2: 0.2}},
    ),
    "sum": (dense, vectors, {"loss": loss("MeanSquaredError", "sum")}, {}),
    "mean": (dense, vectors, {"loss": loss("Huber", "mean")}, {}),
    "by weight": (dense, weighted(vectors), {"loss": loss("MeanSquaredError", "mean_with_sample_weight")}, {}),
    "none": (dense, vectors, {"loss": loss("MeanSquaredError", None)}, {}),
    "two outputs": (
        two_heads,
        two_targets,
        {
            "loss": {"a": "mse", "b": SPARSE},
            "loss_weights": {"a": 0.3, "b": 2.0},
            "metrics": {"a": ["mae"], "b": ["accuracy"]},
        },
        {},
    ),
    "two outputs, weighted": (two_heads, weighted(two_targets), {"loss": {"a": "mse", "b": loss(SPARSE, "sum")}}, {}),
    "add_loss mean": (adding(True), vectors, {}, {}),
    "add_loss sum": (adding(False), vectors, {}, {}),
    "regularizers": (lambda: dense(kernel_regularizer="l2", activity_regularizer="l1"), vectors, {}, {}),
    "clipnorm": (dense, vectors, {"clipnorm": 0.05}, {}),
    "global_clipnorm": (dense, vectors, {"global_clipnorm": 0.05}, {}),
    "clipvalue": (dense, weighted(vectors), {"clipvalue": 0.01}, {}),
    "EMA": (dense, vectors, {"use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 3}, {}),
    "decay": (dense, vectors, {"weight_decay": 0.01}, {}),
    "loss scaling": (dense, vectors, {"scaled": True, "clipnorm": 0.05}, {}),
    "own compute_loss": (own_loss(True), vectors, {}, {}),
    "own compute_loss, sum": (own_loss(False), vectors, {}, {}),
    "own train_step": (own_step, vectors, {}, {}),
    "shuffled": (dense, vectors, {"metrics": ["mae"]}, {"shuffle": True}),
}
OPTIMIZER = (
    "clipnorm",
    "global_clipnorm",
    "clipvalue",
    "use_ema",
    "ema_momentum",
    "ema_overwrite_frequency",
    "weight_decay",
)


def compiled(case: str, plan: Any) -> Any:
    import keras

    build, _, options, _ = CASES[case]
    keras.utils.set_random_seed(5)
    model = build()
    settings = {name: options[name] for name in OPTIMIZER if name in options}
    optimizer = keras.optimizers.Adam(0.01, **settings)
    if options.get("scaled"):
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    rest = {name: made(value) for name, value in options.items() if name not in (*OPTIMIZER, "scaled")}
    model.compile(optimizer, **{"loss": "mse", **rest}, **(plan.compile_options() if plan is not None else {}))
    return model


def made(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: made(each) for name, each in value.items()}
    return value() if callable(value) and value is not scalar_metric else value


def trained(case: str, plan: Any, by_keras: bool) -> dict[str, Any]:
    import keras

    _, data, _, more = CASES[case]
    given = {"epochs": EPOCHS, "shuffle": False, "verbose": 0, **data(), **more}
    if plan is None:
        model = compiled(case, None)
    else:
        with plan.scope():
            model = compiled(case, plan)
    keras.utils.set_random_seed(6)
    history = model.fit(**given, batch_size=BATCH) if by_keras else plan.fit(model, **given)
    state = [*model.trainable_variables, *model.optimizer.variables]
    return {
        "state": [[str(each.path), each.numpy().tolist()] for each in state],
        "history": history.history,
        "updates": int(model.optimizer.iterations.numpy()),
    }


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    plans = {name: load_plan(path, worker=request["worker"]) for name, path in request["plans"].items()}
    largest = max(plans.values(), key=lambda plan: plan.entry.gpus)
    largest.strategy  # noqa: B018 -- the devices of all of them
    answer: dict[str, Any] = {}
    for case in request["cases"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answer.setdefault(case, {})
            if request["worker"] is None:
                found["keras"] = trained(case, None, by_keras=True)
            for name, plan in plans.items():
                try:
                    found[name] = trained(case, plan, by_keras=False)
                except Exception as error:
                    found[name] = {"error": f"{type(error).__name__}: {error}"[:2000]}
    Path(sys.argv[2]).write_text(json.dumps(answer))


if __name__ == "__main__":
    import_quickly()
    main()
