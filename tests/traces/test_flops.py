"""Arithmetic of well-known models at 224 x 224, against what their papers say; and speed against published figures."""

import json
import subprocess
import sys

import pytest
from lab import Lab

from planner_app.core.hardware.roofline import speed
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Precision
from planner_app.core.replay.memory import Memory
from planner_app.files.devices.catalogue import find_device

# Multiply-adds of the forward pass. ResNet-50: "3.8 billion FLOPs (multiply-adds)", VGG-16: 15.3 billion without its
# dense layers, which add 0.12 (both He et al., table 1 and section 3.3); MobileNetV2: 300 million (Sandler et al.).
PUBLISHED = {"ResNet50": 3.8e9, "VGG16": 15.3e9 + 0.12e9, "MobileNetV2": 300e6}
# Only its forward pass is looked at: without a backward pass it is traced in a third of the time.
FROZEN = {"MobileNetV2": ("Conv*", "bn_*", "expanded_*", "block_*")}
WRITE = """
import json, keras, sys
for name in sys.argv[1:]:
    print(json.dumps(json.loads(getattr(keras.applications, name)(weights=None).to_json())))
"""


@pytest.fixture(scope="module")
def memories(lab: Lab) -> dict[str, Memory]:
    written = subprocess.run(
        [sys.executable, "-c", WRITE, *PUBLISHED], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout.splitlines()
    models = {name: CheckedModel(name, "json", json.loads(text)) for name, text in zip(PUBLISHED, written, strict=True)}
    return {
        name: lab.memory(model, target="xla", optimizer="sgd:momentum=0.9", freeze=FROZEN.get(name, ()))
        for name, model in models.items()
    }


@pytest.mark.parametrize("name", PUBLISHED)
def test_that_multiply_adds_are_as_published(memories, name):
    assert memories[name].work.forward.at(1) / 2 == pytest.approx(PUBLISHED[name], rel=0.05)
    assert memories[name].work.forward.at(64) == 64 * memories[name].work.forward.at(1)


def test_that_backward_takes_twice_as_much_as_forward(memories):
    """A gradient by the inputs and one by the weights; the first layer needs only one."""
    work = memories["VGG16"].work
    assert work.flops(1) == pytest.approx(3 * work.forward.at(1), rel=0.02)


@pytest.mark.parametrize(("device", "batch", "published"), [("A100 SXM4 40GB", 256, 909), ("V100 SXM2 16GB", 128, 412)])
def test_that_resnet50_is_about_as_fast_as_nvidia_says(memories, device, batch, published):
    """DeepLearningExamples, ResNet-50 v1.5 for TensorFlow, images a second with XLA, in TF32 and float32."""
    found = speed(
        memories["ResNet50"].work,
        find_device(device),
        Precision.FLOAT32,
        xla=True,
        batch=batch,
        per_gpu_batch=batch,
        gpus=1,
        accumulate=1,
    )
    assert 0.7 * published < found.samples_per_second < 1.6 * published
