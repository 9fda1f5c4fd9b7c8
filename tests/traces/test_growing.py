"""Larger inputs by a real worker: what twice as large needs, and the largest that fits."""

from dataclasses import replace

import pytest
from lab import Lab
from tiny import chain, conv_net, input_layer, layer, transformer

from planner_app.core.hardware.device import custom_device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.description import TensorShape
from planner_app.core.model.grow import growths, parse_growth
from planner_app.core.model.setup import Setup
from planner_app.errors import SetupError
from planner_app.planner.grow import need_at, sensitivity
from planner_app.planner.planner import Planner

SMALL = custom_device("4GiB", 4 << 30, (8, 9))
PICTURE = TensorShape("x", ("batch", 16, 16, 3), "float32")
SEQUENCE = TensorShape("x", ("batch", 8, 16), "float32")
SETUP = Setup(batch=256)


def planner(lab: Lab, model) -> Planner:
    return Planner(model, cache=lab.cache)


def test_that_the_largest_picture_fits_and_the_next_does_not(lab):
    traces = planner(lab, conv_net())
    (growth,) = growths([PICTURE])
    found = sensitivity(traces, SETUP, SMALL, growth, worker=lab.worker)
    limit = allocator_limit_bytes(SMALL)
    assert found.largest.need_bytes <= limit
    need = need_at(traces, lab.worker, SETUP, SMALL, growth)
    assert need(found.largest.size + growth.step).need_bytes > limit
    assert len(found.largest.tried) <= 7
    # nearly all of it grows with the picture: twice the edge, up to four times the memory
    assert 3 < found.twice.need_bytes / found.now.need_bytes <= 4


def test_that_attention_grows_faster_than_the_sequence(lab):
    traces = planner(lab, transformer())
    growth = parse_growth(["x=N,16"], [SEQUENCE])
    need = need_at(traces, lab.worker, SETUP, SMALL, growth)
    short, double, long = (need(size).need_bytes for size in (64, 128, 256))
    assert 2 < double / short < long / double < 4


def test_that_a_size_the_model_cannot_have_is_told_and_its_own_is_an_error(lab):
    fixed = chain(input_layer(16, 3), layer("Reshape", "flat", target_shape=[48]), layer("Dense", "out", units=4))
    growth = parse_growth(["x=N,3"], [TensorShape("x", ("batch", 16, 3), "float32")])
    found = sensitivity(planner(lab, fixed), SETUP, SMALL, growth, worker=lab.worker)
    assert found.twice.need_bytes is None
    assert found.twice.why_not
    assert (found.largest.size, found.largest.why_no_more != "") == (16, True)
    with pytest.raises(SetupError, match="no_such_loss"):
        sensitivity(planner(lab, fixed), replace(SETUP, loss="no_such_loss"), SMALL, growth, worker=lab.worker)
