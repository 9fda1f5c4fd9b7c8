"""When buffers are alive: steps of a few operations, with allocations and releases worked out by hand."""

import pytest
from steps import Step, live_bytes, replayed, story

from planner_app.core.model.trace import Access, Constant, Role, Size, StepTrace
from planner_app.core.replay.allocate import live, state_bytes
from planner_app.core.replay.liveness import folded_values, replay_process

MIB = 1 << 20


def test_that_a_value_goes_when_its_last_reader_has_run():
    step = Step()
    a = step.make("A", size=100)
    b = step.make("B", a, size=10)
    step.run("C", a, b)
    assert story(step.trace()) == [+100, +10, -100, -10]


def test_that_unread_values_are_freed_before_read_ones():
    step = Step()
    a = step.make("A", size=100)
    step.make("B", a, size=10)
    assert story(step.trace()) == [+100, +10, -10, -100]


def test_that_an_alias_takes_no_memory_and_keeps_the_buffer():
    step = Step()
    a = step.make("A", size=100)
    view = step.make("Reshape", a, alias=a)
    other = step.make("B", size=10)
    step.run("C", other)
    step.run("D", view)
    assert story(step.trace()) == [+100, +10, -10, -100]


def test_that_a_kernel_works_in_place_on_what_it_reads_last():
    step = Step()
    a = step.make("MatMul", size=100)
    b = step.make("Relu", a, size=100, forward=(a,))
    step.run("C", b)
    assert story(step.trace()) == [+100, -100]


def test_that_nothing_is_done_in_place_while_another_will_read_it():
    step = Step()
    a = step.make("MatMul", size=100)
    b = step.make("Relu", a, size=100, forward=(a,))
    step.run("C", a, b)
    assert story(step.trace()) == [+100, +100, -100, -100]


def test_that_who_has_read_already_does_not_stand_in_the_way():
    step = Step()
    a = step.make("MatMul", size=100)
    step.run("C", a)
    b = step.make("Relu", a, size=100, forward=(a,))
    step.run("D", b)
    assert story(step.trace()) == [+100, -100]


def test_that_the_first_free_input_buffer_is_reused():
    step = Step()
    a, b = step.make("A", size=100), step.make("B", size=100)
    c = step.make("Add", a, b, size=100, forward=(a, b))
    step.run("D", a)
    step.run("E", c)
    assert story(step.trace()) == [+100, +100, -100, -100]  # c lies in b


def test_that_a_variables_own_buffer_is_never_worked_on_in_place():
    step = Step()
    w = step.variable(100)
    read = step.read(w)
    b = step.make("Mul", read, size=100, forward=(read,))
    step.run("C", b)
    assert story(step.trace()) == [+100, -100]


def test_that_reading_a_variable_takes_nothing():
    step = Step()
    w = step.variable(100)
    step.run("MatMul", step.read(w))
    assert story(step.trace()) == []
    assert state_bytes(step.trace(), replayed(step.trace()), 1) == 100


def test_that_a_variable_updated_sparsely_is_read_by_copying_it():
    step = Step()
    w = step.variable(100)
    step.run("Gather", step.read(w, Access.COPY))
    assert story(step.trace()) == [+100, -100]


def test_that_an_unread_variable_is_updated_in_place():
    step = Step()
    w = step.variable(100)
    gradient = step.make("MatMul", step.read(w), size=100)
    step.assign(w, gradient, Access.UPDATE)
    assert story(step.trace()) == [+100, -100]  # the gradient alone


def test_that_a_variable_that_is_still_read_is_copied_on_write():
    """Weight decay at the start of a step: the forward pass holds the old weights."""
    step = Step()
    w = step.variable(100)
    read = step.read(w)
    small = step.make("Decay", size=1)
    update = step.assign(w, small, Access.UPDATE)
    step.run("MatMul", read, after=(update,))
    trace = step.trace()
    assert story(trace) == [+1, +100, -1, -100]  # the new weights come, then the old ones go
    # PrepareToUpdateVariable asks for the copy with allocate_temp: from then on the weights are scratch to TensorFlow's
    # own profiler, and live bytes are what it would tell.
    assert live_bytes(trace) == 1


def test_that_a_variable_takes_over_the_buffer_it_is_assigned():
    step = Step()
    w = step.variable(100)
    new = step.make("Mul", step.read(w), size=100)
    step.assign(w, new, Access.REPLACE)
    trace = step.trace()
    assert story(trace) == [+100, -100]
    buffers = replayed(trace)
    taken, given = buffers.moves[-2], ~buffers.moves[-1]
    assert taken != given  # the new one stays, the old one goes
    assert buffers.owner[taken] == w
    assert live_bytes(trace) == 200


def test_that_a_list_keeps_its_elements():
    step = Step()
    element = step.make("Relu", size=100)
    pushed = step.make("TensorListPushBack", element, holds=(element,))
    step.run("Forward", element)
    other = step.make("Other", size=10)
    step.run("Backward", other)
    step.run("TensorListPopBack", pushed)
    assert story(step.trace()) == [+100, +10, -10, -100]


def test_that_a_list_of_a_list_keeps_everything_in_it():
    step = Step()
    a = step.make("A", size=100)
    first = step.make("Push", a, holds=(a,))
    b = step.make("B", size=10)
    second = step.make("Push", first, b, holds=(first, b))
    step.run("Last", second)
    assert story(step.trace()) == [+100, +10, -10, -100]


def constants(size: Size) -> Step:
    step = Step()
    folded = step.make("Fill", size=size, folded=True)
    step.run("Add", folded)
    return step


def test_that_what_is_made_of_constants_is_made_once_and_kept():
    trace = constants(Size(1000)).trace()
    assert story(trace) == []
    assert state_bytes(trace, replayed(trace), 1) == 1000


def test_that_a_constant_above_10_mib_is_made_in_every_step():
    trace = constants(Size(slope=MIB)).trace()
    assert folded_values(trace, 10) == {0}
    assert folded_values(trace, 11) == set()
    assert story(trace, batch=11) == [+11 * MIB, -11 * MIB]
    assert state_bytes(trace, replayed(trace, 11), 11) == 0


def test_that_of_a_chain_of_constants_only_the_last_is_kept():
    step = Step()
    first = step.make("Range", size=300, folded=True)
    last = step.make("Reshape", first, size=500, folded=True)
    step.run("Add", last)
    trace = step.trace()
    assert state_bytes(trace, replayed(trace), 1) == 500


def test_that_a_constant_under_another_name_is_kept_once():
    step = Step()
    filled = step.make("Fill", size=300, folded=True)
    for _ in range(2):
        step.run("Add", step.make("Identity", filled, size=300, alias=filled, folded=True))
    written = step.make("Const", size=70)  # counted among the graph's own constants
    step.run("Add", step.make("Identity", written, size=70, alias=written, folded=True))
    trace = step.trace()
    assert state_bytes(trace, replayed(trace), 1) == 300


def test_that_constants_of_the_graph_count_from_their_batch_on():
    trace = Step().trace(constant_bytes=40, constants=(Constant(0), Constant(0, from_batch=8)))
    assert state_bytes(trace, replayed(trace), 1) == 40
    step = Step()
    step.variable(Size(slope=10), Role.INPUT)
    grown = step.trace(constants=(Constant(1, from_batch=8),))
    assert state_bytes(grown, replayed(grown), 7) == 70
    assert state_bytes(grown, replayed(grown), 8) == 80 + 80


def test_that_scratch_goes_with_its_kernel_and_is_not_counted_as_live():
    step = Step()
    a = step.make("A", size=100)
    result, scratch = step.value(10), step.value(50, scratch=True)
    step.run("Conv2D", a, makes=(result, scratch))
    step.run("B", result)
    trace = step.trace()
    assert story(trace) == [+100, +10, +50, -50, -100, -10]
    assert live_bytes(trace) == 110


def test_that_scratch_a_small_batch_does_without_is_not_taken():
    step = Step()
    result, scratch = step.value(10), step.value(50, scratch=True, from_batch=4)
    step.run("Conv2D", makes=(result, scratch))
    step.run("B", result)
    assert story(step.trace(), batch=3) == [+10, -10]
    assert story(step.trace(), batch=4) == [+10, +50, -50, -10]


def test_that_kernels_that_overlap_are_alive_together():
    step = Step()
    a, b = step.make("A", size=100), step.make("B", size=10)
    step.run("C", a)
    step.run("D", b)
    trace = step.trace()
    assert story(trace, schedule=[0, ~0, 2, ~2, 1, ~1, 3, ~3]) == [+100, -100, +10, -10]
    assert story(trace, schedule=[0, 1, ~1, ~0, 2, 3, ~3, ~2]) == [+100, +10, -10, -100]


def test_that_a_kernel_that_has_not_ended_holds_what_it_reads():
    """Two kernels read one tensor at the same time: neither may work in place."""
    step = Step()
    a = step.make("A", size=100)
    b = step.make("Relu", a, size=100, forward=(a,))
    c = step.make("Tanh", a, size=100, forward=(a,))
    step.run("Add", b, c)
    trace = step.trace()
    assert sum(1 for move in story(trace, schedule=[0, ~0, 1, ~1, 2, ~2, 3, ~3]) if move > 0) == 2
    assert sum(1 for move in story(trace, schedule=[0, ~0, 1, 2, ~1, ~2, 3, ~3]) if move > 0) == 3


def test_that_every_step_after_the_second_is_the_same():
    step = Step()
    w, m = step.variable(100), step.variable(100, Role.OPTIMIZER)
    gradient = step.make("MatMul", step.read(w), size=100)
    momentum = step.make("Add", step.read(m), gradient, size=100, forward=(gradient,))
    step.assign(m, momentum, Access.REPLACE)
    step.assign(w, momentum, Access.UPDATE)
    trace = step.trace()
    assert story(trace, steps=2) == story(trace, steps=3) == story(trace, steps=6)
    assert sum(story(trace)) == 0


def test_that_live_bytes_grow_with_the_batch_by_each_buffers_own_line():
    step = Step()
    w = step.variable(1000)
    kept = step.make("Conv2D", step.read(w), size=Size(slope=100))
    loss = step.make("Mean", kept, size=Size(4))
    step.run("Backward", kept, loss)
    trace = step.trace()
    assert [live_bytes(trace, batch) for batch in (1, 2, 64)] == [1104, 1204, 1000 + 6400 + 4]


def test_that_the_move_of_the_peak_is_reported():
    step = Step()
    a = step.make("A", size=100)
    b = step.make("B", a, size=10)
    step.run("C", b)
    trace = step.trace()
    buffers = replayed(trace)
    peak, move = live(trace, buffers, 1)
    assert peak == 110
    assert trace.sources[trace.operations[buffers.operations[move]].source].type == "B"


def adding_up(extra: int) -> StepTrace:
    """Gradients of 100 bytes are added up in a variable, with some bytes beside; or an update of 10 is made of them."""
    step = Step()
    kept = step.variable(100, Role.OPTIMIZER)
    made = step.make("Gradient", size=100)
    step.make("Update", made, size=10)
    gradient = step.make("Gradient", size=100)
    step.make("Other", gradient, size=extra)
    added = step.make("Add", gradient, step.read(kept), size=100, forward=(gradient,))
    step.assign(kept, added, Access.REPLACE)
    return step.trace(adding=2)


def test_that_a_step_that_adds_up_takes_turns_with_one_that_updates():
    trace = adding_up(extra=50)
    assert story(trace) == [+100, +50, -50, -100, +100, +10, -10, -100]
    assert [trace.operation(number).source for number in range(8)] == list(range(8))


@pytest.mark.parametrize(("extra", "live"), [(50, 100 + 100 + 50), (5, 100 + 100 + 10)])
def test_that_the_peak_is_that_of_either_kind_of_step(extra: int, live: int):
    assert live_bytes(adding_up(extra)) == live


def test_that_the_first_update_copies_what_was_made_of_shared_zeros():
    step = Step()
    slot = step.variable(100, Role.OPTIMIZER)
    weight = step.variable(1000)
    for variable in (slot, weight):
        step.assign(variable, step.make("Change", size=10), Access.UPDATE)
    buffers = replay_process(step.trace(), frozenset(), [None, None], zeros=True)
    taken = [buffers.owner[move] for move in buffers.moves if move >= buffers.before and buffers.owner[move] >= 0]
    assert taken == [slot]  # once: in the second step nobody shares it
    assert [buffers.owner[~move] for move in buffers.moves if move < 0 and buffers.owner[~move] >= 0] == [slot]


def test_that_each_step_of_a_process_runs_in_its_own_order():
    step = Step()
    for size in (100, 200):
        step.make("Change", size=size)
    trace = step.trace()
    buffers = replay_process(trace, frozenset(), [[0, ~0, 1, ~1], [1, 0, ~0, ~1]])
    assert [trace.sizes[buffers.size[move]].constant for move in buffers.moves if move >= 0] == [100, 200, 200, 100]
    assert [move >= 0 for move in buffers.moves[buffers.last_step :]] == [True, True, False, False]
