"""Long logs, junk, control characters: read in flat memory, survived."""

import random
import re
import re._constants as sre
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from corpus import log
from hypothesis import given
from hypothesis import strategies as st

from planner_app.core.doctor import Diagnosis, Kind, diagnose
from planner_app.core.doctor.log.gates import GATES
from planner_app.core.doctor.log.lines import LONGEST_LINE_BYTES, LOOKED_AT_BYTES, Gates, cleaned, matching_lines
from planner_app.core.doctor.log.rules import RULES
from planner_app.core.doctor.signs import SIGNS

MIB = 1 << 20


def endless(piece: bytes, size: int) -> Iterator[bytes]:
    sent = 0
    while sent < size:
        yield piece
        sent += len(piece)


BAR = b"".join(b" %d/4000 [====>....] - ETA: 3s - loss: 0.5\r" % n for n in range(1, 4000)) + b"\n"
CHATTER = b"2024-01-01 00:00:00.0: I tensorflow/core/foo.cc:12] nothing at all of interest here\n" * 3000
NO_LINES = bytes(range(32, 127)) * 2000


@pytest.mark.parametrize("piece", [BAR, CHATTER, NO_LINES, log("tf221_resnet50_batch8_limit700")], ids="bcnd")
def test_that_a_long_log_is_read_in_flat_memory(piece):
    # tests/benchmarks/doctor.py reads a hundred megabytes of each, and says how long that takes.
    tracemalloc.start()
    diagnose(endless(piece, MIB // 2))
    _, little = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    diagnose(endless(piece, 3 * MIB))
    _, much = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert much < little * 1.5 + MIB


def test_that_gigabytes_of_zeros_take_seconds():
    """A log that was cut while it was written, or a sparse file."""
    begun = time.process_time()
    assert diagnose(endless(bytes(1 << 18), 256 * MIB)).kind is Kind.NONE
    assert time.process_time() - begun < 1  # it takes 0.2 s


def test_that_a_report_behind_a_long_log_is_found_at_its_line():
    found = diagnose([*endless(CHATTER, 3 * MIB), log("tf24_requested_by")])
    before = sum(piece.count(b"\n") for piece in endless(CHATTER, 3 * MIB))
    assert found.kind is Kind.SHORTAGE
    assert found.evidence[0].line == before + 1


def test_that_junk_is_survived():
    rng = random.Random(1)
    for _ in range(20):
        junk = rng.randbytes(50_000)
        assert diagnose([junk]).kind is Kind.NONE
        assert diagnose([junk, b"\n", log("tf24_requested_by"), junk]).requested_bytes == 18874368


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_that_any_bytes_get_an_answer(pieces):
    assert isinstance(diagnose(pieces), Diagnosis)


ALL = [*RULES, *(rule for sign in SIGNS for rule in sign.rules)]
PARTS = [rule.mark.encode() for rule in ALL]


@given(st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=30), st.just(b"\n"), st.just(b"\r")), max_size=40))
def test_that_any_mixture_of_what_is_looked_for_gets_an_answer(parts):
    assert isinstance(diagnose([b"".join(parts)]), Diagnosis)


@given(st.integers(0, 5000), st.integers(1, 400), st.binary(min_size=1, max_size=5))
def test_that_a_damaged_report_is_survived(start, length, instead):
    whole = log("tf26_eager_const")
    assert isinstance(diagnose([whole[:start] + instead + whole[start + length :]]), Diagnosis)


def test_that_every_rule_can_be_reached():
    gates = (*GATES.always, *GATES.later)
    assert all(any(gate in rule.mark.encode() for gate in gates) for rule in ALL)


def repeats(parsed) -> Iterator[tuple[object, object]]:
    """Every repetition in a pattern: what kind, and how often at most."""
    for kind, argument in parsed:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield kind, argument[1]
        for part in argument if isinstance(argument, tuple | list) else (argument,):
            for inner in part if isinstance(part, list) else (part,):
                if isinstance(inner, re._parser.SubPattern):
                    yield from repeats(inner)


def test_that_no_pattern_can_run_away():
    """Behind a mark each repetition is bounded, or keeps what it has read; what stands before it is short."""
    for rule in ALL:
        parsed = re._parser.parse(rule.after.pattern)
        assert all(most is not sre.MAXREPEAT for _, most in repeats(parsed)), rule.mark


def test_that_control_characters_go():
    assert cleaned("a\u202eb\x9b31mc\u2066d\ufeff".encode()) == "ab31mcd"
    assert cleaned(b"\x1b[0;31mRed\x1b[0m \x00\x07text\x1b]0;title\x07\tend \r") == "Red text\tend"


def test_that_of_a_line_of_gigabytes_only_beginning_and_end_are_looked_at():
    looked_at = []

    class Counting(Gates):
        def in_block(self, block: bytes, failed: bool) -> list[bytes]:
            looked_at.append(len(block))
            return super().in_block(block, failed)

    def pieces() -> Iterator[bytes]:
        yield b"begin OOM\n"
        yield from endless(b"z" * MIB, 80 * MIB)
        yield b"x" * MIB + b" end OOM\nnext OOM\n"
        yield b"last OOM"

    found = list(matching_lines(pieces(), Counting([b"OOM"], frozenset(), ()), lambda: False))
    short = [(line.number, line.text) for line in found if line.number != 2]
    assert short == [(1, "begin OOM"), (3, "next OOM"), (4, "last OOM")]
    assert any(line.number == 2 for line in found)
    assert sum(looked_at) < LOOKED_AT_BYTES + 4 * LONGEST_LINE_BYTES


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_that_wide_letters_are_read_with_a_mark_and_without(encoding):
    assert diagnose(["Epoch 1/2\nKilled\n".encode(encoding)]).kind is Kind.HOST


def test_that_a_log_that_was_cut_while_it_was_written_is_read():
    assert diagnose([bytes(100_000), b"MemoryError\n"]).kind is Kind.HOST


def test_that_a_tensor_larger_than_any_gpu_is_told_from_its_shape_alone():
    on = "on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    found = diagnose([f"OOM when allocating tensor with shape[1000000,1000000] and type float {on}".encode()])
    assert (found.kind, found.requested_bytes) == (Kind.TOO_LARGE, 4 * 10**12)


def test_that_each_rule_s_mark_is_a_line_that_matters():
    for rule in ALL:
        mark = rule.mark.encode()
        held = [gate for gate in (*GATES.always, *GATES.later) if gate in mark]
        assert held and GATES.marked(b"before " + mark + b" behind", held, lambda: True), rule.mark


def test_that_a_gate_without_a_mark_is_no_line_that_matters():
    said = b"round 40 score 0.3, GPU memory 11.2 GiB, 3 samples failed"
    held = [gate for gate in (*GATES.always, *GATES.later) if gate in said]
    assert held and not GATES.marked(said, held, lambda: False)


def test_that_colours_within_a_mark_and_bars_that_name_the_epoch_are_read():
    assert diagnose([b"RuntimeError: CUDA \x1b[1mout of memory\x1b[0m. Tried to allocate 2.00 GiB\n"]).kind.failed
    bars = b"".join(b"Epoch 3:  50%%|###   | %d/900 [00:10<00:20, 9.1it/s, loss=0.5]\n" % n for n in range(1, 701))
    assert diagnose([bars + b"Killed\n"]).steps == 700
