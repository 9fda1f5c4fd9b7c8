"""Several traces at a time, and what is done with each while the others are made."""

from pathlib import Path

import pytest
import tiny

from planner_app.core.model.setup import Precision, StepSetup
from planner_app.files.kept.traces import TraceCache
from planner_app.planner.tracer import Tracer

SETUPS = tuple(StepSetup(precision=precision) for precision in (Precision.FLOAT32, Precision.FLOAT64))


class Enough(Exception):
    pass


@pytest.fixture
def tracer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tracer:
    monkeypatch.setattr("planner_app.planner.tracer.MOST_AT_A_TIME", 4)  # one everywhere else, to start fewer processes
    return Tracer(tiny.dense_net(16), TraceCache(tmp_path))


def test_that_each_trace_is_told_of_once(tracer: Tracer):
    told = []
    tracer.prepare(SETUPS, then=lambda memory: told.append(memory.setup))
    assert sorted(told, key=SETUPS.index) == list(SETUPS)
    assert set(tracer.known) == set(SETUPS)


def test_that_nobody_waits_for_traces_that_nobody_wants(children, tracer: Tracer):
    def stop(memory: object) -> None:
        raise Enough

    with pytest.raises(Enough):
        tracer.prepare(SETUPS, then=stop)
    assert children() == []
