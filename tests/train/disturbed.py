"""A training script that is run under `plimsoll run` and disturbed: `python disturbed.py OUT.npz AS-JSON`.

AS-JSON is a `Disturbance`. It comes once in a run: a file beside OUT says that it did.
"""

import json
import os
import signal
import sys
from pathlib import Path

from planner_app.train import load_plan

plan = load_plan()

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

SAMPLES, FEATURES, WIDTH, EPOCHS = 5 * 1024 + 300, 32, 256, 3
out, told = Path(sys.argv[1]), json.loads(sys.argv[2])
done = out.with_suffix(".disturbed")


class Disturbing(keras.callbacks.Callback):
    """Takes the memory that the next step needs, or ends the process as nothing else can."""

    epoch = 0
    ballast: list = []

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 0:
            self.disturb([self.epoch, "first"])

    def on_train_batch_end(self, batch, logs=None):
        self.disturb([self.epoch, batch])

    def on_test_batch_begin(self, batch, logs=None):
        self.disturb([self.epoch, "validation"])

    def disturb(self, where):
        elsewhere = told["host"] is not None and told["host"] != plan.worker
        if where != told["at"] or done.exists() or elsewhere:
            return
        done.write_text(json.dumps({"process": os.getpid(), "rung": plan.rung}))
        if told["how"] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        limit = int(os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"]) << 20
        while limit - tf.config.experimental.get_memory_info("CPU:0")["current"] > told["left_bytes"]:
            self.ballast.append(tf.ones((1 << 16,)))


class Counting(keras.callbacks.Callback):
    """What was trained, by the run: a line for each update."""

    def on_train_batch_end(self, batch, logs=None):
        with out.with_suffix(".log").open("a") as file:
            file.write(f"{os.getpid()} {int(self.model.optimizer.iterations.numpy())}\n")


class Samples(keras.metrics.Metric):
    """How many samples were trained in an epoch."""

    def __init__(self):
        super().__init__(name="samples")
        self.total = self.add_weight(initializer="zeros", name="total")

    def update_state(self, y, predicted, sample_weight=None):
        self.total.assign_add(keras.ops.cast(keras.ops.shape(y)[0], "float32"))

    def result(self):
        return self.total


with plan.scope():
    keras.utils.set_random_seed(3)
    hidden = [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(4)]
    model = keras.Sequential(
        [keras.Input((FEATURES,)), *hidden[:2], keras.layers.Dropout(0.0), *hidden[2:], keras.layers.Dense(3)]
    )
    model.compile(plan.optimizer("adam"), loss="mse", metrics=["mae", Samples()], **plan.compile_options())

random = np.random.default_rng(7)
x = random.normal(size=(SAMPLES, FEATURES)).astype("float32")
y = x[:, :3] ** 2
stopping = keras.callbacks.EarlyStopping("loss", patience=50)
history = plan.fit(
    model,
    x,
    y,
    epochs=EPOCHS,
    validation_data=(x[:1500], y[:1500]),
    verbose=0,
    callbacks=[Counting(), Disturbing(), stopping],
)
state = [*model.trainable_variables, *model.optimizer.variables]
np.savez(out, *[variable.numpy() for variable in state])
said = {"history": history.history, "epochs": history.epoch, "updates": int(model.optimizer.iterations.numpy())}
out.with_suffix(".json").write_text(json.dumps(said | {"rung": plan.rung}))
