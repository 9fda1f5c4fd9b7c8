"""How long a step takes, by hand and against data sheets."""

import pytest
from offers import card, one_multiplication

from planner_app.core.hardware.achieved import Pace, band
from planner_app.core.hardware.device import NvLink, Segment, Tflops
from planner_app.core.hardware.links import ACHIEVED, link_between, reduce_seconds, waited_for
from planner_app.core.hardware.roofline import rate, speed
from planner_app.core.hardware.work import Kind, Multiplication, StepWork, step_work
from planner_app.core.model.setup import Precision
from planner_app.core.model.trace import Size
from planner_app.files.devices.catalogue import find_device

TERA = 1e12
# 1e12 operations and 1e9 bytes in one kernel, 1e9 bytes in others
WORK = StepWork((Multiplication(Size(0, 10**12), Size(0, 10**9), 1),), Size(), Size(0, 10**9), 2, 4 * 10**8)


def pace(flops: float, bandwidth: float = 10**12) -> Pace:
    """All kinds of kernels alike, but for depthwise convolutions."""
    return Pace(flops, flops, TERA, bandwidth, 5e-6, 0.0, 4)


def seconds(device, precision=Precision.FLOAT32, *, batch=1, gpus=1, accumulate=1):
    found = speed(
        WORK,
        device,
        precision,
        xla=False,
        batch=batch,
        per_gpu_batch=batch // gpus // accumulate,
        gpus=gpus,
        accumulate=accumulate,
    )
    return found.seconds


def test_that_the_slower_of_arithmetic_and_memory_counts():
    # other kernels take 1e9 / 1e12 s
    assert pace(100 * TERA).seconds(WORK.load(1), 0) == pytest.approx(0.01 + 0.001)
    assert pace(10_000 * TERA).seconds(WORK.load(1), 0) == pytest.approx(0.001 + 0.001)
    assert pace(100 * TERA).seconds(WORK.load(4), 0) == pytest.approx(4 * 0.011)


def test_that_starting_kernels_takes_time_however_small_they_are():
    assert pace(1e18, 1e18).seconds(WORK.load(1), 10_000) == pytest.approx(10_000 * 5e-6, rel=1e-3)


def test_that_kinds_of_kernels_have_their_own_pace():
    both = tuple(Multiplication(Size(0, 10**12), Size(0, 1), 1, kind) for kind in (Kind.MATRIX, Kind.DEPTHWISE))
    work = StepWork(both, Size(), Size(), 0, 0)
    assert pace(100 * TERA).seconds(work.load(1), 0) == pytest.approx(0.01 + 1.0)  # ordinary units do 1 TFLOPS here


def test_that_a_generation_without_published_figures_has_a_wider_band():
    (low, high), (lower, higher) = band(card(capability=(8, 0))), band(card(capability=(12, 0)))
    assert lower < low < 1 < high < higher


def test_that_the_band_holds_the_expected_speed_and_the_best_is_above_it():
    found = speed(WORK, card(), Precision.FLOAT32, xla=True, batch=8, per_gpu_batch=8, gpus=1, accumulate=1)
    order = (found.low_samples_per_second, found.samples_per_second, found.high_samples_per_second)
    assert order == tuple(sorted(order))
    assert found.best_samples_per_second >= found.high_samples_per_second * 0.999


def test_that_float32_runs_on_tensor_cores_from_ampere_on():
    assert rate(card(capability=(8, 0)), Precision.FLOAT32).flops_per_second == 80 * TERA
    assert rate(card(capability=(7, 5)), Precision.FLOAT32).flops_per_second == 20 * TERA


def test_that_half_precision_without_tensor_cores_is_no_faster():
    pascal = find_device("P100 PCIe 16GB")
    assert rate(pascal, Precision.MIXED_FLOAT16) == rate(pascal, Precision.FLOAT32)
    assert rate(find_device("T4"), Precision.MIXED_BFLOAT16).flops_per_second == pytest.approx(8.1 * TERA)


def test_that_l40s_is_not_as_slow_as_an_l4():
    """Elsewhere a name was looked up by its beginning."""
    l4, l40s = (rate(find_device(name), Precision.MIXED_BFLOAT16) for name in ("NVIDIA L4", "NVIDIA L40S"))
    assert (l4.flops_per_second, l40s.flops_per_second) == (121 * TERA, 362 * TERA)


def test_that_peaks_are_dense_and_of_the_precision():
    """Elsewhere the RTX 5090 had 1676 TFLOPS in float16, and the RTX 3090 16.3."""
    assert rate(find_device("RTX 5090"), Precision.MIXED_FLOAT16).flops_per_second < 300 * TERA
    assert rate(find_device("H100 SXM5 80GB"), Precision.MIXED_BFLOAT16).flops_per_second == 989 * TERA
    assert rate(find_device("RTX 3090"), Precision.FLOAT32).flops_per_second > 30 * TERA


def test_that_an_unknown_figure_is_not_invented():
    assert rate(card(tflops=Tflops()), Precision.FLOAT32) is None
    assert rate(card(), Precision.FLOAT64) is None
    unsure = rate(find_device("Jetson T5000"), Precision.MIXED_FLOAT16)  # only that of its ordinary units is published
    assert (unsure.flops_per_second, unsure.at_least) == (8.06 * TERA, True)


def test_that_nvlink_counts_one_direction_and_a_bridge_two_cards():
    assert link_between(find_device("A100 SXM4 80GB"), 8).bytes_per_second == 300e9
    bridged = card(nvlink=NvLink("NVLink", 112_500_000_000, bridge=True))
    assert link_between(bridged, 2).bytes_per_second == 56.25e9
    assert link_between(bridged, 3).bytes_per_second == pytest.approx(16 * 1.969e9)


def test_that_geforce_cards_speak_through_the_host():
    assert link_between(card(segment=Segment.CONSUMER), 2).bytes_per_second == pytest.approx(8 * 1.969e9)
    assert link_between(card(pcie=None), 2) is None


def test_that_a_ring_sends_gradients_twice_but_for_one_share():
    linked = card(nvlink=NvLink("NVLink", 200 * 10**9))
    assert reduce_seconds(4 * 10**8, linked, 4) == pytest.approx(2 * 3 / 4 * 4e8 / (100e9 * ACHIEVED))
    assert reduce_seconds(4 * 10**8, linked, 1) == 0
    assert reduce_seconds(4 * 10**8, card(pcie=None), 2) is None


def test_that_gpus_share_the_work_and_accumulation_repeats_it():
    linked = card(nvlink=NvLink("NVLink", 200 * 10**9))
    one = seconds(linked, batch=8)
    reducing = waited_for(2 * 3 / 4 * 4e8 / (100e9 * ACHIEVED), one / 4)
    assert reducing > 0
    assert seconds(linked, batch=8, gpus=4) == pytest.approx(one / 4 + reducing, rel=1e-3)
    assert seconds(linked, batch=8, accumulate=4) == pytest.approx(one, rel=1e-3)


def test_that_a_device_without_bandwidth_has_no_speed():
    work = step_work(one_multiplication())
    unknown = card(bandwidth_bytes_per_second=None)
    assert speed(work, unknown, Precision.FLOAT32, xla=False, batch=1, per_gpu_batch=1, gpus=1, accumulate=1) is None
