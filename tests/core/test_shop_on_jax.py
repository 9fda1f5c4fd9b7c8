"""Several GPUs with Keras on JAX: compiled as on one GPU, where TensorFlow's strategies are not. Without XLA a sample
moves 100 MB more here, 0.1 ms at a terabyte a second: two GPUs on TensorFlow are slower than one."""

from dataclasses import replace
from itertools import pairwise

import pytest
from offers import GIB, MIB, TODAY, card, line, one_multiplication, wanted

from planner_app.core.estimate.need import Needs
from planner_app.core.hardware.shop import shop, steps
from planner_app.core.measure.calibration import Calibration, Sample
from planner_app.core.model.setup import Backend, Jit
from planner_app.files.devices.catalogue import load_catalogue

CARD = card(gib=24)


def offered(want, *devices, measured=None):
    memories = {
        step: line(step, GIB, (50 if step.xla else 100) * MIB, trace=one_multiplication(0 if step.xla else 100_000_000))
        for step in steps(want, devices)
    }
    needs = Needs(memories) if measured is None else Needs(memories, measured)
    return shop(want, devices, needs, today=TODAY).options


def test_that_two_gpus_train_on_jax_where_that_is_faster():
    one, two = offered(wanted(64, counts=(1, 2)), CARD)
    assert (one.setup.backend, two.setup.backend) == (Backend.TENSORFLOW, Backend.JAX)
    assert two.xla and two.setup.mesh.data == 2
    assert two.level.peak_bytes == GIB + 32 * 50 * MIB  # one GPU's step with half of the batch
    assert two.speed.samples_per_second > 1.5 * one.speed.samples_per_second
    assert two.on_tensorflow.samples_per_second < one.speed.samples_per_second
    assert "with Keras on JAX" in two.notes[0] and not two.slower


def test_that_without_jax_it_is_said_why_two_are_slower_than_one():
    one, two = offered(wanted(64, counts=(1, 2), jax=False), CARD)
    assert (two.setup.backend, two.on_tensorflow, two.xla) == (Backend.TENSORFLOW, None, False)
    assert two.speed.samples_per_second < one.speed.samples_per_second
    assert two.slower == "slower than 1: on TensorFlow Keras compiles with XLA for one GPU, not for several"


def test_that_jax_needs_an_even_share_of_the_batch():
    two, three = offered(wanted(64, counts=(2, 3)), CARD)
    assert (two.on_jax, three.on_jax) == (True, False)
    assert three.slower == "slower than 2: JAX, which compiles for several GPUs, needs an even share for each"


def test_that_what_is_trained_without_xla_is_not_moved_to_jax():
    assert not any(option.on_jax for option in offered(wanted(64, counts=(1, 2), jit=Jit.OFF), CARD))


def test_that_what_fits_on_jax_alone_is_offered_there():
    (two,) = offered(wanted(500, counts=(2,)), CARD)  # 250 each: 13.2 GiB compiled, 25.4 GiB otherwise
    assert two.on_jax and two.on_tensorflow is None


def test_that_gradients_are_accumulated_on_jax_too():
    (two,) = offered(wanted(1200, counts=(2,), most_accumulate=4), CARD)  # 600 each: two steps of 300
    assert (two.on_jax, two.setup.accumulate, two.setup.per_gpu_batch) == (True, 2, 300)
    assert not any("can't accumulate" in note for note in two.notes)


def test_that_measurements_on_tensorflow_do_not_calibrate_jax():
    calibration = Calibration(
        "NVIDIA X1", "2.21.0", "3.15.1", True, (Sample("net", "", "", "2026-11-16", 100, (110,)),)
    )
    one, two = offered(
        wanted(64, counts=(1, 2)),
        CARD,
        measured=lambda device, xla, backend: calibration if backend is Backend.TENSORFLOW else None,
    )
    assert one.calibrated and not two.calibrated
    assert two.level.peak_bytes == GIB + 32 * 50 * MIB


@pytest.mark.parametrize("pcie", ["5.0 x16", "3.0 x16", "3.0 x1"])
def test_that_more_gpus_are_never_slower_unless_their_link_is(pcie):
    devices = [replace(device, pcie=pcie, nvlink=None) for device in load_catalogue().devices if device.cuda]
    by_device: dict[str, list] = {}
    for option in offered(wanted(64, counts=(1, 2, 4, 8)), *devices):
        if option.speed is not None:
            by_device.setdefault(option.device.name, []).append(option)
    assert len(by_device) > 80
    for fewer, more in (pair for options in by_device.values() for pair in pairwise(options)):
        slower = more.speed.samples_per_second < fewer.speed.samples_per_second
        assert not slower or "gradients take that long over" in more.slower
