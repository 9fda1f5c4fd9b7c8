"""What TensorFlow leaves of a device: its own rule, worked out by hand and compared with its own log lines."""

import pytest

from planner_app.core.hardware.device import Device, NvLink, Segment, cpu_device, custom_device
from planner_app.core.hardware.runtime import (
    ByteRange,
    allocator_limit_bytes,
    allocator_limits,
    context_bytes,
    cublas_workspace_bytes,
    free_bytes,
    library_bytes,
    min_system_memory_bytes,
    nccl_bytes,
    outside_bytes,
    tensorflow_limit_bytes,
)
from planner_app.errors import DeviceError

MIB, GIB = 1 << 20, 1 << 30
NOTHING = ByteRange(0, 0, 0)
L4 = custom_device("L4", 23034 * MIB, (8, 9))
NVLINK = NvLink("NVLink 4", 900 * 10**9)


def h100(nvlink: NvLink | None = NVLINK) -> Device:
    return Device("H100", Segment.DATACENTER, compute_capability=(9, 0), total_bytes=81559 * MIB, nvlink=nvlink)


@pytest.mark.parametrize(
    ("capability", "reserve"),
    [((3, 7), 500), ((6, 1), 500), ((7, 0), 1050), ((7, 5), 1050), ((8, 9), 1536), ((9, 0), 1800), ((12, 0), 1800)],
)
def test_that_the_reserve_goes_by_compute_capability(capability, reserve):
    assert min_system_memory_bytes(20 * GIB, capability) == reserve * MIB


def test_that_the_reserve_is_small_where_less_than_2_gib_are_free():
    assert min_system_memory_bytes(2 * GIB - 1, (9, 0)) == 225 * MIB
    assert min_system_memory_bytes(2 * GIB, (9, 0)) == 1800 * MIB


def test_that_an_unknown_capability_gets_the_largest_reserve():
    assert min_system_memory_bytes(20 * GIB, None) == 1800 * MIB


def test_that_the_reserve_is_not_taken_where_it_would_take_all():
    assert tensorflow_limit_bytes(200 * MIB, 8 * GIB, (8, 6)) == 200 * MIB


def test_that_a_fraction_is_of_the_total_and_leaves_no_reserve():
    assert tensorflow_limit_bytes(20 * GIB, 24 * GIB, (8, 9), fraction=0.5) == 12 * GIB


def test_that_the_users_reserve_replaces_tensorflows_unless_it_is_too_much():
    assert tensorflow_limit_bytes(20 * GIB, 24 * GIB, (8, 9), reserve_bytes=GIB) == 19 * GIB
    assert tensorflow_limit_bytes(20 * GIB, 24 * GIB, (8, 9), reserve_bytes=21 * GIB) == 20 * GIB - 1536 * MIB


def test_that_a_logical_devices_limit_is_taken_as_it_is():
    assert tensorflow_limit_bytes(20 * GIB, 24 * GIB, (8, 9), logical_limit_bytes=23 * GIB) == 23 * GIB


def test_that_an_l4_gives_20_4_gib_of_its_24_gb():
    # 23034 MiB reported - (350 MiB + 1.1 %) for driver and context - 1536 MiB reserve = 20894.6 MiB
    assert allocator_limit_bytes(L4) == 23034 * MIB - 350 * MIB - 23034 * MIB * 11 // 1000 - 1536 * MIB
    assert allocator_limit_bytes(L4) // MIB == 20894


# "Created device ... with N MB memory", public logs of cards that seem idle, 2022 to 2026: what NVML reports, the
# compute capability, and the least and the most that was seen.
LOGGED = [
    ("A100 40GB MIG 1g.5gb", 4864, (8, 0), 3026, 3026),
    ("Tesla T4", 15360, (7, 5), 13627, 13942),
    ("Tesla P100", 16384, (6, 0), 15511, 15511),
    ("Tesla V100 32GB", 32768, (7, 0), 30574, 31134),
    ("NVIDIA L4", 23034, (8, 9), 20549, 20967),
    ("NVIDIA RTX A5000", 24564, (8, 6), 22233, 22476),
    ("NVIDIA GeForce RTX 4090", 24564, (8, 9), 22100, 22288),
    ("NVIDIA RTX A6000", 49140, (8, 6), 46673, 46866),
    ("NVIDIA A100 40GB", 40960, (8, 0), 38068, 38482),
    ("NVIDIA A100 80GB", 81920, (8, 0), 78945, 79197),
    ("NVIDIA H100 80GB", 81559, (9, 0), 78763, 78763),
]


@pytest.mark.parametrize(("name", "total", "capability", "least", "most"), LOGGED)
def test_that_the_limit_is_what_tensorflow_has_logged(name, total, capability, least, most):
    limits = allocator_limits(custom_device(name, total * MIB, capability))
    assert limits is not None
    assert limits.low_bytes <= least * MIB
    assert most * MIB <= limits.high_bytes
    assert limits.expected_bytes == pytest.approx((least + most) / 2 * MIB, rel=0.035)


def test_that_the_context_takes_from_what_is_free():
    context, free = context_bytes(L4), free_bytes(L4)
    assert free.low_bytes + context.high_bytes == free.high_bytes + context.low_bytes == 23034 * MIB
    assert context.low_bytes < context.expected_bytes < context.high_bytes


def test_that_a_device_smaller_than_a_context_gives_nothing():
    assert allocator_limits(custom_device("tiny", 64 * MIB)) == NOTHING


def test_that_cublas_takes_8_mib_and_an_eighth_before_hopper_and_32_mib_since():
    assert cublas_workspace_bytes((8, 9)) == 8_519_680
    assert cublas_workspace_bytes((9, 0)) == cublas_workspace_bytes(None) == 32 * MIB


def test_that_libraries_stay_within_tensorflows_reserve():
    assert library_bytes(L4) == ByteRange(8_519_680, 380_000_000 + 8_519_680, 1536 * MIB)
    small = library_bytes(custom_device("2 GB", 2 * GIB, (6, 1)))
    assert small.expected_bytes == small.high_bytes == 225 * MIB


def test_that_one_gpu_needs_no_nccl():
    assert nccl_bytes(h100(), 1) == NOTHING


def test_that_nccl_over_pcie_takes_12_mib_a_channel():
    assert nccl_bytes(L4, 2) == nccl_bytes(L4, 8) == ByteRange(0, 2 * 12 * MIB, 2 * 4 * 12 * MIB)


def test_that_nvls_adds_256_mib_on_8_hoppers():
    # 16 channels x 12 MiB, and 16 x 2 x 1 MiB for each of 8 GPUs
    assert nccl_bytes(h100(), 8).expected_bytes == (192 + 256) * MIB
    assert nccl_bytes(h100(), 2).expected_bytes == (192 + 64) * MIB
    assert nccl_bytes(h100(NvLink("NVLink 4", bridge=True)), 2).expected_bytes == 192 * MIB


def test_that_what_lies_outside_is_the_sum_of_its_parts():
    whole = outside_bytes(h100(), 4)
    parts = context_bytes(h100()), library_bytes(h100()), nccl_bytes(h100(), 4)
    assert whole.expected_bytes == sum(part.expected_bytes for part in parts)
    assert whole.low_bytes <= whole.expected_bytes <= whole.high_bytes


def test_that_the_cpu_has_nothing_outside_and_only_the_limit_it_is_given():
    assert allocator_limit_bytes(cpu_device()) is None
    assert allocator_limit_bytes(cpu_device(8 * GIB)) == 8 * GIB
    assert outside_bytes(cpu_device(), 4) == NOTHING


def test_that_a_card_of_unknown_memory_is_an_error_and_not_zero():
    with pytest.raises(DeviceError, match=r"The memory that NVIDIA X1 reports is unknown: give it as a size"):
        allocator_limit_bytes(Device("NVIDIA X1", Segment.DATACENTER))
