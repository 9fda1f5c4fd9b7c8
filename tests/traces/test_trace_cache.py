"""Traces kept on disk: opened again without a worker, and never trusted when anything about them is odd."""

import os
import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab import Lab

from planner_app.core.model.setup import Optimizer, StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.errors import WorkerError
from planner_app.files.kept import traces
from planner_app.files.kept.traces import TraceCache, trace_key
from planner_app.jobs.launch import PYTHON_VARIABLE
from planner_app.jobs.versions import worker_versions
from planner_app.planner.tracer import Tracer

MODEL = tiny.dense_net(8, inputs=6, outputs=3)
SETUP = StepSetup()
VERSIONS = worker_versions()


@pytest.fixture
def cache(tmp_path: Path) -> TraceCache:
    return TraceCache(tmp_path / "kept")


@pytest.fixture(scope="module")
def trace(lab: Lab) -> StepTrace:
    return lab.of(MODEL, SETUP).trace


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No worker can be started."""
    monkeypatch.setenv(PYTHON_VARIABLE, "/nowhere/python")
    return


def entry(cache: TraceCache, kind: str = "trace") -> Path:
    (found,) = cache.folder.glob(f"*.{kind}")
    return found


def test_that_a_model_is_opened_again_without_a_worker(cache, monkeypatch):
    first = Tracer(MODEL, cache, VERSIONS)
    expected = [first.memory(SETUP).point(batch) for batch in (1, 8)]
    first.keep()
    monkeypatch.setenv(PYTHON_VARIABLE, "/nowhere/python")
    again = Tracer(MODEL, cache, VERSIONS).memory(SETUP)
    assert [again.point(batch) for batch in (1, 8)] == expected
    assert again.point(32).live_bytes > expected[1].live_bytes  # and worked out further, from the trace


def test_that_points_are_kept_with_their_trace(cache, trace, no_python):
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache.keep_trace(key, trace)
    first = Tracer(MODEL, cache, VERSIONS)
    point = first.memory(SETUP).point(8)
    assert cache.points(key) == ()
    first.keep()
    assert cache.points(key) == (point,)
    assert Tracer(MODEL, cache, VERSIONS).memory(SETUP).points == (point,)


def in_another_order(trace: StepTrace) -> StepTrace:
    """As another process may make it: the same step, of which two operations have changed places."""
    first, second, *others = trace.operations
    return replace(trace, operations=(second, first, *others))


def test_that_points_of_another_trace_are_not_read(cache, trace, no_python):
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache.keep_trace(key, trace)
    first = Tracer(MODEL, cache, VERSIONS)
    first.memory(SETUP).point(8)
    cache.keep_trace(key, in_another_order(trace))
    first.keep()
    assert cache.points(key) == ()
    assert Tracer(MODEL, cache, VERSIONS).memory(SETUP).points == ()


def test_that_points_are_dropped_when_their_trace_was_replaced_meanwhile(cache, trace, no_python):
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache.keep_trace(key, trace)
    first = Tracer(MODEL, cache, VERSIONS)
    first.memory(SETUP).point(8)
    first.keep()
    memory = Tracer(MODEL, cache, VERSIONS).memory(SETUP)
    assert [point.batch for point in memory.points] == [8]
    other = in_another_order(trace)
    cache.keep_trace(key, other)
    assert memory.trace == other
    assert memory.points == ()


def test_that_without_an_entry_a_worker_is_needed(cache, no_python):
    with pytest.raises(WorkerError, match="/nowhere/python"):
        Tracer(MODEL, cache, VERSIONS).memory(SETUP)


@settings(deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_that_an_entry_with_any_bit_flipped_is_not_read(cache, trace, place, bit):
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache.keep_trace(key, trace)
    data = bytearray(entry(cache).read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    entry(cache).write_bytes(data)
    assert cache.trace(key) is None


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.999])
def test_that_half_an_entry_is_not_read(cache, trace, share):
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache.keep_trace(key, trace)
    data = entry(cache).read_bytes()
    entry(cache).write_bytes(data[: int(len(data) * share)])
    assert cache.trace(key) is None


@pytest.mark.parametrize("odd", [b"", b"\n", b"\xff\xfe\n{}", b"{}", b"plimsoll trace 1 trace", b"[" * 100_000])
def test_that_whatever_else_lies_there_is_not_read(cache, odd):
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache.folder.mkdir()
    (cache.folder / f"{key}.trace").write_bytes(odd)
    (cache.folder / f"{key}.points").write_bytes(odd)
    assert cache.trace(key) is None
    assert cache.points(key) == ()


def test_that_an_entry_under_another_name_is_not_read(cache, trace):
    key, other = trace_key(MODEL, SETUP, VERSIONS), trace_key(MODEL, StepSetup(xla=True), VERSIONS)
    cache.keep_trace(key, trace)
    entry(cache).rename(cache.folder / f"{other}.trace")
    assert cache.trace(other) is None


def test_that_an_entry_of_another_kind_is_not_read(cache, trace):
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache.keep_trace(key, trace)
    entry(cache).rename(cache.folder / f"{key}.points")
    assert cache.points(key) == ()


def test_that_an_honest_entry_of_other_things_is_not_read(cache):
    """The digest is right and the content is no trace: written by a version that called other things a trace."""
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache._write(key, "trace", {"operations": [1, 2, 3]})
    assert entry(cache).read_bytes()
    assert cache.trace(key) is None


def test_that_what_is_not_trusted_is_made_anew(cache, lab, trace):
    key = trace_key(MODEL, SETUP, VERSIONS)
    cache.keep_trace(key, trace)
    entry(cache).write_bytes(b"rubbish")
    memory = Tracer(MODEL, cache, VERSIONS).memory(SETUP)  # by a worker of its own
    assert memory.trace == trace
    assert cache.trace(key) == trace


@pytest.mark.parametrize(
    "other",
    [
        StepSetup(optimizer=Optimizer("sgd")),
        StepSetup(accumulates=True),
        StepSetup(target="gpu:8.0"),
        StepSetup(freeze=("out",)),
        StepSetup(loss="mae"),
        StepSetup(sizes=(("x", (6,)),)),
    ],
)
def test_that_every_setup_has_an_entry_of_its_own(other):
    assert trace_key(MODEL, other, VERSIONS) != trace_key(MODEL, SETUP, VERSIONS)


def test_that_every_model_has_an_entry_of_its_own():
    wider = tiny.dense_net(9, inputs=6, outputs=3)
    lossy = tiny.dense_net(8, inputs=6, outputs=3, loss="mae")
    assert len({trace_key(model, SETUP, VERSIONS) for model in (MODEL, wider, lossy)}) == 3


def test_that_other_physics_has_entries_of_its_own(monkeypatch):
    key = trace_key(MODEL, SETUP, VERSIONS)
    monkeypatch.setattr(traces, "_own_code", lambda: "changed")
    assert trace_key(MODEL, SETUP, VERSIONS) != key


@pytest.mark.parametrize("package", ["tensorflow", "keras"])
def test_that_other_versions_have_entries_of_their_own(package):
    assert trace_key(MODEL, SETUP, {**VERSIONS, package: "9.9"}) != trace_key(MODEL, SETUP, VERSIONS)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_that_a_folder_that_may_not_be_written_is_no_error(tmp_path, trace):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    cache = TraceCache(locked)
    cache.keep_trace("key", trace)
    assert cache.trace("key") is None


def test_that_a_folder_that_cannot_be_is_no_error(tmp_path, trace):
    (tmp_path / "file").write_text("in the way")
    cache = TraceCache(tmp_path / "file" / "kept")
    cache.keep_trace("key", trace)
    cache.keep_points("key", (), "digest")
    assert cache.trace("key") is None


def test_that_two_writers_leave_one_whole_entry_and_nothing_else(cache, trace):
    key = trace_key(MODEL, SETUP, VERSIONS)
    stop = threading.Event()
    torn: list[str] = []

    def write() -> None:
        for _ in range(25):
            cache.keep_trace(key, trace)

    def read() -> None:
        while not stop.is_set():
            if cache.folder.exists() and list(cache.folder.glob("*.trace")) and cache.trace(key) != trace:
                torn.append("an entry that is neither the old nor the new one")

    reader, writers = threading.Thread(target=read), [threading.Thread(target=write) for _ in range(2)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert torn == []
    assert [path.name for path in cache.folder.iterdir()] == [f"{key}.trace"]


def test_that_the_oldest_entries_go_when_the_folder_is_full(cache, trace, monkeypatch):
    cache.keep_trace("first", trace)
    size = entry(cache).stat().st_size
    monkeypatch.setattr(traces, "MOST_BYTES", 2 * size + size // 2)
    for age, name in enumerate(("first", "second", "third")):
        cache.keep_trace(name, trace)
        os.utime(cache.folder / f"{name}.trace", (age, age))
    cache.keep_trace("fourth", trace)
    assert sorted(path.stem for path in cache.folder.iterdir()) == ["fourth", "third"]


def test_that_the_folder_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv(traces.FOLDER_VARIABLE, str(tmp_path / "mine"))
    assert TraceCache().folder == tmp_path / "mine"


def test_that_a_huge_file_of_the_users_is_never_in_memory_whole(tmp_path):
    code = tmp_path / "data.py"
    code.touch()
    os.truncate(code, 64 << 20)
    tracemalloc.start()
    trace_key(replace(MODEL, data=f"{code}:batches"), SETUP, VERSIONS)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 16 << 20
