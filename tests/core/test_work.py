"""Arithmetic and traffic of a step, worked out by hand."""

from hypothesis import given
from hypothesis import strategies as some
from steps import Step

from planner_app.core.hardware.work import Multiplication, step_work
from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import Access, Phase, Role, Size
from planner_app.core.replay.memory import Memory


def dense_layer(batch_bytes: int = 400):
    """y = relu(x @ w): x and y have `batch_bytes` a sample, w 1000 bytes; 500 operations a sample."""
    step = Step()
    weights = step.variable(1000, Role.WEIGHT)
    x = step.make("Fill", size=Size(0, batch_bytes))
    kernel = step.read(weights)
    y = step.make("MatMul", x, kernel, size=Size(0, batch_bytes), where={"work": Size(0, 500)})
    view = step.make("Reshape", y, alias=y)
    step.make("Relu", view, size=Size(0, batch_bytes), forward=(view,), where={"work": Size(0, 100)})
    step.run("ShapeN", x)
    gradient = {"work": Size(0, 1000), "phase": Phase.BACKWARD}
    slope = step.make("MatMul", x, y, size=1000, where=gradient)
    step.assign(weights, slope, Access.UPDATE, phase=Phase.UPDATE)
    return step


def test_that_multiplications_are_counted_with_all_they_read_and_write():
    work = step_work(dense_layer().trace())
    assert set(work.multiplications) == {
        Multiplication(Size(0, 500), Size(1000, 800), 1),
        Multiplication(Size(0, 1000), Size(1000, 800), 1),
    }
    assert work.forward == Size(0, 500)  # neither the gradient nor the relu
    assert work.flops(8) == 8 * 1500
    assert work.gradient_bytes == 1000


def test_that_other_kernels_count_by_what_they_move():
    # fill 400 a sample; relu reads and writes 400; the update reads the gradient and the weight and writes the weight
    work = step_work(dense_layer().trace())
    assert work.moved == Size(3000, 400 + 800)
    assert work.kernels == 5  # fill, relu, update and two multiplications; no reshape, no shape, no read


def test_that_a_slice_moves_what_it_puts_out():
    step = Step()
    table = step.make("Fill", size=10**9)
    step.make("GatherV2", table, size=Size(0, 64))
    assert step_work(step.trace()).moved == Size(10**9, 128)


def test_that_a_compiled_step_reads_its_parameters_where_they_lie():
    step = dense_layer()
    step.variable(500, Role.OPTIMIZER)
    step.variable(300, Role.FROZEN)
    plain, compiled = step_work(step.trace()), step_work(step.trace(xla=True))
    # weights three times and once to be written, the slot and frozen ones read
    assert compiled.moved.constant - plain.moved.constant == 4 * 1000 + 500 + 2 * 300


def test_that_equal_kernels_are_counted_together():
    step = Step()
    x = step.make("Fill", size=Size(0, 8))
    for _ in range(3):
        step.make("Conv2D", x, size=Size(0, 8), where={"work": Size(0, 77)})
    (kind,) = step_work(step.trace()).multiplications
    assert (kind.count, kind.flops) == (3, Size(0, 77))


def test_that_a_memory_works_it_out_once():
    memory = Memory(dense_layer().trace(), StepSetup())
    assert memory.work is memory.work


@given(some.integers(1, 10**6), some.integers(1, 10**6))
def test_that_every_part_grows_with_the_batch(batch, size):
    """Elsewhere a term always hit its floor, or was multiplied twice."""
    work = step_work(dense_layer(size).trace())
    assert work.flops(2 * batch) == 2 * work.flops(batch)
    growing = work.moved_bytes(2 * batch) - work.moved_bytes(batch)
    assert growing == batch * 7 * size
