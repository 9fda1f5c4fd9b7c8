"""What XLA keeps in memory for its own reasons: seen in compiled programs, with the responsible pass."""

import pytest
from steps import Step, live_bytes

from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import Role, Size, StepTrace
from planner_app.core.replay.fusion import MOST_ROWS, Fusion, narrow_reductions
from planner_app.core.replay.memory import Memory
from planner_app.core.replay.schedule import late_schedules, schedules


def kept(trace: StepTrace, batch: int = 1) -> list[str]:
    """The operations whose results are in memory, in order."""
    program = Fusion(trace).fused(narrow_reductions(trace, batch))
    return [program.sources[operation.source].type for operation in program.operations if operation.makes]


def reads_of(trace: StepTrace, kind: str, batch: int = 1) -> list[str]:
    """The operations whose results in memory the last one of this kind reads."""
    program = Fusion(trace).fused(narrow_reductions(trace, batch))
    types = [program.sources[operation.source].type for operation in program.operations]
    maker = {made: kind for operation, kind in zip(program.operations, types, strict=True) for made in operation.makes}
    last = max(number for number, each in enumerate(types) if each == kind)
    return [maker[read] for read in program.operations[last].reads]


@pytest.mark.parametrize(("kind", "looked_at"), [("Relu", "Conv2D"), ("Elu", "Conv2D"), ("Tanh", "Tanh")])
def test_that_the_gradient_of_a_relu_looks_at_what_came_before_it(kind, looked_at):
    """max(x, 0) > 0 is x > 0: with the ReLU kept for the next product, both are in memory."""
    step = Step()
    result = step.make(kind, step.make("Conv2D", size=100), size=100)
    gradient = step.make("MatMul", result, size=100)
    step.make("Einsum", step.make(f"{kind}Grad", gradient, result, size=100), size=1)
    assert reads_of(step.trace(), f"{kind}Grad") == ["MatMul", looked_at]


@pytest.mark.parametrize("role", [Role.WEIGHT, Role.FROZEN, Role.INPUT])
def test_that_a_filter_and_an_input_are_copied_once_for_both_passes(role):
    step = Step()
    read = step.read(step.variable(100, role))
    forward = step.make("Conv2D", read, size=10)
    step.make("Conv2DBackpropInput", read, forward, size=10)
    assert kept(step.trace()).count("ReadVariableOp") == 1


def test_that_a_matrix_is_not_copied():
    step = Step()
    step.make("MatMul", step.read(step.variable(100)), size=10)
    assert kept(step.trace()) == ["MatMul"]


def test_that_of_random_numbers_only_the_mask_is_kept():
    step = Step()
    numbers = step.make("AddV2", step.make("Mul", step.make("StatelessRandomUniformV2", size=400), size=400), size=400)
    mask = step.make("GreaterEqual", numbers, size=100)
    dropped = step.make("SelectV2", mask, step.make("MatMul", size=400), size=400)
    gradient = step.make("MatMul", dropped, size=400)
    step.make("MatMul", step.make("SelectV2", mask, gradient, size=400), size=1)
    assert kept(step.trace()) == ["GreaterEqual", "MatMul", "SelectV2", "MatMul", "SelectV2", "MatMul"]


def test_that_random_numbers_which_are_used_themselves_are_made_once():
    step = Step()
    noise = step.make("StatelessRandomNormalV2", size=400)
    for _ in range(2):
        step.make("Sum", step.make("Mul", noise, size=400), size=1)
    assert kept(step.trace()) == ["StatelessRandomNormalV2", "Sum", "Sum"]


@pytest.mark.parametrize(("side_inputs", "peak"), [(True, 300), (False, 400)])
def test_that_a_convolution_adds_to_what_it_computes(side_inputs, peak):
    """Three results that are added up: each convolution but the first adds the sum so far."""
    step = Step()
    image = step.make("MatMul", size=100)
    total = step.make("BiasAdd", step.make("Conv2D", image, size=100), size=100)
    for _ in range(2):
        result = step.make("BiasAdd", step.make("Conv2D", image, size=100), size=100)
        total = step.make("AddV2", total, result, size=100)
    step.make("Sum", total, size=0)
    trace = Fusion(step.trace(), side_inputs=side_inputs).fused()
    assert min(live_bytes(trace, schedule=order) for order in schedules(trace, 1)) == peak


def test_that_late_gradients_of_filters_widen_the_band():
    step = Step()
    image = step.make("Conv3D", step.read(step.variable(100, Role.INPUT)), size=100)
    gradient = step.make("Conv3DBackpropInputV2", image, size=100)
    step.make("Conv3DBackpropFilterV2", image, gradient, size=1)
    gradient = step.make("Conv3DBackpropInputV2", gradient, size=300)
    step.make("Sum", gradient, size=1)
    trace = step.trace()
    (early, *_), (late, *_) = schedules(trace, 1), late_schedules(trace, 1)
    assert [live_bytes(trace, schedule=order) for order in (early, late)] == [500, 601]
    assert late_schedules(Fusion(pooled(Size(1))).fused(), 1) == ()


def pooled(rows: Size) -> StepTrace:
    """A result that a mean over rows and another kernel want."""
    step = Step()
    value = step.make("Relu6", step.make("Conv2D", size=100), size=100)
    step.make("Mean", value, size=4, where={"rows": rows})
    step.make("Sum", step.make("Mul", value, size=100), size=4)
    return step.trace()


@pytest.mark.parametrize(("rows", "is_kept"), [(0, False), (31, False), (32, True), (4096, True), (4097, False)])
def test_that_a_narrow_reduction_leaves_out_what_others_want_too(rows, is_kept):
    assert ("Relu6" in kept(pooled(Size(rows)))) is is_kept


def test_that_what_only_the_reduction_needs_is_computed_in_it():
    step = Step()
    value = step.make("Relu6", step.make("Conv2D", size=100), size=100)
    step.make("Mean", value, size=4, where={"rows": Size(100)})
    assert "Relu6" not in kept(step.trace())


def test_that_a_batch_decides_whether_a_reduction_is_narrow():
    trace = pooled(Size(0, 196))  # 14 x 14 pixels of each sample
    last = MOST_ROWS // 196
    assert "Relu6" in kept(trace, last)
    assert "Relu6" not in kept(trace, last + 1)
    few, many = (Fusion(trace).fused(narrow_reductions(trace, batch)) for batch in (last, last + 1))
    assert [each.source for each in few.operations] == [each.source for each in many.operations]


def test_that_memory_follows_the_batch_through_it():
    step = Step()
    value = step.make("Relu6", step.make("Conv2D", size=Size(0, 1000)), size=Size(0, 1000))
    step.make("Mean", value, size=4, where={"rows": Size(0, 196)})
    step.make("Sum", step.make("Mul", value, size=Size(0, 1000)), size=4)
    memory = Memory(step.trace(xla=True), StepSetup(xla=True, target="gpu:8.0"))
    assert memory.point(20).in_use_bytes == 20 * 1000 * 2
    assert (
        memory.point(21).in_use_bytes == 21 * 1000 + 4
    )  # one reduction after the other, and nobody reads their results


def test_that_a_difference_is_kept_for_the_backward_pass():
    """A variance over few rows: the difference is there already when its gradient wants it."""

    def variance(rows: int) -> list[str]:
        step = Step()
        x = step.make("Conv2D", size=100)
        mean = step.make("Max", x, size=4)
        squares = step.make("SquaredDifference", x, mean, size=100)
        step.make("Mean", squares, size=4, where={"rows": Size(rows)})
        again = step.make("Sub", x, mean, size=100)
        step.make("Sum", step.make("Mul", again, size=100), size=4)
        return reads_of(step.trace(), "Sum")

    assert variance(100) == ["SquaredDifference"]
    assert variance(5000) == ["Conv2D", "Max"]


def embedded(sums: int) -> StepTrace:
    """A large result in the middle, then the gradients of an embedding, as Adam wants two."""
    step = Step()
    gradient = step.make("MatMul", step.make("MatMul", size=1000), size=1)
    for _ in range(sums):
        step.make("Sum", step.make("UnsortedSegmentSum", gradient, size=300), size=1)
    return Fusion(step.trace()).fused()


@pytest.mark.parametrize(("sums", "early"), [(1, 0), (2, 600)])
def test_that_zeros_which_two_want_are_there_from_the_start(sums, early):
    trace = embedded(sums)
    for order in schedules(trace, 1):
        assert live_bytes(trace, schedule=order) == 1000 + early + 1


def test_that_max_pooling_before_a_relus_gradient_has_its_zeros_early():
    def peak(reader: str) -> int:
        step = Step()
        gradient = step.make("MatMul", step.make("MatMul", size=1000), size=1)
        zeros, result = step.value(300, scratch=True), step.value(300)
        step.run("MaxPoolGrad", gradient, makes=(zeros, result))
        relu = step.make("Relu", gradient, size=1)
        step.make("Sum", step.make(reader, result, relu, size=300), size=1)
        trace = Fusion(step.trace()).fused()
        return min(live_bytes(trace, schedule=order) for order in schedules(trace, 1))

    assert peak("ReluGrad") == 1000 + 300 + 1
    assert peak("Mul") == 1000 + 1


@pytest.mark.parametrize("kind", ["MaxPool", "AvgPool", "ConcatV2"])
def test_that_pooling_and_joining_compute_what_they_read(kind):
    step = Step()
    step.make("MatMul", step.make(kind, step.make("Relu", step.make("Conv2D", size=100), size=100), size=50), size=1)
    assert kept(step.trace()) == ["Conv2D", kind, "MatMul"]
