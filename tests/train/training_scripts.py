"""A training script in a child process: `python training_scripts.py NAME JSON`. It answers in one line of JSON.

TensorFlow's devices and allocator are set up once in a process, so every way to set them up has a process of its own.
"""

import inspect
import itertools
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quick_imports import import_quickly

from planner_app.train import PlanError, PlanWarning, TrainingPlan, load_plan

FEATURES, TARGETS, WIDTH = 16, 3, 24


def data(samples: int, features: int = FEATURES) -> tuple[Any, Any]:
    import numpy as np

    random = np.random.default_rng(7)
    x = random.normal(size=(samples, features)).astype("float32")
    return x, (x[:, :TARGETS] ** 2 + random.normal(size=(samples, TARGETS)) / 10).astype("float32")


def compiled(plan: TrainingPlan, width: int = WIDTH, layers: int = 2, features: int = FEATURES, **options: Any) -> Any:
    with plan.scope():
        import keras

        keras.utils.set_random_seed(3)
        hidden = [keras.layers.Dense(width, activation="tanh") for _ in range(layers)]
        model = keras.Sequential([keras.Input((features,)), *hidden, keras.layers.Dense(TARGETS)])
        model.compile(plan.optimizer(**options), loss="mse", metrics=["mae"], **plan.compile_options())
    return model


def values(variables: list[Any]) -> list[Any]:
    return [variable.numpy().tolist() for variable in variables]


def outcome(plan: TrainingPlan, model: Any, history: Any) -> dict[str, Any]:
    return {
        "weights": values(model.trainable_variables),
        "updates": int(model.optimizer.iterations.numpy()),
        "history": history.history,
        "rung": plan.rung,
        "per_gpu_batch": plan.per_gpu_batch,
        "global_batch": plan.global_batch,
    }


def script_train(plans: dict[str, str], samples: int, epochs: int, options: dict[str, Any]) -> dict[str, Any]:
    """Each plan by name, and Keras' own fit with the whole batch at once under the first plan's name "keras"."""
    found = {}
    for name, path in plans.items():
        plan = load_plan(path)
        model = compiled(plan, **options)
        x, y = data(samples)
        if name == "keras":
            history = model.fit(x, y, batch_size=plan.global_batch, epochs=epochs, shuffle=False, verbose=0)
        else:
            history = plan.fit(model, x, y, epochs=epochs, shuffle=False, verbose=0, validation_data=(x[:20], y[:20]))
        found[name] = outcome(plan, model, history)
    return found


def script_several(scripts: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Scripts that set up the same devices, one after the other: starting TensorFlow takes longer than most of them."""
    return {answer: globals()[f"script_{name}"](**given) for answer, (name, given) in scripts.items()}


def script_run_out(path: str, save: str, size: dict[str, int]) -> dict[str, Any]:
    """One epoch, perhaps under a limit that is too low for the first rung. Weights and slots go to a file."""
    import numpy as np

    plan = load_plan(path)
    x, y = data(size["samples"], size["features"])
    model = compiled(plan, size["width"], size["layers"], size["features"], learning_rate=1e-3)
    seen: list[int] = []
    import keras

    counting = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(batch))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlanWarning)
        history = plan.fit(model, x, y, shuffle=False, verbose=0, callbacks=[counting, plan.watch()])
    state = [*model.trainable_variables, *model.optimizer.variables]
    np.savez(save, *[variable.numpy() for variable in state])
    said = [str(each.message) for each in caught if each.category is PlanWarning]
    return {**outcome(plan, model, history), "weights": None, "said": said, "batches": seen}


def script_pieces(path: str, report: str, gpu: str) -> dict[str, Any]:
    """Everything a script can use by itself, in a loop of its own."""
    import numpy as np

    plan = load_plan(path)
    model = compiled(plan, learning_rate=0.1)
    import keras
    import tensorflow as tf

    found: dict[str, Any] = {"said": []}

    def sentence(action: Callable[[], Any]) -> str:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PlanWarning)
            try:
                action()
            except Exception as error:
                return f"{type(error).__name__}: {error}"
            return " ".join(str(each.message) for each in caught)

    x, y = data(50)
    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    found["check"] = sentence(lambda: plan.check(model))
    with plan.scope():
        larger = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(5)])
        larger.compile("sgd")
    found["another model"] = sentence(lambda: plan.check(larger))
    for_gpu = load_plan(gpu)
    found["no GPU"] = sentence(lambda: for_gpu.check())
    found["no GPU to train on"] = sentence(lambda: for_gpu.strategy)
    found["another optimizer"] = sentence(lambda: plan.optimizer("sgd"))
    found["no optimizer"] = sentence(lambda: plan.optimizer("adamant"))
    found["own accumulation"] = sentence(lambda: plan.optimizer(gradient_accumulation_steps=2))
    found["batched twice"] = sentence(lambda: plan.fit(model, dataset.batch(4).batch(2)))
    found["nothing"] = sentence(lambda: plan.fit(model, x[:0], y[:0]))
    found["not compiled"] = sentence(lambda: plan.fit(keras.Sequential([keras.layers.Dense(1)]), x, y))

    def endless() -> Any:
        while True:
            yield x[:7], y[:7]

    ending = keras.callbacks.LambdaCallback(on_test_batch_end=lambda *_, **__: setattr(model, "stop_evaluating", True))
    found["endless"] = sentence(lambda: plan.fit(model, dataset.batch(4).repeat(), verbose=0))
    hidden = dataset.batch(4).repeat().filter(lambda x, y: tf.shape(x)[0] == 4)
    found["filtered"] = sentence(lambda: plan.evaluate(model, hidden, verbose=0, callbacks=[ending]))
    found["generator"] = sentence(lambda: plan.fit(model, ((x[n : n + 7], y[n : n + 7]) for n in (0, 7)), verbose=0))
    found["shapes"] = [tuple(batch[0].shape) for batch in plan.batch(dataset)]
    trainer = plan.trainer(model)
    losses = [float(trainer.step(batch)["loss"]) for _ in range(5) for batch in plan.batch(dataset)]
    found["losses"] = losses
    trainer.descend("said for a test")
    lower = [float(trainer.step(batch)["loss"]) for _ in range(3) for batch in plan.batch(dataset)]
    found["lower"] = {"losses": lower, "precision": plan.precision, "type": model.layers[0].compute_dtype}
    found["too large"] = sentence(lambda: trainer.step((x, y)))
    sources = {
        "samples": dataset,
        "small batches": dataset.batch(3),
        "large batches": dataset.batch(50),
        "arrays": (x, y),
        "pieces": endless(),
    }
    found["updates"] = {}
    for name, source in sources.items():
        before = int(model.optimizer.iterations.numpy())
        given = source if isinstance(source, tuple) else (source,)
        watch = plan.watch(report)
        more = {"steps_per_epoch": 4} if name == "pieces" else {}
        plan.fit(model, *given, epochs=2, verbose=0, callbacks=[watch], **more)
        found["updates"][name] = int(model.optimizer.iterations.numpy()) - before
    found["evaluated"] = plan.evaluate(model, x, y, verbose=0, return_dict=True)
    found["listed"] = plan.evaluate(model, x, y, verbose=0)
    predicted = plan.predict(model, x, verbose=0)
    found["predicted"] = [list(predicted.shape), float(np.abs(predicted - model.predict(x, verbose=0)).max())]
    found["keras"] = {k: float(v) for k, v in model.evaluate(x, y, verbose=0, return_dict=True).items()}
    found["finite"] = bool(np.all([np.isfinite(w).all() for w in model.get_weights()]))
    return found


def script_rungs(path: str) -> dict[str, Any]:
    """An epoch on every rung of a plan, with a ragged last batch, and what TensorFlow logs meanwhile."""
    import logging

    said: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    plan = load_plan(path)
    model = compiled(plan, learning_rate=0.01)
    import tensorflow as tf

    tf.get_logger().addHandler(Listening())
    x, y = data(3 * plan.global_batch + 5)
    trainer, losses = plan.trainer(model), []
    for rung in range(len(plan.entry.rungs)):
        if rung:
            trainer.descend("said for a test")
        losses += plan.fit(model, x, y, verbose=0, validation_data=(x[:20], y[:20])).history["loss"]
    return {"said": said, "losses": losses, "rung": plan.rung}


def script_arguments(path: str) -> dict[str, Any]:
    """What `fit`, `evaluate` and `predict` take, each held against Keras' own."""
    import numpy as np

    plan = load_plan(path)
    plan.strategy  # noqa: B018 -- before TensorFlow does anything else
    import keras
    import tensorflow as tf

    x, y = data(65)
    half = {"left": x[:, :8], "right": x[:, 8:]}
    labels = (y[:, 0] > 0.5).astype("int32")

    class Items(keras.utils.PyDataset):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, n: int) -> Any:
            return x[n * 20 : (n + 1) * 20], y[n * 20 : (n + 1) * 20]

    class Rolling(keras.utils.PyDataset):
        """Other samples in every epoch."""

        def __init__(self) -> None:
            super().__init__(workers=2)
            self.order = np.arange(65)

        def __len__(self) -> int:
            return 3

        def __getitem__(self, n: int) -> Any:
            chosen = self.order[n * batch : (n + 1) * batch]
            return x[chosen], y[chosen]

        def on_epoch_end(self) -> None:
            self.order = np.roll(self.order, 7)

    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(TARGETS)

        def call(self, x: Any) -> Any:
            return self.dense(x)

    class Grouping(keras.Model):
        """With the step of Keras' guide: what was compiled is one of the metrics, whose result is a dict."""

        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                predicted = self(x, training=True)
                loss = self.compute_loss(y=y, y_pred=predicted)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            for metric in self.metrics:
                if metric.name != "loss":
                    metric.update_state(y, predicted)
            return {metric.name: metric.result() for metric in self.metrics if metric.name != "loss"}

    class Mixing(keras.Model):
        """Logs a metric's result beside numbers of its own, one of them whole."""

        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = keras.ops.mean(keras.ops.square(y - self(x, training=True)))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            self._loss_tracker.update_state(loss)
            mean = self._loss_tracker.result()
            return {"loss": mean, "by another name": mean, "raw": loss, "whole": tf.constant(3)}

    class Coding(keras.Model):
        """As an autoencoder of Keras' examples: parts that are not built, no `call`, no compiled loss."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = keras.layers.Dense(4), keras.layers.Dense(FEATURES)
            self.error = keras.metrics.Mean(name="error")

        @property
        def metrics(self) -> list[Any]:
            return [self.error]

        def train_step(self, x: Any) -> Any:
            with tf.GradientTape() as tape:
                error = keras.ops.mean(keras.ops.square(x - self.decoder(self.encoder(x))))
            gradients = tape.gradient(error, self.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
            self.error.update_state(error)
            return {"loss": self.error.result()}

    def functional(kind: Any) -> Any:
        inputs = keras.Input((FEATURES,))
        return kind(inputs, keras.layers.Dense(TARGETS)(inputs))

    def stopping() -> dict[str, Any]:
        def stop(epoch: int, logs: Any) -> None:
            model.stop_training = epoch == 1

        return {"x": x, "y": y, "epochs": 3, "callbacks": [keras.callbacks.LambdaCallback(on_epoch_begin=stop)]}

    def simple() -> Any:
        return keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(TARGETS)])

    def two_inputs() -> Any:
        inputs = {"right": keras.Input((FEATURES - 8,), name="right"), "left": keras.Input((8,), name="left")}
        return keras.Model(inputs, keras.layers.Dense(TARGETS)(keras.layers.Concatenate()(list(inputs.values()))))

    def classes() -> Any:
        return keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(2, activation="softmax")])

    def two_outputs() -> Any:
        inputs = keras.Input((FEATURES,))
        return keras.Model(inputs, {"a": keras.layers.Dense(TARGETS)(inputs), "b": keras.layers.Dense(TARGETS)(inputs)})

    def endless() -> Any:
        for n in itertools.count():
            chosen = np.random.default_rng(n).integers(0, 65, batch)
            yield x[chosen], y[chosen]

    def same() -> Any:
        """Keras begins to read anew with each validation, and loses as many batches as it has fetched by chance."""
        while True:
            yield x[:batch], y[:batch]

    def generator() -> Any:
        return ((x[n : n + 20], y[n : n + 20]) for n in range(0, 60, 20))

    def dataset(*parts: Any) -> Any:
        return tf.data.Dataset.from_tensor_slices(parts)

    batch = plan.global_batch
    # name: the model, what plan.fit takes, and what Keras' fit takes for the same
    cases: dict[str, tuple[Any, Callable[[], dict[str, Any]], Callable[[], dict[str, Any]]]] = {
        "65 samples on two devices": (simple, lambda: {"x": x, "y": y}, lambda: {"x": x, "y": y}),
        "batch_size": (simple, lambda: {"x": x, "y": y, "batch_size": 7}, lambda: {"x": x, "y": y}),
        "class_weight": (
            classes,
            lambda: {"x": x, "y": labels, "class_weight": {0: 1, 1: 4}},
            lambda: {"x": x, "y": labels, "class_weight": {0: 1, 1: 4}},
        ),
        "validation_split": (
            simple,
            lambda: {"x": x, "y": y, "validation_split": 0.3, "validation_batch_size": 5},
            lambda: {"x": x, "y": y, "validation_split": 0.3, "validation_batch_size": 5},
        ),
        "validation_freq": (
            simple,
            lambda: {"x": x, "y": y, "validation_data": [x[:30], y[:30]], "validation_freq": [2]},
            lambda: {"x": x, "y": y, "validation_data": [x[:30], y[:30]], "validation_freq": [2]},
        ),
        "generator": (simple, lambda: {"x": generator(), "epochs": 1}, lambda: {"x": x[:60], "y": y[:60], "epochs": 1}),
        "PyDataset": (simple, lambda: {"x": Items(), "shuffle": False}, lambda: {"x": x[:60], "y": y[:60]}),
        "PyDataset that changes": (
            simple,
            lambda: {"x": Rolling(), "epochs": 3},
            lambda: {"x": Rolling(), "epochs": 3},
        ),
        "PyDataset, shuffled": (
            simple,
            lambda: {"x": Rolling(), "epochs": 3, "shuffle": True},
            lambda: {"x": Rolling(), "epochs": 3, "shuffle": True},
        ),
        "endless generators": (
            simple,
            lambda: {"x": endless(), "steps_per_epoch": 2, "validation_data": same(), "validation_steps": 3},
            lambda: {"x": endless(), "steps_per_epoch": 2, "validation_data": same(), "validation_steps": 3},
        ),
        "two outputs": (
            two_outputs,
            lambda: {"x": x, "y": {"a": y, "b": y}, "validation_data": (x[:40], {"a": y[:40], "b": -y[:40]})},
            lambda: {"x": x, "y": {"a": y, "b": y}, "validation_data": (x[:40], {"a": y[:40], "b": -y[:40]})},
        ),
        "two outputs, validated in small batches": (
            two_outputs,
            lambda: {"x": x, "y": {"a": y, "b": y}, "validation_data": dataset(x, {"a": y, "b": -y}).batch(6)},
            lambda: {"x": x, "y": {"a": y, "b": y}, "validation_data": dataset(x, {"a": y, "b": -y}).batch(6)},
        ),
        "dict inputs": (
            two_inputs,
            lambda: {"x": dataset(half, y).batch(13)},
            lambda: {"x": half, "y": y},
        ),
        "dict samples": (two_inputs, lambda: {"x": dataset(half, y)}, lambda: {"x": half, "y": y}),
        "samples for a subclass": (Own, lambda: {"x": dataset(x, y)}, lambda: {"x": x, "y": y}),
        "batches for a subclass": (Own, lambda: {"x": dataset(x, y).batch(13)}, lambda: {"x": x, "y": y}),
        "own step that groups metrics": (
            lambda: functional(Grouping),
            lambda: {"x": x, "y": y},
            lambda: {"x": x, "y": y},
        ),
        "own step with logs of its own": (
            lambda: functional(Mixing),
            lambda: {"x": x, "y": y},
            lambda: {"x": x, "y": y},
        ),
        "own step and no call": (Coding, lambda: {"x": x}, lambda: {"x": x}),
        "stopped as an epoch begins": (simple, stopping, stopping),
        "loss that reduces by itself": (simple, lambda: {"x": x, "y": y}, lambda: {"x": x, "y": y}),
    }
    found: dict[str, Any] = {}
    for name, (build, ours, theirs) in cases.items():
        histories = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for given, by_plan in ((ours(), True), (theirs(), False)):
                keras.utils.set_random_seed(3)
                options = {"epochs": 2, "verbose": 0, "shuffle": False, **given}
                if by_plan:
                    with plan.scope():
                        model = build()
                        model.compile("sgd", **_loss(name), **plan.compile_options())
                    histories.append(plan.fit(model, **options).history)
                    trained = model
                else:
                    model = build()
                    model.compile("sgd", **_loss(name))
                    histories.append(model.fit(**{"batch_size": batch, **options}).history)
        said = [str(each.message) for each in caught if each.category is PlanWarning]
        found[name] = {"plan": histories[0], "keras": histories[1], "said": said}
        if name == "65 samples on two devices":
            scores = (
                plan.evaluate(trained, x, y, verbose=0, batch_size=16),
                model.evaluate(x, y, verbose=0, batch_size=16),
            )
            found["evaluate"] = {"plan": {"values": scores[0]}, "keras": {"values": scores[1]}, "said": []}
            guesses = plan.predict(trained, x, verbose=0), model.predict(x, verbose=0)
            found["predict"] = {
                "plan": {"values": np.ravel(guesses[0]).tolist()},
                "keras": {"values": np.ravel(guesses[1]).tolist()},
                "said": [],
            }
    found["resumed"] = _resumed(plan, simple, x, y)
    found["signatures"] = _signatures()
    with plan.scope():
        used = keras.metrics.RootMeanSquaredError()
    errors = []
    for _ in range(2):
        keras.utils.set_random_seed(3)
        with plan.scope():
            model = simple()
            model.compile("sgd", "mse", metrics=[used])
        errors.append(plan.fit(model, x, y, verbose=0, shuffle=False).history["root_mean_squared_error"])
    found["used metric"] = errors
    with plan.scope():
        model = simple()
        model.compile("sgd", "mse")
    before = int(model.optimizer.iterations.numpy())
    seen: list[int] = []
    counting = keras.callbacks.LambdaCallback(on_train_batch_end=lambda step, logs: seen.append(step))
    plan.fit(model, dataset(x, y).batch(20).repeat(), steps_per_epoch=3, verbose=0, callbacks=[counting])
    found["steps"] = {"updates": int(model.optimizer.iterations.numpy()) - before, "seen": seen}
    return found


def _signatures() -> dict[str, dict[str, str]]:
    """What Keras' own take, by name, with the defaults."""
    import keras

    return {
        name: {
            each.name: repr(each.default) for each in inspect.signature(getattr(keras.Model, name)).parameters.values()
        }
        for name in ("fit", "evaluate", "predict")
    }


def _resumed(plan: TrainingPlan, build: Callable[[], Any], x: Any, y: Any) -> list[list[Any]]:
    """Weights of a run in one go, and of one that ended within its second epoch and went on by Keras' own backup."""
    import tempfile

    import keras

    class Ending(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if int(self.model.optimizer.iterations.numpy()) == 5:
                raise KeyboardInterrupt

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for place, more in (("whole", []), ("ended", [Ending()]), ("ended", [])):
            keras.utils.set_random_seed(3)
            with plan.scope():
                model = build()
                model.compile("adam", "mse", metrics=["mae"])
            callbacks = [keras.callbacks.BackupAndRestore(f"{folder}/{place}", save_freq=1), *more]
            try:
                plan.fit(model, x, y, epochs=3, shuffle=False, verbose=0, callbacks=callbacks)
                found.append([int(model.optimizer.iterations.numpy()), *values(model.trainable_variables)])
            except KeyboardInterrupt:
                pass
    return found


def script_callbacks() -> dict[str, Any]:
    """What a checkpoint keeps of callbacks, given to those of the next process."""
    import keras
    import numpy as np

    from planner_app.train.recover.callbacks import counts, kept_weights, restore_counts

    class Collecting(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.losses: list[float] = []

    best = [np.arange(6, dtype="float32").reshape(2, 3), np.array(4, "int64")]

    def callbacks() -> list[Any]:
        stopping = keras.callbacks.EarlyStopping(restore_best_weights=True, min_delta=0.25)
        return [stopping, Collecting(), keras.callbacks.History()]

    before, after = callbacks(), callbacks()
    before[0].wait, before[0].best, before[0].best_weights = 2, np.float32(0.5), best
    before[0].min_delta = -before[0].min_delta  # as Keras does
    before[1].losses = [3.0, 2.5]
    kept = json.loads(json.dumps([counts(each) for each in before]))
    arrays = {name: value.tobytes() for name, value in kept_weights(before)}
    restore_counts(after, kept, arrays)
    return {
        "early stopping": [after[0].wait, after[0].best, after[0].min_delta],
        "best weights": [[each.dtype.name, each.tolist()] for each in after[0].best_weights],
        "losses": after[1].losses,
    }


def script_table(path: str) -> list[str]:
    """Updates in the table of a run whose second process goes on after the second of three."""
    from planner_app.train.observe.outputs import CsvOutput, Line, Planned

    for updates, goes_on in (((1, 2, 3), False), ((3, 4), True)):
        table = CsvOutput(Path(path), goes_on)
        for update in updates:
            table.write(Line(update, 0, 0, 5, 4, Planned(5, 4, 6), 0.1))
        table.close()
    return [line.partition(",")[0] for line in Path(path).read_text().splitlines()]


def script_limits(path: str) -> dict[str, list[str]]:
    """What is said before a training that accumulation can't make the same as one batch; and nothing where it can."""
    plan = load_plan(path)
    import keras

    x, y = data(40)

    def built(*layers: Any) -> Any:
        return keras.Sequential([keras.Input((FEATURES,)), *layers, keras.layers.Dense(TARGETS, activation="sigmoid")])

    models = {
        "batch normalisation": (lambda: built(keras.layers.BatchNormalization(name="bn")), "mse"),
        "frozen": (lambda: built(keras.layers.BatchNormalization(trainable=False)), "mse"),
        "layer normalisation": (lambda: built(keras.layers.LayerNormalization()), "mse"),
        "dropout": (lambda: built(keras.layers.Dropout(0.5)), "mse"),
        "across samples": (built, "dice"),
    }
    found = {}
    for name, (build, loss) in models.items():
        with plan.scope():
            model = build()
            model.compile("sgd", loss, **plan.compile_options())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan.fit(model, x, (y > 0.5).astype("float32"), verbose=0)
        found[name] = [str(each.message) for each in caught if each.category is PlanWarning]
    return found | _refused(plan, x, y)


def _refused(plan: TrainingPlan, x: Any, y: Any) -> dict[str, list[str]]:
    """Models whose batches can't be trained in shares at all, and data that can't be joined to batches."""
    import keras
    import tensorflow as tf

    class TwoOptimizers(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.other = keras.layers.Dense(TARGETS), keras.optimizers.SGD()

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            raise AssertionError("It is refused before it is called.")

    def stateful() -> Any:
        steps = keras.Input((FEATURES, 1), batch_size=plan.global_batch)
        return keras.Model(
            steps, keras.layers.Dense(TARGETS)(keras.layers.LSTM(4, stateful=True, name="memory")(steps))
        )

    found = {}
    for name, build, given in (("two optimizers", TwoOptimizers, x), ("stateful", stateful, x[..., None])):
        with plan.scope():
            model = build()
            model.compile("sgd", "mse", **plan.compile_options())
        try:
            plan.fit(model, given[: plan.global_batch], y[: plan.global_batch], verbose=0)
            found[name] = ["trained"]
        except PlanError as error:
            found[name] = [str(error)]
    texts = tf.data.Dataset.range(20).map(lambda n: (tf.ones(1 + n % 8), 1.0)).padded_batch(3)
    with plan.scope():
        model = keras.Sequential([keras.Input((None, 1)), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
        model.compile("sgd", "mse", **plan.compile_options())
    try:
        plan.fit(model, texts.map(lambda x, y: (x[..., None], y)), verbose=0)
        found["lengths"] = ["trained"]
    except PlanError as error:
        found["lengths"] = [str(error)]
    return found


def script_adversarial(path: str) -> dict[str, Any]:
    """A model that has no call, and optimizers of its own: by a plan and by Keras, and what would be put back."""
    import keras
    import tensorflow as tf

    from planner_app.train.building import updates_of
    from planner_app.train.recover.state import all_state

    class Adversarial(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.makes, self.judges = keras.layers.Dense(FEATURES), keras.layers.Dense(1)
            self.makers, self.judging = keras.optimizers.SGD(0.1, momentum=0.9), keras.optimizers.Adam(0.01)

        def train_step(self, x: Any) -> Any:
            def judged() -> Any:
                return tf.reduce_mean(tf.nn.softplus(-self.judges(x)) + tf.nn.softplus(self.judges(self.makes(x))))

            with tf.GradientTape() as tape:
                loss = judged()
            weights = self.judges.trainable_weights
            self.judging.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            with tf.GradientTape() as tape:
                fooled = -judged()
            weights = self.makes.trainable_weights
            self.makers.apply_gradients(zip(tape.gradient(fooled, weights), weights, strict=True))
            return {"loss": loss}

    plan = load_plan(path)
    x, _ = data(40)
    answer = {}
    for name in ("plan", "keras"):
        keras.utils.set_random_seed(3)
        with plan.scope():
            model = Adversarial()
            model.compile()
        if name == "plan":
            plan.fit(model, x, epochs=2, shuffle=False, verbose=0)
        else:
            model.fit(x, batch_size=plan.global_batch, epochs=2, shuffle=False, verbose=0)
        momentum = {id(each.value) for each in model.makers.variables}
        kept = {id(each) for parts in all_state(model.distribute_strategy, model) for each in parts}
        answer[name] = {"weights": values(model.weights), "updates": updates_of(model), "kept": momentum <= kept}
    return answer


def _loss(case: str) -> dict[str, Any]:
    if case.startswith("two outputs"):
        return {"loss": {"a": "mse", "b": "mae"}}
    if case == "class_weight":
        return {"loss": "sparse_categorical_crossentropy", "weighted_metrics": ["accuracy"]}
    if case == "own step and no call":
        return {}
    if case == "own step with logs of its own":
        return {"loss": "mse"}
    if case == "loss that reduces by itself":
        return {"loss": _total()(), "metrics": ["mae"]}
    return {"loss": "mse", "metrics": ["mae"]}


def _total() -> Any:
    import keras

    class Total(keras.losses.Loss):
        def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            return keras.ops.sum(keras.ops.square(y_true - y_pred)) * 0.01

    return Total


if __name__ == "__main__":
    import_quickly()
    answer = globals()[f"script_{sys.argv[1]}"](**json.loads(sys.argv[2]))
    sys.stdout.write(f"ANSWER {json.dumps(answer)}\n")
