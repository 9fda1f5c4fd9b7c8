"""`plimsoll compile` as a user meets it: with JAX's compiler, where that is installed, and without."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

import planner_app
from planner_app.cli import main

DEMO = str(Path(planner_app.__file__).parent / "data" / "demo.keras")
H100 = "NVIDIA H100 80GB HBM3"
MODELS = """
import keras
import tensorflow as tf


class Written(keras.layers.Layer):
    def call(self, x):
        return x * tf.strings.to_number(tf.strings.as_string(tf.reduce_sum(x)))


class Steered(keras.layers.Layer):
    def call(self, x):
        return x + tf.reduce_sum(tf.random.stateless_uniform([tf.cast(tf.reduce_sum(x), tf.int32)], [1, 2]))


def model(layer, shape=(8,)):
    inputs = keras.Input(shape)
    return keras.Model(inputs, keras.layers.Dense(4)(layer(inputs)))


def written():
    return model(Written(name="written_out"))


def steered():
    return model(Steered(name="steered_by_values"))


def recurrent():
    return model(keras.layers.LSTM(8, name="remembering"), (5, 8))


def huge():
    return model(keras.layers.Dense(1 << 20, name="huge"), (1 << 10,))
"""


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


INSTALLED = all(map(_is_installed, ("jax", "jaxlib", "jax_plugins.xla_cuda12")))
with_compiler = pytest.mark.skipif(not INSTALLED, reason='needs pip install "plimsoll[xla-gpu]"')
without_compiler = pytest.mark.skipif(INSTALLED, reason="the extra xla-gpu is installed")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("models") / "models.py"
    file.write_text(MODELS)
    return str(file)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(("compile", *arguments))
        written = capsys.readouterr()
        return code, written.out, written.err

    return run


@without_compiler
def test_that_without_the_extra_one_sentence_says_how_to_get_it(run):
    code, out, err = run(DEMO, "--device", H100, "--batch", "8")
    assert (code, out) == (1, "")
    assert 'pip install "plimsoll[xla-gpu]"' in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--device", "cpu"), "is no GPU"),
        (("--device", "24GiB"), "compute capability"),
        (("--device", H100, "--gpus", "2"), "2 GPUs"),
        (("--device", H100, "--jit", "off"), "--jit off"),
    ],
)
def test_that_what_can_not_be_checked_is_said_before_anything_is_compiled(run, arguments, said):
    code, out, err = run(DEMO, "--batch", "8", *arguments)
    assert (code, out) == (1, "")
    assert said in err


@pytest.mark.parametrize("batch", [",", "", "8,x", "0"])
def test_that_a_list_of_nothing_is_wrong_usage(run, batch):
    with pytest.raises(SystemExit) as ended:
        run(DEMO, "--device", H100, "--batch", batch)
    assert ended.value.code == 2


@with_compiler
def test_that_the_compiler_tells_its_figures_and_remembers_them(run):
    arguments = (DEMO, "--device", H100, "--device", "L4", "--batch", "8,16", "--json")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    checks = json.loads(out)["checks"]
    assert [(each["device"], each["batch"]) for each in checks] == [
        ("NVIDIA H100 SXM5 80GB", 8),
        ("NVIDIA L4", 8),
        ("NVIDIA H100 SXM5 80GB", 16),
        ("NVIDIA L4", 16),
    ]
    for each in checks:
        assert each["argument_bytes"] > 3 * 313_704  # weights, and Adam's two slots of each
        assert 0 < each["peak_bytes"] <= each["temp_bytes"]
        assert each["fits"] is True
        assert each["buffers"][0]["layer"]
        assert {"tensorflow", "keras", "jax", "jax-cuda12-pjrt"} <= each["versions"].keys()
        assert each["cached"] is False
    assert checks[0]["program"] == checks[1]["program"] != checks[2]["program"]
    assert checks[0]["target"]["published"] and not checks[1]["target"]["published"]
    again = json.loads(run(*arguments)[1])["checks"]
    assert [each.pop("cached") for each in again] == [True] * 4
    assert again == [{key: value for key, value in each.items() if key != "cached"} for each in checks]


@with_compiler
def test_that_the_table_is_for_people(run):
    code, out, _ = run(DEMO, "--device", H100, "--batch", "8")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split()[:3] == ["device", "precision", "batch"]
    assert "largest temporary buffers at the peak" in out
    assert max(map(len, lines)) <= 120


@with_compiler
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("written", ('AsString ("', 'in layer "written_out"')),
        ("steered", ('StatelessRandomUniformV2 ("', 'in layer "steered_by_values"', "compile-time constant")),
        ("recurrent", ("Keras does not compile a model with remembering", "--jit on")),
    ],
)
def test_that_a_step_xla_can_not_compile_is_told_by_operation_and_layer(run, models, model, said):
    code, out, err = run(f"{models}:{model}", "--device", H100, "--batch", "4")
    assert (code, out) == (1, "")
    assert all(part in err for part in said), err
    assert err.count("\n") == 1


@with_compiler
def test_that_a_recurrent_layer_asked_for_is_checked_as_a_loop(run, models):
    code, out, _ = run(f"{models}:recurrent", "--device", H100, "--batch", "4", "--jit", "on", "--json")
    assert code == 0
    assert "while loop" in json.loads(out)["checks"][0]["warnings"][0]


@with_compiler
def test_that_weights_larger_than_the_workers_limit_are_never_allocated(run, models):
    """Thirteen gigabytes of weights and optimizer state; the worker is stopped above some two."""
    code, out, err = run(f"{models}:huge", "--device", H100, "--batch", "2", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["checks"][0]["argument_bytes"] > 12 << 30
