"""Live models, in a process that has TensorFlow: `python live_models.py FOLDER`. The answer is one line of JSON."""

import json
import sys
from pathlib import Path

import keras
import numpy as np

from planner_app import open_model
from planner_app.jobs.pool import WorkerPool
from planner_app.planner import planner
from planner_app.train import fits

BATCH = 32
OPTIMIZERS = {
    "SGD with momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "Adam amsgrad": lambda: keras.optimizers.Adam(amsgrad=True),
    "AdamW with EMA": lambda: keras.optimizers.AdamW(use_ema=True),
    "LAMB": lambda: keras.optimizers.Lamb(),
}


def scale() -> float:
    return 2.0


class Scaled(keras.layers.Layer):
    """A class of the script's own, which calls a function of the script's own."""

    def __init__(self, units: int, **more: object) -> None:
        super().__init__(**more)
        self.units, self.dense = units, keras.layers.Dense(units)

    def build(self, shape: tuple[int | None, ...]) -> None:
        self.dense.build(shape)
        super().build(shape)

    def call(self, inputs: object) -> object:
        return self.dense(inputs) * scale()

    def get_config(self) -> dict[str, object]:
        return {**super().get_config(), "units": self.units}


def plain(optimizer: keras.optimizers.Optimizer) -> keras.Model:
    inputs = keras.Input((48,))
    model = keras.Model(inputs, keras.layers.Dense(8)(keras.layers.Dense(300, activation="relu")(inputs)))
    model.compile(optimizer, "mse")
    return model


def bytes_of(estimate) -> list[int]:
    return [estimate.peak_bytes, estimate.low_bytes, estimate.high_bytes, estimate.live_bytes, estimate.state_bytes]


def compared(folder: Path) -> dict[str, list[list[int]]]:
    """The same model, live and saved with its optimizer."""
    found = {}
    for name, make in OPTIMIZERS.items():
        model, file = plain(make()), folder / "model.keras"
        model.save(file)
        saved = open_model(file, progress=False).estimate(BATCH)
        found[name] = [bytes_of(fits(model, BATCH)), bytes_of(saved)]
    return found


def untouched() -> dict[str, object]:
    """A trained model with a class of its own: what it is and knows stays as it was."""
    inputs = keras.Input((16,))
    model = keras.Model(inputs, keras.layers.Dense(1)(Scaled(64)(inputs)))
    model.compile(keras.optimizers.Adam(), keras.losses.Huber(delta=2.0))
    model.fit(np.ones((8, 16)), np.ones((8, 1)), verbose=0)
    before = [np.array(each) for each in (*model.weights, *model.optimizer.variables)]
    estimate = open_model(model, progress=False).estimate(BATCH)
    after = [np.array(each) for each in (*model.weights, *model.optimizer.variables)]
    same = all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    return {
        "same": same,
        "layers": [layer.class_name for layer in estimate.layers],
        "assumed": estimate.trained.assumed,
    }


class Tower(keras.Model):
    """Its configuration says how wide it is, and not what became of its layers."""

    def __init__(self, units: int, **more: object) -> None:
        super().__init__(**more)
        self.units, self.first, self.last = units, keras.layers.Dense(units), keras.layers.Dense(units)

    def call(self, inputs: object) -> object:
        return self.last(self.first(inputs))

    def get_config(self) -> dict[str, object]:
        return {"units": self.units}


def power(exponent: int):
    def loss(given, said):
        return keras.ops.mean((given - said) ** exponent, axis=-1)

    return loss


def tuned() -> dict[str, object]:
    """A frozen layer, an adapted one, and a loss that was made by a function: only the live model knows of them."""
    found = {}
    for name in ("as made", "tuned"):
        model = Tower(200)
        model(np.ones((1, 200)))
        if name == "tuned":
            model.first.trainable = False
            model.last.enable_lora(2)
        model.compile("adam", power(4))
        estimate = open_model(model, progress=False).estimate(BATCH)
        found[name] = [estimate.state_bytes, sum(int(np.prod(each.shape)) for each in model.trainable_variables)]
        found["trained"] = [estimate.trained.loss, estimate.trained.assumed]
    return found


if __name__ == "__main__":
    with WorkerPool() as workers:
        planner.WorkerPool = lambda: workers  # TensorFlow is imported once for all these models
        print(json.dumps({"compared": compared(Path(sys.argv[1])), "own": untouched(), "tuned": tuned()}))  # noqa: T201
