"""Ways to train that make no sense: one sentence each, with the name of what is wrong in it, and no traceback."""

import pytest
import tiny
from lab import Lab

from planner_app.core.model.setup import StepSetup, parse_optimizer
from planner_app.errors import ModelError, PlannerError, SetupError

DENSE = tiny.dense_net(8, inputs=6, outputs=3)


def refused(lab: Lab, model=DENSE, kind: type[PlannerError] = SetupError, **setup) -> str:
    with pytest.raises(kind) as caught:
        lab.of(model, StepSetup(**setup))
    sentence = str(caught.value)
    assert "Traceback" not in sentence  # the detail is for --debug
    assert "\n" not in sentence.strip()
    assert len(sentence) < 600
    return sentence


def test_that_an_unknown_optimizer_is_named_with_those_there_are(lab):
    sentence = refused(lab, optimizer=parse_optimizer("adamm"))
    assert sentence.startswith('"adamm" is not an optimizer of Keras 3')
    assert "adadelta, adafactor, adagrad, adam, " in sentence


@pytest.mark.parametrize("wrapper", ["lossscaleoptimizer", "multioptimizer", "optimizer"])
def test_that_what_only_wraps_optimizers_is_none(lab, wrapper):
    assert f'"{wrapper}" is not an optimizer' in refused(lab, optimizer=parse_optimizer(wrapper))


def test_that_an_unknown_option_is_named(lab):
    sentence = refused(lab, optimizer=parse_optimizer("adam:momentun=0.9"))
    assert "adam:momentun=0.9" in sentence
    assert "not recognized" in sentence


def test_that_an_option_out_of_range_is_told_in_keras_own_words(lab):
    assert "`momentum` must be a float between [0, 1]" in refused(lab, optimizer=parse_optimizer("sgd:momentum=-1"))


def test_that_an_unknown_loss_is_named(lab):
    assert '"mean_sqared_error" is not a loss of Keras' in refused(lab, loss="mean_sqared_error")


def test_that_an_unknown_size_names_the_input_and_the_option(lab):
    sentence = refused(lab, tiny.recurrent(None))
    assert sentence == '"x" has a size the model does not say (?, 8): give it, as in --set x=128,8.'


def test_that_a_size_for_an_input_that_is_not_there_is_told_with_those_there_are(lab):
    assert "no input named 'y': its inputs are x" in refused(lab, sizes=(("y", (6,)),))


def test_that_too_many_sizes_are_told(lab):
    assert "Input 'x' takes 1 sizes beside the batch" in refused(lab, sizes=(("x", (6, 3)),))


def test_that_a_size_the_layers_cannot_take_is_told(lab):
    """Valid padding needs more pixels than that."""
    model = tiny.chain(
        tiny.input_layer(16, 16, 3),
        tiny.layer("Conv2D", "conv", filters=2, kernel_size=9),
        tiny.layer("Flatten", "flat"),
        tiny.layer("Dense", "out", units=2),
    )
    assert refused(lab, model, PlannerError, sizes=(("x", (4, 4, 3)),))


def test_that_a_pattern_that_freezes_nothing_is_named(lab):
    assert refused(lab, freeze=("dense_0", "block1_*")).startswith('No layer is called "block1_*"')


def test_that_a_model_frozen_as_a_whole_is_refused(lab):
    assert refused(lab, freeze=("*",)) == "Every layer is frozen: nothing is left to train."


def test_that_an_unknown_way_to_rematerialise_is_told_with_those_there_are(lab):
    sentence = refused(lab, remat="everything")
    assert sentence.startswith('"everything" is not a way to rematerialize: expected one of full, activations')


@pytest.mark.parametrize("mode", ["larger_than:many", "larger_than:-1", "larger_than:1.5", "larger_than:²"])
def test_that_rematerialising_what_is_larger_needs_a_number(lab, mode):
    assert refused(lab, remat=mode).startswith(f'"{mode}": expected a number of elements')


def test_that_layers_to_rematerialise_must_be_there(lab):
    assert 'No layer is called "conv_9"' in refused(lab, remat="list_of_layers:dense_0+conv_9")
    assert "list_of_layers names no layer" in refused(lab, remat="list_of_layers:")


def test_that_what_keras_itself_cannot_rematerialise_is_told_in_its_words(lab):
    """Keras 3.15 on TensorFlow: a layer whose `call` takes `training` can't be, so no whole model can."""
    sentence = refused(lab, kind=ModelError, remat="full")
    assert "keywords arguments only when eager execution is enabled" in sentence
    assert "\x1b" not in sentence


def test_that_the_worker_goes_on_after_nonsense(lab):
    refused(lab, loss="nonsense")
    assert lab.live(DENSE, 8) > 0
