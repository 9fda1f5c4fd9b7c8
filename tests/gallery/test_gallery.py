"""A part of the gallery, as it runs in every test run: each kind of model opens, and is trained as its author says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from planner_app.core.model.setup import Jit, Setup
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.memory import Memory
from planner_app.errors import SetupError
from planner_app.jobs.protocol import Trace
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.opening import check_model, open_model
from tests.gallery.entries import BATCH, entries

ENTRIES = {entry.name: entry for entry in entries()}
ADAM = "Adam (learning_rate 0.001)"
TRAINED = {
    "penalised_gan": ("Adam (learning_rate 0.0002) and Adam (learning_rate 0.0002)", "of its own"),
    "distiller": (ADAM, "of its own"),
    "graph_attention": ("SGD (learning_rate 0.03, momentum 0.9)", "SparseCategoricalCrossentropy"),
    "dictionary_inputs": ("SGD (learning_rate ExponentialDecay, momentum 0.9)", "risk: Huber"),
    "tabular_front_end": (ADAM, "SparseCategoricalCrossentropy"),
    "sample_weights": ("Nadam (learning_rate 0.001)", "SparseCategoricalCrossentropy"),
    "looked_up_numbers": (ADAM, "binary_crossentropy"),
    "nested_outputs": ("Adam (learning_rate Warming)", "where: box: huber, depth: none, what: CategoricalCrossentropy"),
    "built_by_its_shape": (ADAM, "mse"),
    "word_counts": (ADAM, "categorical_crossentropy"),
    "citations": ("SGD (learning_rate 0.01)", "SparseCategoricalCrossentropy"),
    "replayed": ("LossScaleOptimizer of SGD (learning_rate 0.1, momentum 0.9)", "of its own"),
    "int8_low_rank": ("AdamW (learning_rate 0.0001, weight_decay 0.01)", "SparseCategoricalCrossentropy"),
}

OPEN_SIZES = """
import sys
import keras, numpy, tensorflow as tf

def model():
    words = keras.Input((None,), name="words")
    model = keras.Model({"words": words}, keras.layers.Dense(1)(keras.ops.mean(words, 1, keepdims=True)))
    model.compile("adam", "mse")
    return model, ({"words": tf.TensorSpec((None, None))}, tf.TensorSpec((None, 1)))

def compiled_without_a_loss():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3)])
    model.compile("sgd")
    return model

class Judging(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return keras.ops.mean(y_pred["first"] * y_pred["second"])

def losses_of_other_names():
    words = keras.Input((6,))
    model = Judging(words, {"first": keras.layers.Dense(2)(words), "second": keras.layers.Dense(2)(words)})
    model.compile("sgd", {"boxes": "mse"})
    return model

def inputs_alone():
    words = keras.Input((6,), name="words")
    outputs = {"first": keras.layers.Dense(2)(words), "second": keras.layers.Dense(3)(words)}
    return keras.Model({"words": words}, outputs), {"words": numpy.zeros((4, 6), "float32")}

def layer_named_after_what_is_imported():
    beside = [name for name in ("jax", "pandas", "scipy", "IPython") if name in sys.modules]
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, name="_".join(["alone", *beside]))])

def batches_of_a_neighbour():
    from neighbour import Batches
    model = keras.Sequential([keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    return model, Batches()

def ragged():
    return model()[0], ({"words": tf.ragged.constant([[1.0], [2.0, 3.0]])}, numpy.zeros((2, 1)))
"""

NEIGHBOUR = """
import keras, numpy

class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 2

    def __getitem__(self, number):
        return numpy.zeros((5, 7), "float32"), numpy.zeros((5, 4), "float32")
"""


@pytest.fixture(scope="module")
def worker():
    with WarmWorker() as worker:
        yield worker


@pytest.fixture(scope="module")
def traced(worker):
    def of(name: str, **changes: object) -> StepTrace:
        entry = ENTRIES[name]
        setup = Setup(batch=BATCH, jit=Jit.OFF, sizes=entry.sizes, **changes)
        return worker.run(Trace(model=check_model(entry.target), setup=setup.step("cpu")), StepTrace)

    return of


def test_that_the_gallery_has_forty_models():
    assert len(ENTRIES) >= 40


@pytest.mark.parametrize("name", TRAINED)
def test_that_a_model_is_trained_as_its_author_compiled_it(traced, name):
    trained = traced(name).trained
    assert (trained.optimizer, trained.loss) == TRAINED[name]


def test_that_what_the_step_takes_is_found_by_trying_and_said(traced):
    assert traced("vae").trained.assumed == (
        "data input_layer [28, 28, 1]: what the model's own step takes is for --data to say",
    )


def test_that_data_beside_the_model_leaves_nothing_to_assume(traced):
    assert traced("two_towers").trained.assumed == ()


def test_that_another_optimizer_and_loss_may_be_asked_for(traced):
    from planner_app.core.model.setup import parse_optimizer

    changed = traced("small_gpt", optimizer=parse_optimizer("sgd"), loss="sparse_categorical_crossentropy")
    assert changed.trained.optimizer.startswith("SGD")
    assert changed.trained.loss == "sparse_categorical_crossentropy"


def test_that_a_preprocessor_says_how_long_texts_become(traced):
    """Open in the model itself: 20 numbers for a text, with texts to try it on and without."""
    setup = Setup(batch=BATCH, jit=Jit.OFF).step("cpu")
    said, tried = (
        Memory(traced(name), setup).point(BATCH).live_bytes for name in ("prepared_texts", "texts_as_they_come")
    )
    embedded = BATCH * 20 * 24 * 4
    assert said == tried > embedded


def test_that_sizes_of_data_are_given_by_the_names_of_inputs(worker, tmp_path):
    file = tmp_path / "open_sizes.py"
    file.write_text(OPEN_SIZES)
    model = check_model(f"{file}:model")
    step = Setup(batch=BATCH, jit=Jit.OFF).step("cpu")
    with pytest.raises(SetupError, match=r"--set words=128"):
        worker.run(Trace(model=model, setup=step), StepTrace)
    sized = Setup(batch=BATCH, jit=Jit.OFF, sizes=(("words", (12,)),)).step("cpu")
    assert worker.run(Trace(model=model, setup=sized), StepTrace).operations
    with pytest.raises(SetupError, match=r"The data is ragged.*padded_batch"):
        worker.run(Trace(model=check_model(f"{file}:ragged"), setup=step), StepTrace)


def test_that_tensorflow_is_imported_without_what_is_only_installed_beside_it(tmp_path):
    """jax, above all: a third of the time that a person waits for a model to open."""
    file = tmp_path / "open_sizes.py"
    file.write_text(OPEN_SIZES)
    assert open_model(f"{file}:layer_named_after_what_is_imported").description.layers[-1].name == "alone"


@pytest.mark.parametrize(
    ("name", "assumed"),
    [
        ("compiled_without_a_loss", ("loss mean_squared_error: the model is compiled without one",)),
        ("losses_of_other_names", ("data input_layer [6]: what the model's own step takes is for --data to say",)),
        (
            "inputs_alone",
            tuple(f"{each}: the model is not compiled" for each in ("optimizer adam", "loss mean_squared_error")),
        ),
    ],
)
def test_that_what_nobody_says_of_losses_and_targets_is_assumed(worker, tmp_path, name, assumed):
    file = tmp_path / "open_sizes.py"
    file.write_text(OPEN_SIZES)
    step = Setup(batch=BATCH, jit=Jit.OFF).step("cpu")
    trace = worker.run(Trace(model=check_model(f"{file}:{name}"), setup=step), StepTrace)
    assert trace.trained.assumed == assumed


def test_that_a_model_is_built_on_batches_of_a_neighbour_for_any_batch_size(worker, tmp_path):
    file = tmp_path / "open_sizes.py"
    file.write_text(OPEN_SIZES)
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)
    setup = Setup(batch=BATCH, jit=Jit.OFF).step("cpu")
    trace = worker.run(Trace(model=check_model(f"{file}:batches_of_a_neighbour"), setup=setup), StepTrace)
    memory = Memory(trace, setup)
    assert memory.point(2 * BATCH).live_bytes - memory.point(BATCH).live_bytes >= BATCH * (7 + 4) * 4


@pytest.mark.parametrize("name", ["written_batch", "stateful_text"])
def test_that_a_written_batch_size_is_the_only_one_that_is_planned(traced, name):
    setup = Setup(batch=BATCH, jit=Jit.OFF).step("cpu")
    memory = Memory(traced(name), setup)
    assert memory.point(BATCH).live_bytes > 0
    with pytest.raises(SetupError, match=r"The batch size is written into the model: 16\. A batch of 32"):
        memory.point(32)


def test_that_small_batches_are_followed_in_the_graph_that_they_run(traced):
    """An identity of 160 x 160 float32 has 100 KiB: Grappler computes smaller ones beforehand."""
    trace = traced("embedder")
    assert trace.small_up_to == 159
    assert len(trace.small.operations) < len(trace.operations)


def test_that_low_rank_adapters_take_less_than_the_weights_they_stand_for(traced):
    def state(**changes: object) -> int:
        setup = Setup(batch=BATCH, jit=Jit.OFF).step("cpu")
        return Memory(traced("small_gpt", **changes), setup).point(BATCH).state_bytes

    assert state(lora="4") < 0.6 * state()


@pytest.mark.parametrize(("lora", "quantize"), [("0", ""), ("x", ""), ("", "int3")])
def test_that_fine_tuning_that_does_not_exist_is_refused(lora, quantize):
    with pytest.raises(SetupError, match="expected"):
        Setup(batch=1, lora=lora, quantize=quantize)


def test_that_a_saved_compilation_is_taken_over(tmp_path):
    """Schedules, weights of losses and options of losses come back from a file."""
    subprocess.run(
        [sys.executable, "-m", "tests.gallery.save", str(tmp_path), "several_losses"],
        check=True,
        cwd=Path(__file__).parents[2],
        capture_output=True,
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "planner_app", "estimate", str(tmp_path / "several_losses.keras")),
            *("--batch", "16", "--json"),
        ],
        check=True,
        capture_output=True,
    )
    told = json.loads(done.stdout)
    assert told["trained"]["optimizer"] == "AdamW (learning_rate CosineDecay, weight_decay 0.004)"
    assert told["trained"]["loss"] == "price: mse, kind: SparseCategoricalCrossentropy, sold: BinaryFocalCrossentropy"
    assert told["assumed"] == []
