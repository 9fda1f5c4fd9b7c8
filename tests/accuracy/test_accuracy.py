"""The estimate of a few small cases against what TensorFlow takes on this machine. `make accuracy` has many more."""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from cases import SMALL, Case
from compared import Compared
from estimates import estimate
from runs import MEASURED_AS, Runs

from planner_app.core.measure.measurement import Order
from planner_app.jobs.warm import WarmWorker

LOOP = next(case for case in SMALL if case.model == "gru")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measured with Linux's kernels and page sizes")


@pytest.fixture(scope="module")
def runs() -> Runs:
    runs = Runs()
    runs.save_models(case.model for case in SMALL)
    return runs


@pytest.fixture(scope="module")
def worker() -> Iterator[WarmWorker]:
    with WarmWorker() as worker:
        yield worker


@pytest.fixture(scope="module")
def compared(runs: Runs, worker: WarmWorker) -> dict[Case, Compared]:
    return {
        case: Compared(case, estimate(runs.model_file(case.model), case, worker), (runs.inline(case),))
        for case in SMALL
    }


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_that_live_bytes_are_what_was_measured(compared: dict[Case, Compared], case: Case):
    one = compared[case]
    assert abs(one.live_error) <= 0.01, (one.live_bytes, one.inline[0].live_operation, one.estimated)


def test_that_half_of_the_cases_are_right_to_half_a_percent(compared: dict[Case, Compared]):
    assert median(abs(one.live_error) for one in compared.values()) <= 0.005


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_that_bytes_in_use_are_near_what_was_measured(compared: dict[Case, Compared], case: Case):
    one = compared[case]
    assert abs(one.in_use_error) <= 0.1, (one.in_use_bytes, one.estimated)


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_that_the_band_holds_what_was_measured(compared: dict[Case, Compared], case: Case):
    one = compared[case]
    assert one.in_band, (one.in_use_bytes, one.estimated)


@pytest.mark.parametrize("case", [SMALL[0], LOOP], ids=str)
def test_that_the_order_of_the_gpu_repeats_in_another_process(runs: Runs, compared: dict[Case, Compared], case: Case):
    first, second = compared[case].inline[0], runs.inline(case, 1)
    assert second.live_bytes == first.live_bytes
    assert second.in_use_bytes == pytest.approx(first.in_use_bytes, rel=0.02)


def test_that_a_measurement_is_made_once(runs: Runs, compared: dict[Case, Compared], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr("runs.measure")
    assert runs.inline(SMALL[0]) == compared[SMALL[0]].inline[0]


def test_that_another_model_of_the_same_name_is_measured_anew(tmp_path: Path, runs: Runs):
    case, other = SMALL[0], Runs(tmp_path)
    other.model_file(case.model).parent.mkdir(parents=True)
    for name in (case.model, SMALL[1].model):
        other.model_file(case.model).write_bytes(runs.model_file(name).read_bytes())
        assert (other._key(case, Order.INLINE, 0) == runs._key(case, Order.INLINE, 0)) == (name == case.model)


def test_that_another_way_to_measure_measures_anew(runs: Runs, monkeypatch: pytest.MonkeyPatch):
    before = runs._key(SMALL[0], Order.INLINE, 0)
    monkeypatch.setattr("runs.MEASURED_AS", MEASURED_AS + 1)
    assert runs._key(SMALL[0], Order.INLINE, 0) != before
