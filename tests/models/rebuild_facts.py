"""Facts about the rebuilder, collected in one process with TensorFlow and printed as one JSON object."""

import json
import os
import resource
import sys
import time
from pathlib import Path

import keras
import tensorflow as tf
from hostile import OFFERING
from keras import layers
from keras.src.backend.tensorflow import core

from planner_app.core.model.description import CheckedModel
from planner_app.errors import PlannerError
from planner_app.jobs.protocol import Inspect
from planner_app.worker.build import user_code
from planner_app.worker.build.description import description_of
from planner_app.worker.build.rebuild import PRECISIONS, rebuild, rebuilt
from planner_app.worker.build.valueless import without_values
from planner_app.worker.inspect import inspect

saved = Path(sys.argv[1])
facts: dict[str, object] = {}


def read(name: str) -> CheckedModel:
    return inspect(Inspect(path=str(saved / name)), lambda *_: None)


def checked(model: keras.Model) -> CheckedModel:
    return CheckedModel(model.name, "keras", keras.saving.serialize_keras_object(model))


def error(call) -> str:
    try:
        call()
    except PlannerError as raised:
        return f"{type(raised).__name__}: {raised}"
    return "no error"


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


before = core.Variable._initialize_with_initializer
cnn, bag = read("functional.keras"), read("mixed_bag.keras")
for precision in PRECISIONS:
    conv = rebuild(cnn, precision=precision).get_layer("conv")
    facts[precision] = [conv.compute_dtype, conv.kernel.dtype]
facts["as saved"] = rebuild(read("half.keras")).get_layer("head").compute_dtype
facts["old, mixed"] = rebuild(read("old_cnn.h5"), precision="mixed_float16").get_layer("conv").compute_dtype
model = rebuild(bag, precision="mixed_float16")
facts["input dtypes"] = [t.dtype for t in model.inputs]
facts["nested conv"] = model.get_layer("base").get_layer("conv").compute_dtype
facts["floatx"] = keras.config.floatx()

resized = rebuild(bag, sizes={"tokens": (12,), "pictures": (64, 64, 3)})
facts["resized"] = [list(t.shape) for t in resized.inputs]
facts["resized conv"] = list(resized.get_layer("base").get_layer("conv").output.shape)
facts["wrong name"] = error(lambda: rebuild(bag, sizes={"token": (12,)}))
facts["wrong rank"] = error(lambda: rebuild(bag, sizes={"tokens": (12, 3)}))
facts["wrong precision"] = error(lambda: rebuild(bag, precision="float31"))
unbuilt = read("unbuilt.json")
facts["unbuilt, sized"] = rebuild(unbuilt, sizes={"input": (7,)}).count_params()

wide = keras.Sequential(
    [keras.Input((4,)), layers.Dense(4096, name="wide"), layers.Dense(2, name="narrow")], name="wide"
)
model = rebuild(checked(wide))
with without_values():
    model.compile("adam", loss="mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
step = tf.function(lambda x, y: model.train_step((x, y)))
graph = step.get_concrete_function(tf.TensorSpec((8, 4)), tf.TensorSpec((8, 2))).graph
facts["traced"] = len(graph.get_operations()) > 50
valueless = [
    v for v in model.optimizer.variables + model.variables if not tf.raw_ops.VarIsInitializedOp(resource=v.handle)
]
facts["without value"] = sorted({v.shape.num_elements() for v in valueless})

tower = inspect(Inspect(path=f"{Path(__file__).parent / 'custom_classes.py'}:build_tower"), lambda *_: None)
facts["function"] = rebuild(tower).count_params()
for name in ("build_nothing", "build_badly", "build_with_what_is_missing", "no_such"):
    target = CheckedModel(name, "python", {}, custom=f"{Path(__file__).parent / 'custom_classes.py'}:{name}")
    facts[name] = error(lambda target=target: rebuild(target))
offering = Path(sys.argv[1]) / ".." / "offering.py"
offering.write_text(OFFERING)
calls = {"class_name": "makedirs", "config": {"name": str(offering.parent / "made_by_a_model")}}
sly = {"class_name": "Sequential", "config": {"name": "sly", "layers": [calls]}}
facts["calls an import"] = error(
    lambda: rebuild(CheckedModel("sly", "h5", sly, legacy=True, custom=str(offering.resolve())))
)
facts["import was called"] = (offering.parent / "made_by_a_model").exists()
facts["offered"] = sorted(user_code.custom_objects(user_code.load_module(offering)))
os.mkfifo(pipe := offering.parent / "pipe.py")
facts["pipe"] = error(lambda: user_code.load_module(pipe))
LARGEST = 2**31 - 1
for name, shape, large in (
    ("wide", (4,), [layers.Dense(LARGEST), layers.Dense(LARGEST)]),
    ("repeated", (LARGEST,), [layers.RepeatVector(LARGEST)]),
    ("padded", (8, 8, 3), [layers.ZeroPadding2D(LARGEST), layers.UpSampling2D(LARGEST)]),
    ("flattened", (LARGEST, LARGEST, LARGEST), [layers.Flatten(), layers.Dense(2)]),
    ("convolved", (2**20, 2**20, 4), [layers.Conv2D(2**20, 3, padding="same")]),
):
    config = [keras.saving.serialize_keras_object(each) for each in (layers.InputLayer(shape), *large)]
    config = {"module": "keras", "class_name": "Sequential", "config": {"name": name, "layers": config}}
    facts[name] = error(lambda config=config: rebuild(CheckedModel("large", "keras", config)))
SOUND = keras.saving.serialize_keras_object(keras.Sequential([keras.Input((4,)), layers.Dense(2)]))
for name, training in {
    "text as metrics": {"optimizer": "adam", "loss": "mse", "metrics": "\x1b[31m"},
    "number as optimizer": {"optimizer": 5, "loss": "mse"},
    "layer as optimizer": {"optimizer": SOUND["config"]["layers"][1], "loss": "mse"},
    "odd loss": {"optimizer": "adam", "loss": 1.5, "loss_weights": "x", "steps_per_execution": "many"},
}.items():
    made = {}
    given = CheckedModel("m", "keras", SOUND, compile_config=training)
    said = error(lambda given=given, made=made: made.update(model=rebuild(given)))
    facts[f"compiled, {name}"] = [said, type(made["model"].optimizer).__name__ if made else None]
facts["restored"] = core.Variable._initialize_with_initializer is before

from dataclasses import replace  # noqa: E402

smaller = tuple(replace(w, shape=(1, 1)) if w.path == "layers/dense/vars/0" else w for w in cnn.weights)
facts["mismatch"] = [w for w in description_of(rebuilt(cnn), replace(cnn, weights=smaller)).warnings if "match" in w]
old = read("old_cnn.h5")
facts["missing"] = [
    w for w in description_of(rebuilt(old), replace(old, weights=old.weights[:-1])).warnings if "match" in w
]

relus = [{"class_name": "ReLU", "config": {"name": f"relu_{n}"}} for n in range(1500)]
first = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 4]}}
long = {"class_name": "Sequential", "config": {"name": "long", "layers": [first, *relus]}}
began = time.monotonic()
facts["long"] = len(rebuild(CheckedModel("long", "h5", long, legacy=True)).layers)
facts["long seconds"] = time.monotonic() - began

tokens = keras.Input((None,), dtype="int32", name="tokens")
with without_values():
    x = layers.Embedding(32_000, 8192)(tokens)
    for _ in range(80):
        x = layers.Add()([x, layers.MultiHeadAttention(64, 128)(*[layers.LayerNormalization()(x)] * 2)])
        h = layers.Dense(4 * 8192, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(8192)(h)])
    giant = checked(keras.Model(tokens, layers.Dense(32_000)(x), name="giant"))
del x, h
facts["giant params"] = rebuild(giant).count_params()
facts["peak bytes"] = peak_bytes()
print(json.dumps(facts))  # noqa: T201
