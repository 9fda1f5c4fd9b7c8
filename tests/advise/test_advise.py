"""Advice on training steps written by hand, whose memory is worked out by hand."""

from dataclasses import replace

import pytest
from handmade import LIMIT, MIB, Models, want

from planner_app.core.advise import AdviceRequest, Cost, advise
from planner_app.core.advise.changes import candidates, shrunk
from planner_app.core.advise.hints import hints
from planner_app.core.advise.remat import activations_pay, inside, paying_layers
from planner_app.core.estimate.breakdown import Held, Term
from planner_app.core.estimate.estimate import estimate
from planner_app.core.estimate.need import Need, Needs
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import cpu_device, custom_device
from planner_app.core.measure.calibration import Calibration, Sample
from planner_app.core.model.setup import Backend, Jit, Precision, Setup
from planner_app.errors import DeviceError, SetupError


def kinds(advice):
    return [{change.cost for change in option.changes} for option in advice.options]


def test_that_what_fits_gets_no_advice():
    advice = Models().advice(want(batch=8))
    assert advice.fits
    assert advice.options == ()


def test_that_a_hint_says_how_many_models_fit_one_after_another():
    """Weights and two slots, 12 MiB, stay of each. The first takes a little more than 32 of 80 MiB: three more fit."""
    advice = Models().advice(want(batch=8))
    assert advice.before_bytes // MIB == 32
    (hint,) = advice.hints
    assert "each model that is kept leaves 12.0 MiB, so the 5th does not fit 80.0 MiB any more." in hint.text


def test_that_calibrations_count_and_are_mentioned():
    """It takes 144 MiB of 80 by the estimate; a quarter of that, where that was measured."""
    models, wanted = Models(), want(batch=64)
    calibration = Calibration("", "2.21.0", "3.15.1", False, (Sample("net", "", "", "2026-11-16", 100, (25,)),))
    memories = {step: models.memory(step) for step in (wanted.setup.step("gpu:8.0"),)}
    alone = estimate(Need(next(iter(memories.values())), wanted.device), wanted.setup).peak_bytes
    assert not advise(wanted, Needs(memories)).fits
    advice = advise(wanted, Needs(memories, lambda device, xla, backend: None if xla else calibration))
    assert (advice.fits, advice.before_bytes) == (True, round(alone / 4))
    assert advice.calibrated.startswith("Calibrated with one measurement")


def test_that_missing_traces_are_requested_before_any_advice():
    models, wanted = Models(), want(batch=64)
    first = advise(wanted, Needs({}))
    assert first.missing == (wanted.setup.step("gpu:8.0"),)
    second = advise(wanted, Needs({step: models.memory(step) for step in first.missing}))
    assert {step.accumulates for step in second.missing} == {True, False}
    assert all(step.target == "gpu:8.0" for step in second.missing)


def test_that_the_cheapest_change_comes_first_and_its_setup_fits():
    models = Models()
    advice = models.advice(want(batch=64))
    first = advice.options[0]
    assert [change.cost for change in first.changes] == [Cost.ACCUMULATE]
    assert first.setup.batch == 64
    assert first.setup.accumulate * first.setup.per_gpu_batch >= 64
    assert f"gradient_accumulation_steps={first.setup.accumulate}" in first.changes[0].code[0]
    assert [option.cost for option in advice.options] == sorted(option.cost for option in advice.options)
    for option in advice.options:
        if option.device == advice.request.device:
            need = Need(models.memory(option.setup.step("gpu:8.0")), option.device, limit_bytes=LIMIT)
            assert option.verdict is need.verdict(option.setup.per_gpu_batch) is Verdict.FITS
            assert option.after_bytes == need.level(option.setup.per_gpu_batch).peak_bytes


def test_that_accumulation_takes_as_few_steps_as_will_do():
    """Weights, two slots and the accumulator take 16 MiB, the gradient 4, a sample 2: 32 of 64 take 84 of 80 MiB."""
    models = Models()
    (first, *_) = models.advice(want(batch=64)).options
    assert first.setup.accumulate * first.setup.per_gpu_batch == 64
    assert first.before_bytes // MIB == 12 + 4 + 64 * 2
    need = Need(models.memory(first.setup.step("gpu:8.0")), first.device, limit_bytes=LIMIT)
    assert need.verdict(first.setup.per_gpu_batch) is Verdict.FITS
    assert need.verdict(2 * first.setup.per_gpu_batch) is not Verdict.FITS


def test_that_a_smaller_batch_is_the_largest_that_fits():
    models = Models()
    advice = models.advice(want(batch=64))
    (option,) = [option for option in advice.options if {c.cost for c in option.changes} == {Cost.BATCH}]
    need = Need(models.memory(option.setup.step("gpu:8.0")), option.device, limit_bytes=LIMIT)
    assert option.setup.batch == need.largest(sure=True).batch
    assert option.largest == need.largest().batch == 31  # 12 + 4 + 31 * 2 of 80 MiB
    assert option.setup.accumulate == 1


def test_that_unnecessary_changes_are_left_out():
    """Whatever fits alone is not told again together with something else."""
    found = kinds(Models().advice(want(batch=64)))
    assert not any(one < other for one in found for other in found)


def test_that_changes_are_put_together_where_one_alone_will_not_do():
    """One sample takes more than there is, so no smaller batch helps. 64 MiB are left for what is kept.

    In half precision 35 and 35, rematerialised 70: too much. Both: 35.
    """
    models = Models(sample_mib=70, inside_mib=70)
    advice = models.advice(want(batch=1))
    assert {Cost.PRECISION, Cost.REMAT} in kinds(advice)
    alone = {change.cost for option in advice.helpful for change in option.changes}
    assert {Cost.PRECISION, Cost.REMAT} <= alone


def test_that_where_nothing_helps_nothing_is_promised():
    advice = Models(state_mib=4000, weights_mib=4000).advice(want(batch=1))
    assert not advice.fits
    assert advice.options == ()


def test_that_several_gpus_don_t_accumulate():
    """Keras raises: no advice that ends in an error."""
    found = kinds(Models().advice(want(batch=128, gpus=2)))
    assert found
    assert not any(Cost.ACCUMULATE in changes for changes in found)


def test_that_a_step_that_can_t_be_traced_is_left_out():
    models = Models(impossible=lambda step: bool(step.sizes) or step.remat != "" or step.xla)
    found = kinds(models.advice(want(batch=64)))
    assert not any({Cost.INPUT, Cost.REMAT} & changes for changes in found)


def test_that_a_setup_that_can_t_be_traced_at_all_is_an_error():
    wanted = want(batch=64)
    with pytest.raises(SetupError, match="no such loss"):
        advise(wanted, Needs({}), {wanted.setup.step("gpu:8.0"): "no such loss"})


def test_that_the_cpu_needs_a_limit():
    with pytest.raises(DeviceError, match="cpu:8GiB"):
        advise(want(batch=64, device=cpu_device(), limit=None), Needs({}))


def test_that_a_larger_gpu_is_the_smallest_that_fits():
    sizes = (4, 8, 24, 80)
    devices = tuple(custom_device(f"card of {size}", size << 30, (8, 0)) for size in sizes)
    models = Models(sample_mib=100)
    advice = models.advice(want(batch=64, devices=devices))
    larger = [option for option in advice.options if option.changes[0].cost is Cost.DEVICE]
    assert [option.device.name for option in larger] == ["card of 24", "card of 80"]
    assert all(option.setup == advice.request.setup for option in larger)


def test_that_precision_follows_the_card():
    for capability, precision in (((7, 5), Precision.MIXED_FLOAT16), ((8, 9), Precision.MIXED_BFLOAT16)):
        device = custom_device("card", 1 << 30, capability)
        advice = Models().advice(want(batch=64, device=device))
        told = {option.setup.precision for option in (*advice.options, *advice.helpful)}
        assert told <= {Precision.FLOAT32, precision}


def test_that_xla_is_turned_the_other_way():
    """Which way it is now, the estimate says: Keras decides by itself."""
    wanted = want(batch=64)
    base = estimate(Need(Models().memory(wanted.setup.step("gpu:8.0")), wanted.device), wanted.setup)
    for now, then in ((False, Jit.ON), (True, Jit.OFF)):
        (xla,) = [one for one in candidates(wanted, replace(base, xla=now), ()) if one.change.cost is Cost.XLA]
        assert xla.apply(wanted.setup).jit is then


def test_that_on_jax_layouts_are_advised_and_neither_mirroring_nor_doing_without_xla():
    wanted = want(batch=64, jit=Jit.AUTO, backend=Backend.JAX, gpus=2)
    base = estimate(Need(Models().memory(wanted.setup.step("gpu:8.0")), wanted.device), wanted.setup)
    costs = {one.change.cost for one in candidates(wanted, replace(base, xla=True), ())}
    assert Cost.PRECISION in costs and not costs & {Cost.GPUS, Cost.XLA}
    (hint,) = hints(wanted, base)
    assert "max-batch --backend jax --mesh any" in hint.text


def test_that_weights_are_shared_out_on_jax_over_the_fewest_gpus_that_might_hold_them():
    wanted = replace(want(batch=64, jit=Jit.AUTO), jax=True)
    base = estimate(Need(Models().memory(wanted.setup.step("gpu:8.0")), wanted.device), wanted.setup)

    def shared(wanted: AdviceRequest, peak_bytes: int) -> list[Setup]:
        weighed = replace(base, peak_bytes=peak_bytes, capacity_bytes=100)
        found = [one for one in candidates(wanted, weighed, ()) if one.change.cost is Cost.SHARDING]
        return [one.apply(wanted.setup) for one in found]

    (four,) = shared(wanted, 390)
    assert (four.backend, four.gpus, four.batch, str(four.layout)) == (Backend.JAX, 4, 64, "fsdp")
    assert [setup.gpus for setup in shared(wanted, 2000)] == [8]
    assert shared(replace(wanted, setup=replace(wanted.setup, batch=63)), 390) == []
    assert shared(replace(wanted, jax=False), 390) == []


def held(layer, *sizes, term=Term.ACTIVATIONS):
    return [Held("an operation", layer, term, size) for size in sizes]


def test_that_a_layer_pays_by_what_it_keeps_besides_its_output():
    alive = [
        *held("up", 100, 60, 40),
        *held("convolution", 500),
        *held("block/inner", 30, 30),
        *held("attention", 400, 400),
        *held("up", 7, term=Term.WEIGHTS),
    ]
    classes = {"up": "Activation", "convolution": "Conv2D", "block/inner": "LayerNormalization"}
    classes["attention"] = "MultiHeadAttention"  # called with keywords: TensorFlow can't
    assert inside(alive, classes) == {"up": 100, "inner": 30}
    assert list(paying_layers(alive, 1000, classes)) == [("up",), ("up", "inner")]
    assert list(paying_layers(held("convolution", 500), 1000, classes)) == []
    assert activations_pay(held("dense", 50, 50), 1000, {"dense": "Dense"})  # its activation can, it can't
    assert list(paying_layers(held("dense", 50, 50), 1000, {"dense": "Dense"})) == []
    assert not activations_pay(held("dense", 50), 1000, {"dense": "Dense"})


@pytest.mark.parametrize(
    ("shape", "share", "smaller"),
    [
        ((224, 224, 3), (3, 4), (160, 160, 3)),
        ((224, 224, 3), (1, 2), (112, 112, 3)),
        ((128,), (1, 2), (64,)),
        ((512, 80), (1, 2), (256, 80)),
        ((28, 28, 1), (1, 2), (28, 28, 1)),
        ((), (1, 2), ()),
    ],
)
def test_that_inputs_shrink_in_their_sides(shape, share, smaller):
    assert shrunk(shape, *share) == smaller


def test_that_hints_name_what_dominates():
    models = Models(weights_mib=100, embedding=True)
    texts = " ".join(hint.text for hint in models.advice(want(batch=4, limit=150 * MIB)).hints)
    assert "The table of words takes 100 MiB" in texts
    assert "plain SGD updates only the rows of the batch" in texts
    assert "does not add up" in texts
