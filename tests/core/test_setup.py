"""Setups: how they are written, which make no sense, and which parts change the step."""

import pytest

from planner_app.core.model.setup import OWN, Jit, Optimizer, Precision, Setup, StepSetup, parse_lora, parse_optimizer
from planner_app.errors import SetupError

ON_GPU, ON_CPU = "gpu:8.0", "cpu"


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("adam", "adam", ()),
        (" AdamW ", "adamw", ()),
        ("sgd:momentum=0.9,nesterov=true", "sgd", (("momentum", 0.9), ("nesterov", True))),
        ("sgd:nesterov=TRUE, momentum=0.9", "sgd", (("momentum", 0.9), ("nesterov", True))),
        ("adam:amsgrad=False,clipnorm=1,name=mine", "adam", (("amsgrad", False), ("clipnorm", 1), ("name", "mine"))),
        ("adam:epsilon=1e-7", "adam", (("epsilon", 1e-7),)),
        ("adam:", "adam", ()),
    ],
)
def test_that_an_optimizer_is_a_name_with_options_in_any_order(text, name, options):
    assert parse_optimizer(text) == Optimizer(name, options)


def test_that_an_optimizer_is_written_as_it_is_read():
    text = "sgd:momentum=0.9,nesterov=true"
    assert str(parse_optimizer(text)) == text
    assert str(OWN) == "own" and parse_optimizer("own") == OWN == Setup(batch=1).optimizer


@pytest.mark.parametrize("text", ["", "  ", ":momentum=0.9"])
def test_that_an_optimizer_needs_a_name(text):
    with pytest.raises(SetupError, match=r'does not name an optimizer: expected a name as in "adam"'):
        parse_optimizer(text)


@pytest.mark.parametrize("pair", ["momentum", "momentum=", "=0.9"])
def test_that_an_invalid_option_is_named(pair):
    with pytest.raises(SetupError, match=rf'"{pair}" in optimizer "sgd:{pair}" is not an option: expected name=value'):
        parse_optimizer(f"sgd:{pair}")


@pytest.mark.parametrize(
    ("batch", "gpus", "accumulate", "share"),
    [(32, 1, 1, 32), (32, 4, 1, 8), (32, 4, 2, 4), (33, 4, 2, 5), (8, 8, 1, 1)],
)
def test_that_the_batch_is_divided_among_gpus_and_steps_and_the_largest_share_counts(batch, gpus, accumulate, share):
    assert Setup(batch=batch, gpus=gpus, accumulate=accumulate).per_gpu_batch == share


def test_that_a_batch_smaller_than_gpus_and_steps_is_refused_with_the_smallest_that_works():
    with pytest.raises(SetupError, match=r"A batch of 7 can't feed 4 GPUs in 2 steps: use at least 8\."):
        Setup(batch=7, gpus=4, accumulate=2)


@pytest.mark.parametrize(("gpus", "accumulate"), [(0, 1), (1, 0), (-2, 1)])
def test_that_there_is_at_least_one_gpu_and_one_step(gpus, accumulate):
    with pytest.raises(SetupError, match=f"{gpus} GPUs and {accumulate} accumulation steps: expected at least one"):
        Setup(batch=8, gpus=gpus, accumulate=accumulate)


@pytest.mark.parametrize(
    ("jit", "gpus", "target", "compiled"),
    [
        (Jit.AUTO, 1, ON_GPU, True),
        (Jit.AUTO, 2, ON_GPU, False),  # under a strategy Keras switches XLA off
        (Jit.AUTO, 1, ON_CPU, False),
        (Jit.ON, 2, ON_GPU, True),
        (Jit.ON, 1, ON_CPU, True),
        (Jit.OFF, 1, ON_GPU, False),
    ],
)
def test_that_auto_compiles_where_keras_does(jit, gpus, target, compiled):
    assert Setup(batch=8, gpus=gpus, jit=jit).step(target).xla is compiled


def test_that_batch_and_number_of_gpus_and_steps_need_no_new_trace():
    two = Setup(batch=8, gpus=2, accumulate=2).step(ON_GPU)
    assert Setup(batch=640, gpus=8, accumulate=5).step(ON_GPU) == two
    assert Setup(batch=8).with_batch(64).step(ON_GPU) == Setup(batch=8).step(ON_GPU)


def test_that_everything_else_reaches_the_step():
    setup = Setup(
        batch=8,
        gpus=2,
        accumulate=2,
        precision=Precision.MIXED_FLOAT16,
        optimizer=parse_optimizer("lion"),
        freeze=("conv*",),
        remat="full",
        sizes=(("image", (64, 64, 3)),),
        loss="mae",
    )
    assert setup.step(ON_GPU) == StepSetup(
        precision=Precision.MIXED_FLOAT16,
        optimizer=Optimizer("lion"),
        accumulates=True,
        replicated=True,
        xla=False,
        target=ON_GPU,
        freeze=("conv*",),
        remat="full",
        sizes=(("image", (64, 64, 3)),),
        loss="mae",
    )


def test_that_precisions_are_the_dtype_policies_of_keras():
    assert [str(p) for p in Precision] == "float32 mixed_float16 mixed_bfloat16 float16 bfloat16 float64".split()


@pytest.mark.parametrize(
    ("precision", "target", "traced"),
    [
        (Precision.MIXED_BFLOAT16, "gpu:8.0", (Precision.MIXED_FLOAT16, "gpu:8.0")),
        (Precision.MIXED_FLOAT16, "gpu:7.0", (Precision.MIXED_FLOAT16, "gpu:8.0")),
        (Precision.FLOAT32, "gpu:6.0", (Precision.FLOAT32, "gpu:8.0")),
        (Precision.BFLOAT16, "cpu", (Precision.FLOAT16, "cpu")),
        (Precision.MIXED_BFLOAT16, "gpu:7.0", (Precision.MIXED_FLOAT16, "gpu:6.0")),  # convolutions lie another way
        (Precision.FLOAT16, "gpu:6.1", (Precision.FLOAT16, "gpu:6.0")),
        (Precision.MIXED_FLOAT16, "gpu:6.0", (Precision.MIXED_FLOAT16, "gpu:6.0")),
    ],
)
def test_that_setups_of_equal_memory_share_a_trace(precision, target, traced):
    step = Setup(batch=8, gpus=2, precision=precision).step(target)
    assert (step.precision, step.target) == traced


@pytest.mark.parametrize(
    ("target", "jit", "precision"),
    [
        ("gpu:7.5", Jit.ON, Precision.FLOAT32),
        ("gpu:8.0", Jit.ON, Precision.MIXED_FLOAT16),
        ("gpu:7.5", Jit.OFF, Precision.MIXED_FLOAT16),
    ],
)
def test_that_xla_keeps_float32_where_the_gpu_has_no_bfloat16(target, jit, precision):
    assert Setup(8, Precision.MIXED_BFLOAT16, jit=jit).step(target).precision is precision


@pytest.mark.parametrize("text", ["0", "-8", "8.5", "5000", "9" * 5000, "³", ""])
def test_that_a_rank_that_no_adapter_has_is_refused(text):
    with pytest.raises(SetupError, match=r'expected the rank of the adapters|^"99999'):  # long texts are shortened
        parse_lora(text)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "9" * 5000, "9" * 30])
def test_that_a_number_that_can_not_be_told_to_a_worker_stays_text(value):
    assert parse_optimizer(f"adam:learning_rate={value}").options == (("learning_rate", value),)
