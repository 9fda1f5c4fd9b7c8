"""The speed model, held against what others have published. `make speeds` fits it anew and leaves out every GPU."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fit import UNSEEN, figures, left_out
from works import read

from planner_app.core.hardware.achieved import FASTEST, SLOWEST
from planner_app.core.hardware.roofline import speed
from planner_app.core.model.setup import Precision
from planner_app.files.devices.catalogue import find_device, load_catalogue

LEFT_OUT = ("NVIDIA RTX A6000", "NVIDIA Tesla P100 SXM2 16GB", "NVIDIA GeForce RTX 4090")


@pytest.fixture(scope="module")
def rows():
    return figures(read(), load_catalogue().find)


def estimated(row):
    return speed(
        row.work,
        row.device,
        row.precision,
        xla=row.xla,
        batch=row.batch * row.gpus,
        per_gpu_batch=row.batch,
        gpus=row.gpus,
        accumulate=1,
    )


def errors_of(pairs):
    return [abs(found.samples_per_second / row.samples_per_second - 1) for row, found in pairs]


def share_inside(pairs):
    return np.mean(
        [
            found.low_samples_per_second <= row.samples_per_second <= found.high_samples_per_second
            for row, found in pairs
        ]
    )


def faster_than_best(pairs):
    return [
        (row.device.name, row.model, row.samples_per_second, found.best_samples_per_second)
        for row, found in pairs
        if row.samples_per_second > found.best_samples_per_second
    ]


@pytest.fixture(scope="module")
def pairs(rows):
    """Without those that reduce gradients once in a thousand steps, of which only single GPUs compare."""
    return [(row, estimated(row)) for row in rows if "accumulated" not in row.source]


@pytest.fixture(scope="module")
def unseen():
    """Figures that had no say in the shares, of GPUs without one there."""
    return [(row, estimated(row)) for row in figures(read(), load_catalogue().find, UNSEEN)]


def test_that_hundreds_of_published_figures_of_many_gpus_are_compared(rows):
    assert len(rows) >= 80
    assert len({row.device.name for row in rows}) >= 20
    assert all(row.source for row in rows)


def test_that_half_of_the_estimates_are_within_fifteen_percent(pairs):
    assert np.median(errors_of(pairs)) <= 0.15


def test_that_nine_of_ten_published_figures_are_inside_the_band(pairs):
    assert share_inside(pairs) >= 0.9


def test_that_no_gpu_was_measured_to_be_faster_than_at_best(pairs):
    assert faster_than_best(pairs) == []


def test_that_gpus_without_figures_and_another_framework_are_told_about_as_well(rows, unseen):
    fitted = {row.device.name for row in rows}
    assert not fitted & {row.device.name for row, _ in unseen} and len(unseen) >= 25
    assert np.median(errors_of(unseen)) <= 0.2
    assert share_inside(unseen) >= 0.9
    assert faster_than_best(unseen) == []


def test_that_gpus_are_estimated_as_well_without_their_own_figures(rows):
    judged = left_out(rows, only=LEFT_OUT)
    assert {each.figure.device.name for each in judged} == set(LEFT_OUT)
    assert np.median([each.error for each in judged]) <= 0.15  # all of them: `make speeds`
    assert np.mean([SLOWEST <= each.ratio <= FASTEST for each in judged]) >= 0.9


def times_as_fast(one, other, work, batch):
    """How many times the one GPU's expected speed the other has, alone and compiled."""
    paces = [
        speed(
            read()[work],
            find_device(name),
            Precision.MIXED_FLOAT16,
            xla=True,
            batch=batch,
            per_gpu_batch=batch,
            gpus=1,
            accumulate=1,
        ).samples_per_second
        for name in (one, other)
    ]
    return paces[1] / paces[0]


@pytest.mark.parametrize(
    ("one", "other", "work", "batch", "measured"),
    [
        # MLPerf training 3.0, Dell, 16 GPUs of each kind: 14.4 and 7.8 minutes
        ("A100 SXM4 80GB", "H100 SXM5 80GB", "resnet50 mixed_float16 xla", 256, 1.85),
        # nikolasent.github.io, 2025-02-17: the mean over models of timm trained with PyTorch
        ("RTX 4090", "RTX 5090", "resnet50 mixed_float16 xla", 256, 1.44),
    ],
)
def test_that_generations_without_figures_are_as_much_faster_as_others_measured(one, other, work, batch, measured):
    assert times_as_fast(one, other, work, batch) == pytest.approx(measured, rel=0.2)


def test_that_no_small_card_is_told_to_beat_its_data_sheet():
    work = read()["bert_large_512 float32 xla"]
    card = find_device("RTX 3050 8GB")
    found = speed(work, card, Precision.FLOAT32, xla=True, batch=4, per_gpu_batch=4, gpus=1, accumulate=1)
    assert work.flops(4) / found.seconds <= 1.1 * card.tflops.tensorfloat32 * 1e12
