"""The catalogue: what cards really report, the mistakes that other tools made, and the user's own file."""

import json
from fractions import Fraction

import msgspec
import pytest

from planner_app.core.hardware.device import Basis, Segment
from planner_app.core.hardware.runtime import allocator_limits, outside_bytes
from planner_app.errors import DeviceError, PlannerError
from planner_app.files.devices.catalogue import OWN_FILE, find_device, load_catalogue
from planner_app.files.devices.entries import CatalogueFile, Entry, Figure

MIB, GIB = 1 << 20, 1 << 30
OWN = load_catalogue()
FILE = msgspec.json.decode(OWN_FILE.read_bytes(), type=CatalogueFile)


@pytest.fixture
def users(tmp_path):
    """A user's file with these entries."""

    def write(*entries: dict, version: int = 1):
        path = tmp_path / "devices.json"
        path.write_text(json.dumps({"schema_version": version, "devices": entries}))
        return path

    return write


@pytest.mark.parametrize(
    ("name", "mib"),
    [
        ("NVIDIA L4", 23034),
        ("A10", 23028),
        ("A40", 46068),
        ("A40 ECC off", 49140),
        ("Tesla T4", 15360),
        ("NVIDIA H100 80GB HBM3", 81559),
        ("B200", 183359),
        ("A100 80GB", 81920),
        ("RTX 4090", 24564),
        ("RTX 3090", 24576),
    ],
)
def test_that_capacity_is_what_nvml_reports(name, mib):
    device = OWN.find(name)
    assert device.total_bytes == mib * MIB
    assert device.provenance["total_bytes"].basis is Basis.QUOTED


def test_that_no_marketed_gigabyte_is_taken_for_more_than_a_gib():
    for device in OWN.devices:
        if device.marketed_gb is not None and device.total_bytes is not None:
            assert 0.92 * device.marketed_gb * GIB < device.total_bytes <= device.marketed_gb * GIB, device.name


def test_that_ecc_takes_a_sixteenth_of_gddr():
    on, off = OWN.find("A40"), OWN.find("A40 ECC off")
    assert (on.ecc, off.ecc) == (True, False)
    assert on.total_bytes == pytest.approx(off.total_bytes * 15 / 16, rel=0.0001)


def quoted_shares(rule: str) -> list[Fraction]:
    """What cards that have both figures report, of the kinds that the rule is for."""
    kinds = {
        "gddr": lambda e: e.segment is Segment.CONSUMER and e.architecture in ("Pascal", "Turing", "Ampere"),
        "gddr6": lambda e: (
            e.architecture in ("Ampere", "Ada Lovelace")
            and e.memory_type.startswith("GDDR6")
            and (
                e.segment is Segment.WORKSTATION or (e.architecture == "Ada Lovelace" and e.segment is Segment.CONSUMER)
            )
        ),
        "gddr-ecc": lambda e: e.ecc is True and e.segment is Segment.DATACENTER,
        "gddr-blackwell": lambda e: e.architecture == "Blackwell 2.0" and e.memory_type == "GDDR7",
        "hbm-volta": lambda e: e.memory_type == "HBM2",
        "hbm-hopper": lambda e: e.architecture in ("Hopper", "Blackwell"),
    }
    return [
        Fraction(entry.total_mib.value) / (Fraction(marketed(entry)) * 1024)
        for entry in FILE.devices
        if isinstance(entry.total_mib, Figure) and entry.total_mib.basis is Basis.QUOTED and kinds[rule](entry)
    ]


def marketed(entry: Entry) -> float:
    return entry.marketed_gb.value if isinstance(entry.marketed_gb, Figure) else entry.marketed_gb


@pytest.mark.parametrize("rule", sorted(set(FILE.rules) - {"unified"}))
def test_that_a_rule_takes_the_least_seen_among_cards_of_the_kind(rule):
    assert min(quoted_shares(rule)) == Fraction(*FILE.rules[rule].share)


def test_that_a_derived_total_follows_its_rule_and_is_marked():
    derived = [e for e in FILE.devices if isinstance(e.total_mib, Figure) and e.total_mib.basis is Basis.DERIVED]
    assert len(derived) == 60
    for entry in derived:
        share = Fraction(*FILE.rules[entry.total_mib.source.removeprefix("rule ")].share)
        assert entry.total_mib.value == int(Fraction(marketed(entry)) * 1024 * share), entry.name
        assert OWN.find(entry.name).total_is_derived


def test_that_an_l40_is_derived_like_the_l40s_reports():
    # 48 GB x 1024 x 23028/24576 = 46056 MiB; the L40S, the same memory, reports 46068
    assert OWN.find("L40").total_bytes == 46056 * MIB


def test_that_a_card_of_unknown_memory_has_no_total():
    assert OWN.find("MI300X").total_bytes is None


def test_that_what_drivers_print_beats_what_is_derived_from_a_rack():
    # 20 TB in the 72 GPUs of a rack are 278 GB each; nvidia-smi prints 284208 MiB
    assert (OWN.find("GB300").total_bytes, OWN.find("GB300").total_is_derived) == (284208 * MIB, False)


def test_that_figures_of_boards_with_several_gpus_are_one_gpu_s():
    found = {name: OWN.find(name) for name in ("A16", "K80")}
    assert [(each.board_gpus, each.tdp_watts, each.marketed_gb) for each in found.values()] == [
        (4, 62, 16),
        (2, 150, 12),
    ]


def test_that_every_figure_says_where_it_comes_from():
    for device in OWN.devices:
        for attribute in ("compute_capability", "total_bytes", "bandwidth_bytes_per_second", "tdp_watts", "released"):
            if getattr(device, attribute) is not None and not (device.slice_of and attribute == "tdp_watts"):
                assert device.provenance[attribute].source, (device.name, attribute)
        for attribute in ("nvlink", "pcie"):
            if getattr(device, attribute) is not None:
                assert device.provenance[attribute].source, (device.name, attribute)
        if device.tflops.float16 is not None:
            assert device.provenance["tflops.tensor"].source
        if device.tflops.float32 is not None:
            assert device.provenance["tflops.float32"].source


def test_that_every_device_is_found_by_its_own_name_and_aliases():
    for device in OWN.devices:
        for name in (device.name, *device.aliases, device.name.upper(), device.name.removeprefix("NVIDIA ")):
            assert OWN.find(name) is device


def test_that_every_device_has_limits_in_order():
    for device in OWN.devices:
        if device.total_bytes is not None:
            for three in (allocator_limits(device), outside_bytes(device, 8)):
                assert 0 < three.low_bytes <= three.expected_bytes <= three.high_bytes
            assert allocator_limits(device).high_bytes < device.total_bytes


# What other tools got wrong.


@pytest.mark.parametrize(
    ("name", "marketed_gb"),
    [("A10", 24), ("V100 SXM2 16GB", 16), ("P100 16GB", 16), ("RTX 4060", 8), ("H200", 141), ("GH200 96GB", 96)],
)
def test_that_sizes_others_mixed_up_are_right(name, marketed_gb):
    assert OWN.find(name).marketed_gb == marketed_gb


def test_that_b200_and_b300_are_whole_gpus_and_not_dies():
    assert OWN.find("B200").total_bytes // GIB == 179
    assert OWN.find("B300").total_bytes // GIB == 268
    assert OWN.find("B200").bandwidth_bytes_per_second == 8000 * 10**9


def test_that_l40s_has_its_own_numbers():
    l4, l40s = OWN.find("NVIDIA L4"), OWN.find("NVIDIA L40S")
    assert (l40s.tflops.bfloat16, l40s.tdp_watts) == (362, 350)
    assert (l4.tflops.bfloat16, l4.tdp_watts) == (121, 72)


def test_that_the_v100_sxm2_16gb_has_the_bandwidth_of_its_memory():
    assert OWN.find("V100 SXM2 16GB").bandwidth_bytes_per_second == 900 * 10**9


def test_that_tflops_are_dense_and_of_the_precision_named():
    assert OWN.find("RTX 5090").tflops.float16 < 300  # 1676 is its FP4
    assert OWN.find("RTX 3090").tflops.float32 == pytest.approx(35.6, rel=0.01)
    assert OWN.find("H100 SXM5 80GB").tflops.bfloat16 == 989  # 1979 is with sparsity


def test_that_a_price_has_a_source_and_a_date_and_an_unknown_one_is_none_and_never_nothing():
    for device in OWN.devices:
        prices = [
            price for price in (device.launch_price, *device.market_prices, *device.cloud_prices) if price is not None
        ]
        assert all(price.usd > 0 and price.source and price.date for price in prices)
    assert OWN.find("H200 NVL").cloud_prices == ()


# Slices, sizes, the CPU.


def test_that_a_mig_slice_has_its_share_of_memory_and_speed():
    card, part = OWN.find("A100 40GB"), OWN.find("NVIDIA A100-SXM4-40GB MIG 1g.5gb")
    assert part.total_bytes == 4864 * MIB  # 4.75 GiB
    assert part.bandwidth_bytes_per_second == 1555 * 10**9 // 8
    assert part.tflops.float16 == pytest.approx(312 * 14 / 108, abs=0.01)
    assert (part.slice_of, part.nvlink, part.cloud_prices) == (card.name, None, ())


def test_that_a_size_is_a_device():
    assert find_device("24GiB").total_bytes == 24 * GIB
    assert find_device("24 GB").total_bytes == 24 * 10**9
    assert find_device("22.5GiB:8.9").compute_capability == (8, 9)
    assert find_device("cpu").total_bytes is None
    assert find_device("CPU:8GiB").total_bytes == 8 * GIB


@pytest.mark.parametrize("text", ["24GiB:8", "24GiB:x", "cpu:much", "cpu:", "24 elephants", "-1GiB"])
def test_that_an_invalid_size_is_reported(text):
    with pytest.raises(PlannerError, match=r"\.$"):
        find_device(text)


# The user's own file.


def test_that_a_users_file_adds_a_device(users):
    path = users({"name": "My Card 30GB", "total_mib": 30000, "compute_capability": "8.6", "aliases": ["mine"]})
    device = load_catalogue(path).find("mine")
    assert (device.total_bytes, device.compute_capability) == (30000 * MIB, (8, 6))
    assert device.provenance["total_bytes"].source == str(path)
    assert device.tdp_watts is None


def test_that_a_users_file_overrides_only_what_it_says(users):
    price = {"usd_per_hour": 0.1, "provider": "our cluster", "date": "2026-10-01"}
    device = load_catalogue(users({"name": "nvidia l4", "total_mib": 22888, "cloud_prices": [price]})).find("L4")
    assert (device.name, device.total_bytes, device.tdp_watts) == ("NVIDIA L4", 22888 * MIB, 72)
    assert [price.source for price in device.cloud_prices] == ["our cluster"]
    assert "TechPowerUp" in device.provenance["tdp_watts"].source


def test_that_slices_follow_the_users_file(users):
    mig = {
        "multiprocessors": 10,
        "profiles": [{"name": "h", "total_mib": 9, "multiprocessors": 5, "memory_share": "1/2"}],
    }
    assert load_catalogue(users({"name": "X", "fp32_tflops": 8, "mig": mig})).find("X MIG h").tflops.float32 == 4


def test_that_a_missing_user_file_is_not_an_error(tmp_path):
    assert len(load_catalogue(tmp_path / "none.json").devices) == len(OWN.devices)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"name": "X", "total_mib": 0}, "total_mib"),
        ({"name": "X", "total_mib": "24GB"}, "total_mib"),
        ({"name": "X", "total_gb": 24}, "total_gb"),
        ({"name": "X", "compute_capability": "eight"}, "compute_capability"),
        ({"name": "X", "bandwidth_gb_s": 1e300}, "bandwidth_gb_s"),
        ({"name": "X", "cloud_prices": [{"usd_per_hour": 0, "provider": "free"}]}, "usd_per_hour"),
        ({"name": ""}, "name"),
        ({"total_mib": 1}, "name"),
    ],
)
def test_that_a_mistake_in_the_users_file_is_named_in_a_sentence(users, entry, why):
    path = users(entry)
    with pytest.raises(DeviceError, match=rf"can't be used: .*{why}.*\. Fix or remove the file\.") as told:
        load_catalogue(path)
    assert str(path) in str(told.value)


def test_that_a_file_of_a_newer_version_says_so(users):
    with pytest.raises(DeviceError, match="schema_version 2, but this plimsoll reads 1"):
        load_catalogue(users({"name": "X", "qubits": 7}, version=2))


def test_that_a_duplicate_name_is_reported(users):
    with pytest.raises(DeviceError, match="names 'x' twice"):
        load_catalogue(users({"name": "X"}, {"name": "x"}))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b" " * (5 << 20)])
def test_that_a_broken_file_is_reported(tmp_path, content):
    path = tmp_path / "devices.json"
    path.write_bytes(content)
    with pytest.raises(DeviceError, match="can't be used"):
        load_catalogue(path)


def test_that_a_folder_in_place_of_the_file_is_reported(tmp_path):
    with pytest.raises(DeviceError, match="can't be used"):
        load_catalogue(tmp_path)
