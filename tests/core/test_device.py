"""Devices as values, and finding them by name."""

import pytest

from planner_app.core.hardware.catalogue import Catalogue
from planner_app.core.hardware.device import Basis, Device, Segment, cpu_device, custom_device
from planner_app.core.hardware.machine import Gpu, as_reported
from planner_app.errors import DeviceError

GIB = 1 << 30


def named(*names: str, aliases: tuple[str, ...] = ()) -> Catalogue:
    return Catalogue(tuple(Device(name=name, segment=Segment.DATACENTER, aliases=aliases) for name in names))


def test_that_what_is_unknown_is_none():
    card = Device(name="NVIDIA X1", segment=Segment.DATACENTER)
    assert (card.total_bytes, card.tdp_watts, card.launch_price, card.tflops.float16) == (None, None, None, None)


def test_that_the_cpu_has_no_cuda_and_no_limit_unless_given():
    assert not cpu_device().cuda
    assert cpu_device().total_bytes is None
    assert cpu_device(8 * GIB).total_bytes == 8 * GIB


def test_that_a_custom_device_says_who_gave_its_size():
    card = custom_device("24GiB", 24 * GIB, (8, 9))
    assert card.provenance["total_bytes"].basis is Basis.GIVEN
    assert (card.cuda, card.total_is_derived, card.compute_capability) == (True, False, (8, 9))


def test_that_a_device_without_memory_is_refused_in_a_sentence():
    with pytest.raises(DeviceError, match=r"0GiB can't have 0 bytes of memory: use a size such as 24GiB\."):
        custom_device("0GiB", 0)


def test_that_l40s_is_not_an_l4():
    both = named("NVIDIA L4", "NVIDIA L40S")
    assert both.find("L40S").name == "NVIDIA L40S"
    assert both.find("l4").name == "NVIDIA L4"
    with pytest.raises(DeviceError, match=r"No device is called 'L40S'.*\"NVIDIA L4\""):
        named("NVIDIA L4").find("L40S")


@pytest.mark.parametrize(
    "spelling", ["NVIDIA A100-SXM4-80GB", "a100 80gb sxm4", "A100 SXM4 80 GB", "nvidia_a100_sxm4_80gb"]
)
def test_that_order_case_and_hyphens_do_not_matter(spelling):
    assert named("NVIDIA A100 SXM4 80GB", "NVIDIA A100 SXM4 40GB").find(spelling).name == "NVIDIA A100 SXM4 80GB"


@pytest.mark.parametrize("spelling", ["NVIDIA GeForce RTX 3090", "GeForce RTX 3090", "RTX 3090", "3090"])
def test_that_geforce_cards_go_by_their_number(spelling):
    assert named("NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090 Ti").find(spelling).name.endswith("3090")


def test_that_a_name_that_leaves_a_choice_is_refused_with_the_choices():
    with pytest.raises(DeviceError, match='is ambiguous: write "NVIDIA A100 40GB" or "NVIDIA A100 80GB"'):
        named("NVIDIA A100 40GB", "NVIDIA A100 80GB").find("A100")


def test_that_a_name_two_devices_claim_is_refused():
    with pytest.raises(DeviceError, match="is ambiguous"):
        named("NVIDIA X1", "NVIDIA X2", aliases=("the card",)).find("the card")


def test_that_a_whole_name_counts_more_than_an_alias():
    assert named("NVIDIA X1", "NVIDIA X2", aliases=("X1",)).find("X1").name == "NVIDIA X1"


@pytest.mark.parametrize("nonsense", ["", "   ", "nvidia", "-", "x" * 5000])
def test_that_nonsense_gets_a_short_sentence(nonsense):
    with pytest.raises(DeviceError, match="plimsoll devices --search") as refused:
        named("NVIDIA L4").find(nonsense)
    assert len(str(refused.value)) < 300


def test_that_a_search_matches_every_word():
    cards = named("NVIDIA L4", "NVIDIA L40S", "NVIDIA A10")
    assert [card.name for card in cards.search("l4")] == ["NVIDIA L4", "NVIDIA L40S"]
    assert [card.name for card in cards.search("DATACENTER l40")] == ["NVIDIA L40S"]
    assert cards.search("gtx") == ()


def test_that_what_the_driver_says_beats_the_catalogue():
    known = custom_device("NVIDIA X1", 24 << 30)
    other = custom_device("NVIDIA X2", 24 << 30)
    named = {"NVIDIA X1": known}

    def find(name):
        if name not in named:
            raise DeviceError("unknown")
        return named[name]

    gpus = [Gpu(0, name="NVIDIA X1", total_bytes=23 << 30), Gpu(1, name="no such", total_bytes=1 << 30)]
    first, second = as_reported([known, other], gpus, find)
    assert (first.total_bytes, first.provenance["total_bytes"].source) == (23 << 30, "NVML on this machine")
    assert second is other
