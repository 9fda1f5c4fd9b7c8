"""A GPU as the XLA compiler is told of it."""

import re

import pytest

from planner_app.core.compile.target import CAPABILITIES, derived_target
from planner_app.core.hardware.device import Device, Segment, Tflops, cpu_device, custom_device
from planner_app.errors import DeviceError
from planner_app.files.devices.catalogue import catalogue, find_device
from planner_app.files.devices.targets import published_targets, target_of

KIB = 1024


def field(text: str, name: str) -> str:
    found = re.search(rf"\b{name}: (\S+)", text)
    assert found is not None, name
    return found[1]


@pytest.mark.parametrize(
    ("name", "cores"),
    [
        ("Tesla V100 SXM2 16GB", 80),
        ("NVIDIA A100-SXM4-40GB", 108),
        ("RTX A6000", 84),
        ("NVIDIA H100 80GB HBM3", 132),
        ("H200", 132),
        ("B200", 148),
        ("RTX PRO 6000 Blackwell Workstation", 188),
    ],
)
def test_that_what_openxla_published_is_taken(name, cores):
    target = target_of(find_device(name))
    assert (target.published, target.core_count, target.derived) == (True, cores, ())


def test_that_every_published_target_is_a_device_of_the_catalogue():
    known = {device.name for device in catalogue().devices}
    assert len(published_targets()) == 7
    assert set(published_targets()) <= known


def test_that_other_gpus_are_worked_out_from_their_capability():
    target = target_of(find_device("RTX 4090"))
    assert not target.published
    # 82.6 TFLOPS over 128 units, two operations each, at 2.52 GHz
    assert (target.compute_capability, target.core_count) == ((8, 9), 128)
    assert (target.shared_memory_per_core, target.threads_per_core_limit) == (100 * KIB, 1536)
    assert target.memory_bandwidth == 1008 * 10**9
    assert target.derived == ("clock", "cache", "cores")


def test_that_a_size_with_a_capability_is_enough():
    target = target_of(custom_device("24GiB", 24 << 30, (8, 9)))
    assert target.device_memory_size == 24 << 30
    assert {"cores", "bandwidth"} <= set(target.derived)


def test_that_a_capability_nobody_lists_is_taken_as_the_next_older_one():
    newer = derived_target(custom_device("48GiB", 48 << 30, (8, 8)))
    assert (newer.compute_capability, newer.fpus_per_core) == ((8, 8), CAPABILITIES[8, 7].fpus)


def test_that_the_text_says_it_all():
    text = target_of(find_device("T4")).text
    assert "cuda_compute_capability { major: 7 minor: 5 }" in text
    assert field(text, "shared_memory_per_block_optin") == str(64 * KIB)
    assert field(text, "threads_per_core_limit") == "1024"
    assert field(text, "core_count") == "40"
    assert text.count("{") == text.count("}")
    for needed in ("platform_name", "dnn_version_info", "runtime_version", "device_description_str"):
        assert needed in text


def test_that_a_name_can_not_end_the_text():
    device = Device('A "card" }\n{', Segment.CUSTOM, compute_capability=(8, 0), tflops=Tflops(float32=10.0))
    assert derived_target(device).text.splitlines()[-1] == 'device_description_str: "A card }{"'


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (cpu_device(), "is no GPU"),
        (custom_device("24GiB", 24 << 30), "compute capability"),
        (custom_device("4GiB", 4 << 30, (5, 2)), "6.0 and newer"),
    ],
)
def test_that_what_can_not_be_compiled_for_is_said(device, said):
    with pytest.raises(DeviceError, match=said):
        target_of(device)


def test_that_every_gpu_of_the_catalogue_since_pascal_has_a_target():
    devices = [device for device in catalogue().devices if (device.compute_capability or (0, 0)) >= (6, 0)]
    assert len(devices) > 50
    for device in devices:
        assert target_of(device).core_count > 0
