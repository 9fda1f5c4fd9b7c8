"""Which reductions XLA does by columns, as a real worker finds them in a step."""

import pytest
import tiny
from lab import Lab

from planner_app.core.model.setup import Precision, StepSetup
from planner_app.core.model.trace import Size

PIXELS = 16 * 16  # of conv_net's pictures


def rows(lab: Lab, target: str, precision: str = "float32", xla: bool = True) -> set[Size]:
    setup = StepSetup(precision=Precision(precision), xla=xla, target=target)
    sources = lab.of(tiny.conv_net(1), setup).trace.sources
    return {source.rows for source in sources if "norm_0" in source.layer and source.type == "Mean"}


@pytest.mark.parametrize(("target", "precision"), [("gpu:9.0", "float32"), ("gpu:8.0", "mixed_float16")])
def test_that_a_mean_over_samples_and_pixels_adds_up_rows_into_channels(lab, target, precision):
    assert rows(lab, target, precision) == {Size(0, PIXELS)}


def test_that_below_hopper_pictures_of_float32_lie_channels_first(lab):
    assert rows(lab, "gpu:8.0") == {Size()}


def test_that_without_xla_nothing_is_said_of_it(lab):
    assert rows(lab, "gpu:8.0", xla=False) == {Size()}


def test_that_hopper_gets_a_larger_workspace(lab):
    """28 MiB more, in a model whose products take next to nothing."""
    ampere, hopper = (
        lab.of(tiny.dense_net(8), StepSetup(xla=True, target=target)).point(8) for target in ("gpu:8.0", "gpu:9.0")
    )
    assert hopper.in_use_bytes - ampere.in_use_bytes == 28 << 20


def test_that_a_single_sample_needs_no_workspace(lab):
    """Its products are with a vector, for which XLA does without cuBLAS."""
    memory = lab.of(tiny.dense_net(8), StepSetup(xla=True, target="gpu:9.0"))
    assert 32 << 20 <= memory.point(2).in_use_bytes - memory.point(1).in_use_bytes < 33 << 20
