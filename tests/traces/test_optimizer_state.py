"""What each Keras optimizer keeps for each weight, exactly.

The model has kernels of 6 x 8 and 8 x 3 and biases of 8 and 3: 83 weights, 332 bytes in float32. Every optimizer keeps
its step count (int64) and learning rate (float32) besides.
"""

import pytest
import tiny
from lab import Lab, role_bytes

from planner_app.core.model.setup import Precision
from planner_app.core.model.trace import Role

WEIGHTS = 4 * (6 * 8 + 8 + 8 * 3 + 3)
COUNTERS = 8 + 4
MODEL = tiny.dense_net(8, inputs=6, outputs=3)


def state_bytes(lab: Lab, optimizer: str, **setup) -> int:
    memory = lab.memory(MODEL, "cpu", optimizer, **setup)
    assert role_bytes(memory, Role.WEIGHT) == WEIGHTS
    return role_bytes(memory, Role.OPTIMIZER)


@pytest.mark.parametrize(
    ("optimizer", "slots"),
    [
        ("sgd", 0),
        ("sgd:momentum=0.9", 1),
        ("sgd:momentum=0.9,nesterov=true", 1),
        ("sgd:weight_decay=0.01", 0),
        ("rmsprop", 1),
        ("rmsprop:momentum=0.9", 2),
        ("rmsprop:centered=true", 2),
        ("rmsprop:centered=true,momentum=0.9", 3),
        ("adagrad", 1),
        ("lion", 1),
        ("adam", 2),
        ("adam:amsgrad=true", 3),
        ("adam:clipnorm=1.0", 2),
        ("adam:global_clipnorm=1.0", 2),
        ("adam:clipvalue=0.5", 2),
        ("adamw", 2),
        ("adamw:amsgrad=true", 3),
        ("adamax", 2),
        ("adadelta", 2),
        ("ftrl", 2),
        ("lamb", 2),
        ("schedulefreeadamw", 2),
        ("sgd:use_ema=true", 1),
        ("adam:use_ema=true", 3),
    ],
)
def test_that_state_is_so_many_copies_of_the_weights(lab, optimizer, slots):
    assert state_bytes(lab, optimizer) == slots * WEIGHTS + COUNTERS


def test_that_nadam_keeps_one_number_more(lab):
    assert state_bytes(lab, "nadam") == 2 * WEIGHTS + COUNTERS + 4


def test_that_adafactor_keeps_rows_and_columns_beside_a_full_velocity(lab):
    rows_and_columns = 4 * (6 + 8) + 4 * (8 + 3)  # of kernels; biases have none
    assert state_bytes(lab, "adafactor") == WEIGHTS + rows_and_columns + COUNTERS


def test_that_muon_keeps_a_second_slot_for_biases_only(lab):
    assert state_bytes(lab, "muon") == WEIGHTS + 4 * (8 + 3) + COUNTERS


def test_that_scaling_the_loss_keeps_a_scale_and_a_counter(lab):
    assert state_bytes(lab, "adam:loss_scaling=true") == 2 * WEIGHTS + COUNTERS + (8 + 4)


@pytest.mark.parametrize(("optimizer", "slots"), [("sgd", 0), ("adam", 2)])
def test_that_adding_up_gradients_takes_one_more_copy(lab, optimizer, slots):
    assert state_bytes(lab, optimizer, accumulates=True) == (slots + 1) * WEIGHTS + COUNTERS


def test_that_frozen_weights_have_no_state(lab):
    memory = lab.memory(MODEL, "cpu", "adam", freeze=("dense_0",))
    kept = 4 * (8 * 3 + 3)
    assert role_bytes(memory, Role.WEIGHT) == kept
    assert role_bytes(memory, Role.FROZEN) == WEIGHTS - kept
    assert role_bytes(memory, Role.OPTIMIZER) == 2 * kept + COUNTERS


@pytest.mark.parametrize(
    ("precision", "bytes_each"),
    [(Precision.MIXED_FLOAT16, 4), (Precision.MIXED_BFLOAT16, 4), (Precision.FLOAT16, 2), (Precision.FLOAT64, 8)],
)
def test_that_slots_have_the_dtype_of_the_weights(lab, precision, bytes_each):
    memory = lab.memory(MODEL, "cpu", "adam", precision=precision)
    assert role_bytes(memory, Role.WEIGHT) == WEIGHTS // 4 * bytes_each
    slots = role_bytes(memory, Role.OPTIMIZER) - 8  # the step count; the learning rate has a dtype of its own
    assert slots // (WEIGHTS // 4) == 2 * bytes_each
