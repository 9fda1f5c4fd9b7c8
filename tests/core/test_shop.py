"""Which GPUs fit a training, worked out by hand: 1 GiB, and 100 MiB for each sample a GPU holds."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some
from offers import GIB, MIB, TODAY, an_hour, card, lines, offered, wanted

from planner_app.core.estimate.need import Needs
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import Segment
from planner_app.core.hardware.option import ShopRequest
from planner_app.core.hardware.refusal import Why
from planner_app.core.hardware.roofline import Source
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.hardware.shop import shop, steps, with_prices
from planner_app.core.measure.calibration import Calibration, Sample
from planner_app.core.model.setup import Backend, Jit, Precision, Setup
from planner_app.errors import SetupError
from planner_app.files.devices.catalogue import find_device

CARD = card(gib=24)  # TensorFlow gets 21.9 GiB of it: 213 samples at 100 MiB and one GiB


def only(offers):
    (option,) = offers.options
    return option


def test_that_each_gpu_holds_its_share_of_the_batch():
    offers = offered(wanted(300, counts=(1, 2, 3)), CARD)
    assert [(option.gpus, option.setup.per_gpu_batch) for option in offers.options] == [(2, 150), (3, 100)]
    assert [option.level.peak_bytes for option in offers.options] == [GIB + 15000 * MIB, GIB + 10000 * MIB]
    option = offers.options[0]
    assert option.headroom_bytes == allocator_limit_bytes(CARD) - option.level.peak_bytes
    assert option.watts == 200


def test_that_memory_of_several_gpus_is_not_one_pool():
    # 8 x 24 GiB are 192, but what every GPU must hold besides its samples fits in none of them.
    offers = offered(wanted(8, counts=(8,)), CARD, constant=30 * GIB)
    assert offers.options == ()
    assert offers.refusals[0].need_bytes == 30 * GIB + 100 * MIB


def test_that_the_gigabytes_on_the_box_change_nothing():
    boxed, bare = card(marketed_gb=99.0), card(marketed_gb=None)
    (first,), (second,) = (offered(wanted(8, counts=(1,)), device).options for device in (boxed, bare))
    assert (first.limit_bytes, first.largest_batch) == (second.limit_bytes, second.largest_batch)
    assert first.limit_bytes < first.device.total_bytes


def test_that_a_refusal_says_what_is_needed_and_what_is_given():
    l4 = find_device("NVIDIA L4")
    offers = offered(wanted(400, counts=(1, 2)), l4)
    assert [refusal.sentence for refusal in offers.refusals] == [
        "needs 40.1 GiB per GPU (float32, 400 each), L4 gives 20.4 GiB",
        "needs 20.5 GiB per GPU with 2 of them (float32, 200 each), L4 gives 20.4 GiB",
    ]
    (nearest,) = offers.why_not()
    assert nearest.gpus == 2


def test_that_what_is_nearest_to_fitting_is_listed_first():
    small, middling = card("NVIDIA Small", 8), card("NVIDIA Middling", 16)
    offers = offered(wanted(300, counts=(1,)), small, middling, card("NVIDIA Large", 80))
    assert [refusal.device.name for refusal in offers.why_not()] == ["NVIDIA Middling", "NVIDIA Small"]


def test_that_the_largest_batch_is_of_all_gpus():
    limit = allocator_limit_bytes(CARD)
    each = (limit - GIB) // (100 * MIB)
    assert [option.largest_batch for option in offered(wanted(4, counts=(1, 4)), CARD).options] == [each, 4 * each]


def test_that_a_calibrated_device_uses_its_calibration_and_says_so():
    """200 samples take 20.5 GiB of the 21.9 by the estimate, and a tenth more where that was measured."""
    other, want = card("NVIDIA X2"), wanted(200, counts=(1,))
    calibration = Calibration(
        "NVIDIA X1", "2.21.0", "3.15.1", True, (Sample("net", "", "", "2026-11-16", 100, (110,)),)
    )

    def measured(device, xla, backend):
        return calibration if device.name == "NVIDIA X1" and xla else None

    plain = offered(want, CARD, other)
    assert [option.device.name for option in plain.options] == ["NVIDIA X1", "NVIDIA X2"]
    memories = lines(want, (CARD, other))
    found = shop(want, (CARD, other), Needs(memories, measured), today=TODAY)
    assert [option.device.name for option in found.options] == ["NVIDIA X2"]
    assert found.options[0].notes == ()
    assert found.refusals[0].need_bytes == round(1.1 * (GIB + 20000 * MIB))
    half = replace(want, setup=Setup(batch=100))
    option = shop(half, (CARD,), Needs(memories, measured), today=TODAY).options[0]
    assert option.level.peak_bytes == round(1.1 * (GIB + 10000 * MIB))
    assert option.largest_batch == (int(allocator_limit_bytes(CARD) / 1.1) - GIB) // (100 * MIB)
    assert option.notes[0].startswith("calibrated with one measurement on NVIDIA X1")


def test_that_a_want_without_a_choice_is_refused():
    for nothing in ({"counts": ()}, {"counts": (0, 1)}, {"most_accumulate": 0}):
        with pytest.raises(SetupError, match="expected at least one precision, and positive numbers"):
            wanted(8, **nothing)
    with pytest.raises(SetupError):
        ShopRequest(Setup(batch=8), precisions=())
    with pytest.raises(SetupError, match="max-batch --backend jax --mesh any"):
        ShopRequest(Setup(batch=8, backend=Backend.JAX))


# Precisions.


def test_that_the_first_precision_that_fits_is_taken():
    both = (Precision.FLOAT32, Precision.MIXED_FLOAT16)
    assert only(offered(wanted(200, *both, counts=(1,)), CARD)).setup.precision is Precision.FLOAT32
    assert only(offered(wanted(400, *both, counts=(1,)), CARD)).setup.precision is Precision.MIXED_FLOAT16
    assert only(offered(wanted(200, *both[::-1], counts=(1,)), CARD)).setup.precision is Precision.MIXED_FLOAT16


def test_that_half_precision_never_needs_more_than_float32():
    """Elsewhere training in float16 came out at twice the bytes of float32."""
    halved = only(offered(wanted(100, Precision.MIXED_FLOAT16, counts=(1,)), CARD))
    full = only(offered(wanted(100, counts=(1,)), CARD))
    assert halved.level.peak_bytes == full.level.peak_bytes - 100 * 50 * MIB


def test_that_a_card_without_bfloat16_is_refused_or_trains_in_the_next():
    turing = card(capability=(7, 5))
    (refusal,) = offered(wanted(8, Precision.MIXED_BFLOAT16, counts=(1,)), turing).refusals
    assert refusal.sentence == ("X1 has no bfloat16 (compute capability 7.5, it needs 8.0): allow mixed_float16")
    either = wanted(8, Precision.MIXED_BFLOAT16, Precision.MIXED_FLOAT16, counts=(1,))
    assert only(offered(either, turing)).setup.precision is Precision.MIXED_FLOAT16


# Accumulation.


def test_that_accumulation_takes_the_fewest_steps_that_fit():
    # With half a gibibyte of sums, 208 samples fit at a time: 400 go in two steps.
    option = only(offered(wanted(400, counts=(1,), most_accumulate=8), CARD))
    assert (option.setup.accumulate, option.setup.per_gpu_batch) == (2, 200)
    assert option.level.peak_bytes == GIB + GIB // 2 + 20000 * MIB  # with what accumulation itself takes


def test_that_steps_that_share_the_batch_out_evenly_are_preferred():
    option = only(offered(wanted(512, counts=(1,), most_accumulate=8), CARD))  # three would do, of 171 or fewer
    assert (option.setup.accumulate, option.setup.per_gpu_batch, option.even) == (4, 128, True)
    prime = only(offered(wanted(509, counts=(1,), most_accumulate=8), CARD))
    assert (prime.setup.accumulate, prime.even) == (3, False)


def test_that_without_leave_nothing_is_accumulated():
    assert offered(wanted(400, counts=(1,)), CARD).options == ()
    assert offered(wanted(1700, counts=(1,), most_accumulate=8), CARD).options == ()  # nine would be needed


def test_that_a_refusal_says_what_the_most_steps_would_need():
    (refusal,) = offered(wanted(4000, counts=(1,), most_accumulate=8), CARD).refusals
    assert refusal.sentence == "needs 50.3 GiB per GPU (float32, 500 each in 8 steps), X1 gives 21.9 GiB"


def test_that_a_batch_that_fits_is_not_accumulated():
    assert only(offered(wanted(200, counts=(1,), most_accumulate=8), CARD)).setup.accumulate == 1


def test_that_accumulation_over_several_gpus_is_noted():
    option = only(offered(wanted(800, counts=(2,), most_accumulate=8), CARD))
    assert any("can't accumulate gradients" in note for note in option.notes)


# XLA, slices, cards that can't be used.


def test_that_xla_is_on_for_one_gpu_and_off_for_several_unless_told():
    assert [option.xla for option in offered(wanted(8, counts=(1, 2)), CARD).options] == [True, False]
    told = wanted(8, counts=(1, 2), jit=Jit.OFF)
    assert [option.xla for option in offered(told, CARD).options] == [False, False]


def test_that_a_slice_is_used_alone():
    part = card("NVIDIA X1 MIG 1g", 12, slice_of="NVIDIA X1")
    assert [option.gpus for option in offered(wanted(8), part).options] == [1]
    assert offered(wanted(8, counts=(2,)), part) == offered(wanted(8, counts=(2,)))


def test_that_a_laptop_is_offered_with_the_one_gpu_it_has():
    laptop = replace(CARD, segment=Segment.LAPTOP)
    assert [option.gpus for option in offered(wanted(8), laptop).options] == [1]


def test_that_more_gpus_are_faster_unless_it_is_said_why_not():
    """A slow link, and XLA for one GPU only, are the reasons there are."""
    slow = replace(CARD, pcie="3.0 x1")
    for device in (CARD, slow):
        options = offered(wanted(64, counts=(1, 2, 4)), device).options
        for fewer, more in pairwise(options):
            assert more.speed.samples_per_second >= fewer.speed.samples_per_second or more.slower
    assert all(note for option in options if option.slower for note in option.notes)


def test_that_more_gpus_than_samples_are_refused():
    (refusal,) = offered(wanted(3, counts=(4,)), CARD).refusals
    assert refusal.sentence == "a batch of 3 can't feed 4 GPUs"


@pytest.mark.parametrize(
    ("device", "why"),
    [
        (find_device("K80"), Why.NO_KERNELS),
        (replace(CARD, total_bytes=None), Why.MEMORY_UNKNOWN),
        (find_device("MI300X"), Why.NO_WHEEL),
    ],
)
def test_that_cards_that_cannot_be_answered_for_are_refused(device, why):
    offers = offered(wanted(8), device)
    assert {refusal.why for refusal in offers.refusals} == {why}
    assert offers.options == ()


def test_that_the_high_end_of_the_band_counts_where_it_must():
    loose = offered(wanted(200, counts=(1,)), CARD, band=1.2)
    assert only(loose).verdict is Verdict.TIGHT
    assert "tight: the high end of the estimate's band does not fit" in only(loose).notes
    assert offered(wanted(200, counts=(1,), sure=True), CARD, band=1.2).options == ()


# Traces, speed, prices.


def test_that_missing_traces_are_named_step_by_step():
    want = wanted(400, counts=(1,), most_accumulate=8)
    all_of_them = lines(want, [CARD])
    first = shop(want, [CARD], Needs({}), today=TODAY)
    assert (first.options, first.refusals) == ((), ())
    (plain,) = first.missing
    assert not plain.accumulates
    second = shop(want, [CARD], Needs({plain: all_of_them[plain]}), today=TODAY)
    (adding,) = second.missing  # only now is it known that the batch does not fit at once
    assert adding == replace(plain, accumulates=True)
    last = shop(want, [CARD], Needs(all_of_them), today=TODAY)
    assert last.missing == ()
    assert len(last.options) == 1


def test_that_steps_are_all_that_a_shop_can_ask_for():
    want = wanted(2, Precision.MIXED_FLOAT16, Precision.FLOAT32, most_accumulate=4)
    devices = [card(capability=(6, 0)), card(capability=(7, 0)), card(capability=(9, 0))]
    asked = {
        want.trained(precision, gpus, accumulate).step(device.target)
        for device in devices
        for precision in want.precisions
        for gpus, accumulate in ((1, 1), (1, 2), (2, 1))
    }
    assert asked <= set(steps(want, devices))


def test_that_a_measured_speed_replaces_the_estimate():
    setup = Setup(batch=8)
    option = only(offered(wanted(8, counts=(1,)), CARD, measured={(CARD.name, setup): 0.5}))
    assert (option.speed.samples_per_second, option.speed.source) == (16, Source.MEASURED)
    other = only(offered(wanted(8, counts=(1,)), CARD, measured={("NVIDIA X2", setup): 0.5}))
    assert other.speed.source is Source.ROOFLINE


def test_that_a_device_of_unknown_speed_is_offered_without_one():
    option = only(offered(wanted(8, counts=(1,)), replace(CARD, bandwidth_bytes_per_second=None)))
    assert (option.speed, option.usd_per_million_samples) == (None, None)


def test_that_new_prices_need_no_new_shop():
    options = offered(wanted(8, counts=(1, 2)), CARD).options
    assert {option.hour for option in options} == {None}
    priced = with_prices(options, {CARD.name: replace(CARD, cloud_prices=(an_hour(2.0),))}, TODAY)
    assert [option.hour.usd for option in priced] == [2.0, 4.0]


@given(
    batch=some.integers(1, 5000),
    gib=some.floats(4, 200),
    constant=some.integers(MIB, 40 * GIB),
    slope=some.integers(1, 2 * GIB),
    accumulate=some.integers(1, 16),
)
def test_that_whatever_is_offered_fits_and_keeps_the_batch(batch, gib, constant, slope, accumulate):
    want = wanted(batch, Precision.MIXED_FLOAT16, Precision.FLOAT32, most_accumulate=accumulate)
    offers = offered(want, card(gib=gib), constant=constant, slope=slope)
    assert len(offers.options) + len(offers.refusals) == 16
    for option in offers.options:
        setup = option.setup
        assert option.level.peak_bytes <= option.limit_bytes
        assert setup.batch == batch
        assert setup.per_gpu_batch * setup.gpus * setup.accumulate >= batch
        assert setup.accumulate <= accumulate
    for refusal in offers.refusals:
        assert refusal.sentence
        if refusal.why is Why.MEMORY:
            assert refusal.need_bytes > refusal.limit_bytes
