"""What the app says of a machine's GPUs, through the real nvidia-ml-py on a stand-in for NVIDIA's library."""

import msgspec
import pytest
from nvml_library import Standin

from planner_app.core.hardware.device import Basis
from planner_app.core.hardware.machine import Driver, Gpu, GpuProcess, Health, Machine, device_of
from planner_app.files.devices.catalogue import find_device
from planner_app.gpu.nvml import machine_gpus

LOOK = (
    "import msgspec; from planner_app.gpu.nvml import machine_gpus; print(msgspec.json.encode(machine_gpus()).decode())"
)
GIB = 1 << 30
RESERVED = 300 << 20
LOST, UNKNOWN_ERROR = 15, 999


def look(nvml: Standin, *lines: str) -> Machine:
    nvml.says(*lines)
    return msgspec.json.decode(nvml.run(LOOK), type=Machine)


def test_that_a_gpu_is_described(nvml):
    machine = look(nvml, "gpus 1", "process 0 4711 5368709120")
    assert (machine.driver, machine.sentence) == (Driver.FINE, "")
    assert (machine.driver_version, machine.cuda_version) == ("570.86.15", "12.8")
    (gpu,) = machine.gpus
    assert gpu.usable
    assert (gpu.index, gpu.name, gpu.uuid, gpu.bus) == (0, "NVIDIA L4", "GPU-0000", "00000000:01:00.0")
    assert gpu.compute_capability == (8, 9)
    assert (gpu.total_bytes, gpu.used_bytes, gpu.reserved_bytes) == (24 * GIB, GIB, RESERVED)
    assert gpu.free_bytes == 23 * GIB - RESERVED
    assert (gpu.ecc, gpu.mig, gpu.slices) == (True, False, ())
    assert gpu.processes == (GpuProcess(4711, 5 * GIB, "python4711"),)
    assert gpu.bytes_of(4711) == 5 * GIB
    assert gpu.bytes_of(4712) is None
    assert (gpu.power_watts, gpu.energy_joules) == (72.5, 5.25)


def test_that_eight_gpus_are_told_apart(nvml):
    machine = look(nvml, "gpus 8", "process 5 99 1024")
    assert [gpu.index for gpu in machine.gpus] == list(range(8))
    assert len({gpu.uuid for gpu in machine.gpus}) == 8
    assert [len(gpu.processes or ()) for gpu in machine.gpus] == [0, 0, 0, 0, 0, 1, 0, 0]
    assert machine.usable_gpus == machine.gpus


def test_that_a_driver_without_a_gpu_is_a_state(nvml):
    machine = look(nvml, "gpus 0")
    assert (machine.driver, machine.gpus) == (Driver.FINE, ())
    assert machine.sentence == "The NVIDIA driver is running, but finds no GPU."


def test_that_a_machine_without_a_driver_is_a_state():
    machine = machine_gpus()  # of this machine, which has none; where there is one the stand-in's tests still count
    if machine.driver is not Driver.MISSING:
        pytest.skip("this machine has an NVIDIA driver")
    assert machine.gpus == ()
    assert machine.sentence.startswith("This machine has no NVIDIA driver: ")


@pytest.mark.parametrize(
    ("code", "driver", "words"),
    [
        (9, Driver.NOT_LOADED, "installed but not loaded"),
        (18, Driver.MISMATCH, "restart the machine"),
        (4, Driver.NO_PERMISSION, "ask for access"),
        (UNKNOWN_ERROR, Driver.BROKEN, "does not answer (Unknown Error): run nvidia-smi for details."),
    ],
)
def test_that_a_driver_in_trouble_is_a_state_with_a_sentence(nvml, code, driver, words):
    machine = look(nvml, f"init {code}", "gpus 2")
    assert (machine.driver, machine.gpus) == (driver, ())
    assert words in machine.sentence


@pytest.mark.parametrize(
    ("code", "health", "words"),
    [
        (LOST, Health.LOST, "GPU 1 has fallen off the bus"),
        (16, Health.NEEDS_RESET, "nvidia-smi --gpu-reset -i 1"),
        (4, Health.NO_PERMISSION, "/dev/nvidia1"),
        (UNKNOWN_ERROR, Health.BROKEN, "GPU 1 does not answer (Unknown Error)"),
    ],
)
def test_that_one_gpu_in_trouble_leaves_the_others_alone(nvml, code, health, words):
    machine = look(nvml, "gpus 3", f"fail 1 {code}")
    assert machine.driver is Driver.FINE
    assert [gpu.health for gpu in machine.gpus] == [Health.FINE, health, Health.FINE]
    assert words in machine.gpus[1].sentence
    assert [gpu.index for gpu in machine.usable_gpus] == [0, 2]


@pytest.mark.parametrize("answered", range(11))  # so many questions are asked
def test_that_a_gpu_may_fall_off_the_bus_between_any_two_questions(nvml, answered):
    machine = look(nvml, "gpus 2", f"fail_after {answered} 1 {LOST}")
    assert [gpu.health for gpu in machine.gpus] == [Health.FINE, Health.LOST]
    gone = machine.gpus[1]
    assert gone.total_bytes in (None, 24 * GIB)  # what was told before it went, or nothing; never a zero
    assert (gone.name == "NVIDIA L4") is (answered >= 2)


def test_that_a_gpu_may_fall_off_the_bus_between_two_looks_and_come_back(nvml):
    nvml.says("gpus 2")
    code = (
        "import os; from pathlib import Path; from planner_app.gpu.nvml import machine_gpus\n"
        "file = Path(os.environ['NVML_STANDIN'])\n"
        f"for text in ('gpus 2', 'gpus 2\\nfail 0 {LOST}', 'gpus 1', 'init {UNKNOWN_ERROR}', 'gpus 2'):\n"
        "    file.write_text(text + '\\n')\n"
        "    machine = machine_gpus()\n"
        "    print(machine.driver, *(gpu.health for gpu in machine.gpus), sep=',')\n"
    )
    assert nvml.run(code).split() == ["fine,fine,fine", "fine,lost,fine", "fine,fine", "broken", "fine,fine,fine"]


def test_that_a_split_gpu_has_slices(nvml):
    machine = look(nvml, "gpus 2", "mig 0 3")
    split, whole = machine.gpus
    assert (split.mig, whole.mig, whole.slices) == (True, False, ())
    assert [part.uuid for part in split.slices] == ["MIG-0000-0001", "MIG-0000-0002", "MIG-0000-0003"]
    assert all(part.total_bytes == 24 * GIB // 7 for part in split.slices)
    assert split.slices[0].name == "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
    assert split.slices[0].compute_capability == (8, 9)


def test_that_a_gpu_split_into_nothing_yet_has_no_slices(nvml):
    (gpu,) = look(nvml, "gpus 1", "mig 0 0").gpus
    assert (gpu.mig, gpu.slices) == (True, ())


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        ("Ecc", ("ecc",)),
        ("MigMode", ("mig",)),
        ("MemoryInfo", ("total_bytes", "free_bytes", "used_bytes", "reserved_bytes")),
        ("Capability", ("compute_capability",)),
        ("Processes", ("processes",)),
        ("Power", ("power_watts",)),
        ("Energy", ("energy_joules",)),
        ("UUID", ("uuid",)),
        ("Pci", ("bus",)),
    ],
)
def test_that_what_the_driver_does_not_say_is_not_known_rather_than_zero(nvml, function, fields):
    (gpu,) = look(nvml, "gpus 1", f"lacks {function}").gpus
    assert gpu.usable
    assert [getattr(gpu, field) for field in fields] == [None] * len(fields)
    assert gpu.name == "NVIDIA L4"


def test_that_an_older_driver_tells_memory_without_its_reserve(nvml):
    (gpu,) = look(nvml, "gpus 1", "absent MemoryInfo_v2").gpus
    assert (gpu.total_bytes, gpu.used_bytes, gpu.reserved_bytes) == (24 * GIB, GIB + RESERVED, None)


def test_that_memory_of_a_process_may_be_unknown(nvml):
    (gpu,) = look(nvml, "gpus 1", "process 0 7 18446744073709551615", "process 0 8 4096").gpus
    assert gpu.processes == (GpuProcess(7, None, "python7"), GpuProcess(8, 4096, "python8"))


def test_that_a_gpu_of_this_machine_is_a_device_to_estimate_for():
    gpu = Gpu(0, name="NVIDIA L4", total_bytes=23034 << 20, compute_capability=(8, 9), ecc=None)
    known = find_device("NVIDIA L4")
    device = device_of(gpu, known)
    assert (device.name, device.total_bytes, device.ecc) == ("NVIDIA L4", 23034 << 20, known.ecc)
    assert device.provenance["total_bytes"].source == "NVML on this machine"
    assert device.provenance["total_bytes"].basis is Basis.QUOTED
    assert device.tdp_watts == known.tdp_watts
    unheard_of = device_of(Gpu(3, name="NVIDIA Z1", total_bytes=GIB))
    assert (unheard_of.name, unheard_of.total_bytes, unheard_of.tdp_watts) == ("NVIDIA Z1", GIB, None)
