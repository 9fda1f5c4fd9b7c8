"""What is left in memory of a step compiled by XLA: chains of elementwise operations are one kernel."""

from dataclasses import replace

import pytest
from steps import Step, live_bytes, story

from planner_app.core.model.trace import Access, Role, StepTrace
from planner_app.core.replay.fusion import MOST_SOURCES, Fusion
from planner_app.core.replay.schedule import schedules


def kept(step: Step) -> list[str]:
    """The operations whose results are in memory, in order."""
    trace = Fusion(step.trace()).fused()
    return [trace.sources[operation.source].type for operation in trace.operations if operation.makes]


def test_that_a_chain_of_elementwise_operations_takes_no_memory():
    step = Step()
    value = step.make("MatMul", size=100)
    for kind in ("Mul", "AddV2", "Relu", "Neg"):
        value = step.make(kind, value, size=100)
    step.make("Sum", value, size=4)
    assert kept(step) == ["MatMul", "Sum"]
    assert live_bytes(Fusion(step.trace()).fused()) == 104


def test_that_what_a_library_call_reads_is_in_memory():
    step = Step()
    value = step.make("MatMul", size=100)
    value = step.make("Relu", step.make("BiasAdd", value, size=100), size=100)
    step.make("MatMul", value, size=50)
    assert kept(step) == ["MatMul", "Relu", "MatMul"]


def test_that_a_view_of_it_counts_as_it():
    step = Step()
    value = step.make("Relu", step.make("MatMul", size=100), size=100)
    step.make("MatMul", step.make("Reshape", value, alias=value), size=50)
    assert kept(step) == ["MatMul", "Relu", "MatMul"]


@pytest.mark.parametrize("kind", ["Sum", "Mean", "Max", "Softmax", "Conv2D", "GatherV2"])
def test_that_reductions_and_library_calls_leave_their_results(kind):
    step = Step()
    value = step.make(kind, step.make("Relu", step.make("Conv2D", size=100), size=100), size=10)
    step.make("Sum", step.make("Neg", value, size=10), size=4)
    assert kept(step)[-2:] == [kind, "Sum"]


@pytest.mark.parametrize("kind", ["MaxPool", "ConcatV2", "GatherV2", "UnsortedSegmentSum", "ScatterNd"])
def test_that_what_gathers_and_scatters_read_is_computed_on_the_way(kind):
    """A thousand places, made of ten, where none is ever written down."""
    step = Step()
    places = step.make("BroadcastTo", step.make("MatMul", size=10), size=1000)
    step.make("Sum", step.make(kind, step.make("AddV2", places, size=1000), size=100), size=4)
    assert kept(step) == ["MatMul", kind, "Sum"]
    assert live_bytes(Fusion(step.trace()).fused()) == 110


def read_by(readers: int, kind: str) -> Step:
    step = Step()
    value = step.make(kind, step.make("MatMul", size=100), size=100)
    for _ in range(readers):
        step.make("Sum", step.make("Neg", value, size=100), size=4)
    return step


def test_that_an_expensive_result_is_kept_when_two_kernels_want_it():
    assert kept(read_by(1, "Exp")) == ["MatMul", "Sum"]
    assert kept(read_by(2, "Exp")) == ["MatMul", "Exp", "Sum", "Sum"]


def test_that_a_cheap_result_is_computed_twice_instead():
    assert kept(read_by(2, "Mul")) == ["MatMul", "Sum", "Sum"]


def test_that_a_kernel_that_would_read_too_much_is_cut():
    def summed(terms: int) -> list[str]:
        step = Step()
        parts = [step.make("MatMul", size=100) for _ in range(terms)]
        step.make("Sum", step.make("AddN", *parts, size=100), size=4)
        return kept(step)[terms:]

    assert summed(MOST_SOURCES) == ["Sum"]
    assert summed(MOST_SOURCES + 1) == ["AddN", "Sum"]


def test_that_a_kernels_own_scratch_is_not_the_compilers():
    step = Step()
    result, scratch = step.value(10), step.value(1000, scratch=True)
    step.run("SoftmaxCrossEntropyWithLogits", makes=(result, scratch))
    step.make("MatMul", result, size=10)
    assert live_bytes(Fusion(step.trace()).fused()) == 20


def update(access: Access) -> StepTrace:
    """A weight is read after its update has begun, which copies it without XLA."""
    step = Step()
    w = step.variable(400)
    read = step.read(w)
    gradient = step.make("MatMul", read, size=400)
    change = step.make("Mul", gradient, size=400)
    done = step.assign(w, change, access)
    step.make("MatMul", read, size=4, where={"after": (done,)})
    return step.trace()


@pytest.mark.parametrize("access", [Access.UPDATE, Access.REPLACE])
def test_that_variables_are_updated_where_they_lie(access):
    assert sum(move for move in story(update(access)) if move > 0) > 400 + 4
    assert (
        sum(move for move in story(Fusion(update(access)).fused(), steps=1) if move > 0) == 400 + 4
    )  # the gradient, the end


def test_that_the_weights_themselves_stay_counted():
    assert live_bytes(Fusion(update(Access.UPDATE)).fused()) == 400 + 400


def test_that_a_result_gets_a_buffer_of_its_own():
    step = Step()
    value = step.make("Exp", step.make("MatMul", size=100), size=100)
    step.make("MatMul", value, size=50)
    assert story(Fusion(step.trace()).fused(), steps=1) == [+100, +100, -100, +50, -50, -100]


@pytest.mark.parametrize("kind", ["MatMul", "Conv2D", "Einsum"])
def test_that_a_library_call_never_writes_over_what_it_reads(kind):
    step = Step()
    step.make(kind, step.make("MatMul", size=100), size=100)
    assert story(Fusion(step.trace()).fused(), steps=1) == [+100, +100, -100, -100]


def towers() -> StepTrace:
    """Two large results that are each summed up: best one after the other."""
    step = Step()
    x = step.variable(1000, Role.INPUT)
    large = [step.make("MatMul", step.read(x), size=1000) for _ in range(2)]
    sums = [step.make("Sum", each, size=4) for each in large]
    step.make("MatMul", *sums, size=4)
    return Fusion(step.trace()).fused()


def test_that_every_schedule_runs_everything_once_after_what_it_reads():
    trace = towers()
    for order in schedules(trace, 8):
        assert order[1::2] == [~number for number in order[::2]]
        assert sorted(order[::2]) == list(range(len(trace.operations)))
        at = {number: place for place, number in enumerate(order[::2])}
        for number, operation in enumerate(trace.operations):
            assert all(at[number] < at[later] for later in operation.then)


def test_that_an_order_in_which_a_loop_could_not_run_is_left_out():
    """Two rounds of a loop: as written, both rounds of its first operation come before its second."""
    step = Step()
    state = step.make("MatMul", size=10)
    for _ in range(2):
        state = step.make("MatMul", step.make("MatMul", state, size=10), size=10)
    trace = step.trace()
    looped = [replace(each, source=source) for each, source in zip(trace.operations, (0, 1, 2, 1, 2), strict=True)]
    trace = replace(trace, operations=tuple(looped))
    orders = [order[::2] for order in schedules(trace, 8)]
    assert orders == [[0, 1, 2, 3, 4]] * 2


def test_that_the_greedy_schedule_frees_before_it_takes():
    trace = towers()
    ready, _written, greedy = schedules(trace, 8)
    assert live_bytes(trace, schedule=ready) == 1000 + 2000 + 4
    assert live_bytes(trace, schedule=greedy) == 1000 + 1000 + 8
