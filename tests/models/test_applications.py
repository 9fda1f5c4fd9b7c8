"""Models of keras.applications come back from their files with the parameters Keras counts.

One of each family, and two saved whole; `python tests/tools/applications.py [--real]` does all of them.
"""

import json

import pytest
from scripts import TOOLS, run_script

FAMILIES = [
    "ConvNeXtTiny",
    "DenseNet121",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "InceptionResNetV2",
    "InceptionV3",
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Large",
    "NASNetMobile",
    "ResNet50",
    "ResNet50V2",
    "VGG16",
    "Xception",
]
SAVED_WHOLE = ["MobileNetV3Small", "MobileNet"]


def answers(*arguments: str) -> dict[str, dict[str, object]]:
    lines = run_script(TOOLS / "applications.py", *arguments).splitlines()
    return {answer["name"]: answer for answer in map(json.loads, lines)}


@pytest.fixture(scope="module")
def from_configuration():
    return answers(*FAMILIES)


@pytest.fixture(scope="module")
def from_whole_file():
    return answers("--real", *SAVED_WHOLE)


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", FAMILIES)
def test_that_the_configuration_alone_gives_the_parameters(from_configuration, name, suffix):
    assert from_configuration[name][suffix] == from_configuration[name]["params"]


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", SAVED_WHOLE)
def test_that_a_whole_file_gives_the_parameters_and_its_weights_match(from_whole_file, name, suffix):
    assert from_whole_file[name][suffix] == from_whole_file[name]["params"]
    assert from_whole_file[name][f"{suffix} warnings"] == []
