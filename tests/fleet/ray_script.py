"""A training script for Ray Train's workers: `ray_script.py OUT [fill RANK]`. Without a plan it is plain Keras.

With `fill`, the memory that the next step needs is taken from one worker, once in a run: a file beside OUT says so.
"""

import os
import sys
from pathlib import Path

from planner_app.train import load_plan

plan = load_plan() if os.environ.get("PLIMSOLL_PLAN") else None

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

SAMPLES, FEATURES, WIDTH, BATCH, EPOCHS = 5 * 1024 + 300, 32, 256, 1024, 2
LEFT_BYTES = 3 << 20  # less than a step of the first rung takes, more than one of the second
out = Path(sys.argv[1])
filled = out.with_suffix(".filled")


class Filling(keras.callbacks.Callback):
    ballast: list = []

    def on_train_batch_end(self, batch, logs=None):
        if batch != 2 or filled.exists() or sys.argv[2:] != ["fill", str(plan.worker)]:
            return
        filled.touch()
        limit = int(os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"]) << 20
        while limit - tf.config.experimental.get_memory_info("CPU:0")["current"] > LEFT_BYTES:
            self.ballast.append(tf.ones((1 << 16,)))


def built():
    keras.utils.set_random_seed(3)
    hidden = [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(4)]
    return keras.Sequential([keras.Input((FEATURES,)), *hidden, keras.layers.Dense(3)])


random = np.random.default_rng(7)
x = random.normal(size=(SAMPLES, FEATURES)).astype("float32")
y = x[:, :3] ** 2
if plan is None:
    model = built()
    model.compile(keras.optimizers.Adam(), loss="mse", jit_compile=False)
    model.fit(x, y, batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0)
else:
    with plan.scope():
        model = built()
        model.compile(plan.optimizer("adam"), loss="mse", **plan.compile_options())
    plan.fit(model, x, y, epochs=EPOCHS, shuffle=False, verbose=0, callbacks=[Filling()])
np.savez(f"{out}{'' if plan is None else plan.worker}.npz", *[each.numpy() for each in model.trainable_variables])
