"""Weights, gradients and optimizer state out of the file alone."""

import pytest

from planner_app.core.model.at_once import state_at_once
from planner_app.core.model.description import CheckedModel, WeightShape

WEIGHTS = (WeightShape("dense/kernel", (100, 10), "float32"), WeightShape("dense/bias", (10,), "float32"))
BYTES = 4 * (100 * 10 + 10)


def model(optimizer: object = None, weights: tuple[WeightShape, ...] = WEIGHTS) -> CheckedModel:
    return CheckedModel(
        "m", "keras", {}, compile_config={"optimizer": optimizer} if optimizer else None, weights=weights
    )


@pytest.mark.parametrize(
    ("optimizer", "slots"),
    [
        ("sgd", 0),
        ({"class_name": "SGD", "config": {"momentum": 0.9}}, 1),
        ({"class_name": "Adam", "config": {"amsgrad": True, "use_ema": True}}, 4),
        ({"class_name": "RMSprop", "config": {"centered": True, "momentum": 0.9}}, 3),
        ({"class_name": "Lion", "config": {}}, 1),
    ],
)
def test_that_the_state_of_an_optimizer_follows_from_its_options(optimizer, slots):
    state = state_at_once(model(optimizer))
    assert (state.weights_bytes, state.gradients_bytes, state.optimizer_bytes) == (BYTES, BYTES, slots * BYTES)
    assert state.total_bytes == (2 + slots) * BYTES and not state.assumed


def test_that_adam_is_assumed_where_the_file_names_no_optimizer():
    state = state_at_once(model())
    assert (state.optimizer, state.assumed, state.optimizer_bytes) == ("adam", True, 2 * BYTES)


def test_that_an_optimizer_with_a_state_of_its_own_shape_is_not_guessed():
    assert state_at_once(model("adafactor")).optimizer_bytes is None


def test_that_a_file_without_weights_says_nothing():
    assert state_at_once(model("adam", ())) is None
