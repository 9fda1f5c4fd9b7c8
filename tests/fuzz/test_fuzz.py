"""Everything that reads what others wrote, on inputs that are almost as they should be; `make fuzz` takes minutes."""

from pathlib import Path

import fuzz_child
import pytest
from fuzz_run import BAD, fuzzed
from fuzz_targets import MODELS, NAMES, target
from fuzz_targets.common import READ, Bad
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner_app.jobs.protocol import GIB, Limits

HERE = Path(__file__).parent
FINDS = [line.split(" | ") for line in (HERE / "finds.txt").read_text(encoding="utf-8").splitlines()[1:]]
IN_A_WORKER = [name for name in MODELS if name != "model_rebuild"]  # libhdf5 may hang, and TensorFlow takes its time
PATIENT = Limits(memory_bytes=GIB, seconds=600, silence_seconds=60)  # a machine with much to do is no fault
HERE_AND_NOW = [name for name in NAMES if name not in MODELS]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("model_rebuild", "log")])
def test_that_what_is_as_it_should_be_is_read(name):
    module = target(name)
    assert [module.run(seed) for seed in module.seeds()] == [READ] * len(module.seeds())


@pytest.mark.parametrize("name", HERE_AND_NOW)
@given(random=st.randoms(use_true_random=False))
@settings(max_examples=30, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_that_a_changed_input_is_read_or_refused(name, random):
    module = target(name)
    seeds = module.seeds()
    module.run(module.mutate(random.choice(seeds), random, seeds))


@pytest.mark.parametrize("name", HERE_AND_NOW)
@given(data=st.binary(max_size=300))
@settings(max_examples=20, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_that_any_bytes_are_read_or_refused(name, data):
    target(name).run(data)


@pytest.mark.parametrize("name", IN_A_WORKER)
def test_that_changed_model_files_are_read_or_refused_by_a_real_worker(name, tmp_path):
    tally = fuzzed(name, 60, seed=1, folder=tmp_path, limits=PATIENT)
    assert tally.outcomes[BAD] == 0
    assert tally.count == 60
    assert tally.outcomes["read"] > 0
    assert tally.outcomes["refused"] > 0


@pytest.mark.parametrize(("name", "file", "said"), FINDS)
def test_that_what_was_found_once_is_refused_with_a_sentence(name, file, said):
    assert said in target(name).run((HERE / "finds" / file).read_bytes())


def test_that_every_find_that_is_kept_is_tried():
    assert {file for _, file, _ in FINDS} == {path.name for path in (HERE / "finds").iterdir()}


# What looks for mistakes finds some


def wrong(data: bytes) -> str:
    if len(data) % 3 == 0:
        raise Bad("a length that three divides")
    return READ


def test_that_a_mistake_is_found_and_its_input_can_be_made_again(monkeypatch):
    monkeypatch.setattr(target("plan"), "run", wrong)
    told = fuzz_child.fuzz(fuzz_child.Fuzz(target="plan", seed=1, first=0, count=30), lambda *_: None)
    assert told["outcomes"][BAD] == len(told["finds"]) > 0
    for number, why in told["finds"]:
        assert len(fuzz_child.made("plan", 1, number)) % 3 == 0
        assert why.rstrip().endswith("Bad: a length that three divides")


def test_that_an_input_that_ends_its_worker_is_kept_and_the_others_are_read(tmp_path):
    tally = fuzzed("plan", 20, seed=1, folder=tmp_path, limits=PATIENT, deadly=7)
    assert list(tally.finds) == [7]
    assert tally.count == 20
    assert tally.outcomes[BAD] == 1
    assert (tmp_path / "plan-1-7").read_bytes() == fuzz_child.made("plan", 1, 7)
