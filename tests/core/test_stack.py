"""Memory over one step: after every move the same as the snapshot of that move, at the peak the estimate itself."""

from dataclasses import replace

import numpy as np
import pytest
from steps import Step
from test_estimate import BATCH, one_layer

from planner_app.core.estimate.breakdown import Term, snapshot
from planner_app.core.estimate.estimate import terms
from planner_app.core.model.setup import Jit, Setup
from planner_app.core.model.trace import Access, Phase, Role, Size, StepTrace
from planner_app.core.replay.memory import Memory
from planner_app.core.replay.stack import Stack, layer_bytes, stack, thinned, visible


def two_layers() -> StepTrace:
    """What one layer makes is kept for the backward pass; what the other makes only the forward pass reads."""
    step = Step()
    weight = step.variable(1000, Role.WEIGHT, "a")
    inputs = step.variable(Size(slope=100), Role.INPUT)
    x, w = step.read(inputs), step.read(weight)
    kept = step.make("MatMul", x, w, size=Size(slope=70), where={"layer": "a"})
    passing = step.make("Square", kept, size=Size(slope=50), where={"layer": "b"})
    loss = step.make("Mean", passing, size=4, where={"layer": "b"})
    backward = {"phase": Phase.BACKWARD, "layer": "a"}
    gradient = step.make("MatMul", x, kept, loss, size=1000, where=backward)
    more = step.make("Add", gradient, size=Size(300, 20), where={"phase": Phase.UPDATE, "layer": "a"})
    step.run("Sum", passing, more, **backward)  # nobody knew that this would be read so late
    step.assign(weight, gradient, Access.REPLACE, phase=Phase.UPDATE, layer="a")
    return step.trace(constant_bytes=40, layers=(("a", "Dense"), ("b", "Dense")))


def memory_of(trace: StepTrace, target: str = "gpu:8.0", jit: Jit = Jit.OFF) -> Memory:
    step = Setup(batch=BATCH, jit=jit).step(target)
    return Memory(replace(trace, xla=step.xla), step)


MEMORIES = {
    "one layer on a GPU": lambda: memory_of(one_layer()),
    "one layer on the CPU": lambda: memory_of(one_layer(), "cpu"),
    "one layer compiled": lambda: memory_of(one_layer(), jit=Jit.ON),
    "two layers on a GPU": lambda: memory_of(two_layers()),
    "two layers on the CPU": lambda: memory_of(two_layers(), "cpu"),
    "two layers compiled": lambda: memory_of(two_layers(), jit=Jit.ON),
}


@pytest.fixture(params=MEMORIES)
def memory(request: pytest.FixtureRequest) -> Memory:
    return MEMORIES[request.param]()


@pytest.fixture
def found(memory: Memory) -> Stack:
    return stack(memory, BATCH)


def test_that_at_the_peak_the_stack_is_the_estimate_s_breakdown(memory: Memory, found: Stack):
    point = memory.point(BATCH)
    moment = snapshot(memory.trace, memory.buffers(BATCH), BATCH, point.peak.move)
    assert found.moves[found.peak] == point.peak.move
    at_peak = {str(term): int(size[found.peak]) for term, size in found.terms.items() if size[found.peak]}
    assert at_peak == terms(moment, point.in_use_bytes)


def test_that_after_every_move_the_stack_is_the_snapshot_of_that_move(memory: Memory, found: Stack):
    for place, move in enumerate(found.moves.tolist()):
        moment = snapshot(memory.trace, memory.buffers(BATCH), BATCH, move)
        for term in set(Term) - {Term.OVERHEAD}:
            held = sum(each.size_bytes for each in moment.held if each.term is term)
            assert held == (found.terms[term][place] if term in found.terms else 0)
        assert found.source(place).name == moment.operation


def test_that_the_top_of_the_stack_is_in_use_and_without_scratch_and_overhead_it_is_live(memory: Memory, found: Stack):
    point = memory.point(BATCH)
    assert found.in_use.max() == found.in_use[found.peak] == point.in_use_bytes
    requested = found.in_use - found.terms.get(Term.OVERHEAD, 0)
    assert (requested - found.scratch).max() == point.live_bytes


def test_that_layers_over_the_step_add_up_to_what_the_stack_has(memory: Memory, found: Stack):
    names = {*dict(memory.trace.layers), ""}
    total = np.zeros(len(found.moves), dtype=np.int64)
    for name in names:
        moves, size = layer_bytes(memory, BATCH, name)
        assert moves[0] == found.moves[0]
        total += size[np.searchsorted(moves, found.moves, side="right") - 1]
    requested = found.in_use - found.terms.get(Term.OVERHEAD, 0)
    assert (total + memory.trace.constant_bytes == requested).all()


def test_that_a_layer_s_bytes_are_worked_out_by_hand():
    """Layer b makes 50 bytes a sample and a loss of 4 bytes; both are there until the backward pass is over."""
    moves, size = layer_bytes(memory_of(two_layers()), BATCH, "b")
    assert size.tolist() == [0, 500, 504, 500, 0]
    assert (np.diff(moves) > 0).all()


def test_that_what_the_forward_pass_left_behind_counts_as_kept_once_that_pass_is_over():
    memory = memory_of(two_layers())
    found = stack(memory, BATCH)
    forward = np.array([found.source(place).phase is Phase.FORWARD for place in range(len(found.moves))])
    assert found.terms[Term.ACTIVATIONS][~forward].max() == 700 + 500 + 4


def test_that_moves_too_small_to_be_seen_get_no_room_but_add_up():
    in_use = np.array([0, 100_000, 100_001, 100_000, 100_030, 100_060, 100_090, 0])
    assert visible(in_use, 6).tolist() == [0, 1, 5, 6, 7]


def test_that_a_thinned_timeline_keeps_its_peak_and_its_lowest_point():
    noise = np.random.default_rng(1).integers(1000, 2000, 100_000)
    noise[[777, 54_321]] = 10, 5000
    places = thinned(noise, 54_321, 400)
    assert len(places) <= 402
    assert {0, 777, 54_321} <= set(places.tolist())
    assert (np.diff(places) > 0).all()
    assert thinned(noise[:300], 5, 400).tolist() == list(range(300))


def test_that_a_part_of_a_stack_knows_its_peak(found: Stack):
    part = found.at(np.array(sorted({0, found.peak, len(found.moves) - 1})))
    assert part.moves[part.peak] == found.moves[found.peak]
    assert part.in_use[part.peak] == found.in_use[found.peak]
    assert part.source(part.peak) == found.source(found.peak)
