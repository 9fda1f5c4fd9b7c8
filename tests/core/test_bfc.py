"""TensorFlow's allocator, rule by rule: sizes worked out from bfc_allocator.cc by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner_app.core.replay.bfc import Allocator, rounded

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def one_region(size_bytes: int) -> Allocator:
    """As a GPU's is without memory growth."""
    return Allocator(size_bytes, growth=False)


def served(allocator: Allocator, request_bytes: int) -> int:
    """How large the chunk is that serves a request."""
    return allocator.chunk_bytes(allocator.allocate(request_bytes))


def holes(*sizes: int) -> tuple[Allocator, list[int]]:
    """An allocator with free chunks of these sizes, each between two that are in use, and a large rest."""
    allocator = one_region(GIB)
    allocator.allocate(1)
    found = []
    for size in sizes:
        found.append(allocator.allocate(size))
        allocator.allocate(1)
    for chunk in found:
        allocator.free(chunk)
    return allocator, found


def test_that_a_request_too_large_for_the_holes_reaches_further_than_what_is_in_use():
    allocator = one_region(GIB)
    first, _, _ = (allocator.allocate(MIB) for _ in range(3))
    allocator.free(first)
    assert (allocator.in_use_bytes, allocator.reach_bytes) == (2 * MIB, 3 * MIB)
    allocator.allocate(2 * MIB)
    assert (allocator.in_use_bytes, allocator.reach_bytes) == (4 * MIB, 5 * MIB)


@pytest.mark.parametrize(("request_bytes", "chunk_bytes"), [(1, 256), (256, 256), (257, 512), (1000, 1024)])
def test_that_requests_are_rounded_to_256_bytes(request_bytes, chunk_bytes):
    assert rounded(request_bytes) == chunk_bytes
    assert served(one_region(MIB), request_bytes) == chunk_bytes


def test_that_a_chunk_twice_as_large_is_split():
    assert served(one_region(2 * MIB), MIB) == MIB


def test_that_a_chunk_less_than_twice_as_large_is_handed_out_whole():
    assert served(one_region(2 * MIB), MIB + 1) == 2 * MIB


def test_that_a_chunk_with_128_mib_to_spare_is_split_all_the_same():
    assert served(one_region(700 * MIB), 572 * MIB) == 572 * MIB  # 128 to spare
    assert served(one_region(700 * MIB), 573 * MIB) == 700 * MIB  # 127


def test_that_four_million_bytes_take_four_mib_as_was_measured():
    allocator = Allocator(GIB)
    assert served(allocator, 4_000_000) == 4_194_304
    assert allocator.in_use_bytes == 4_194_304


def test_that_the_smallest_hole_that_is_large_enough_is_taken():
    allocator, (_large, small) = holes(4 * KIB, 2 * KIB)
    assert allocator.allocate(1536) == small
    assert allocator.chunk_bytes(small) == 2 * KIB  # less than twice 1536: whole


def test_that_of_two_equal_holes_the_one_with_the_lower_address_is_taken():
    allocator = one_region(GIB)
    chunks = [allocator.allocate(KIB) for _ in range(4)]
    allocator.free(chunks[2])
    allocator.free(chunks[0])
    assert allocator.allocate(KIB) == chunks[0]


def test_that_a_hole_too_small_in_the_requests_own_bin_is_passed_over():
    # 2304, 3 KiB and 3.9 KiB share a bin (2 to 4 KiB); 4 KiB is the next one's smallest.
    allocator, (_, larger) = holes(2304, 4 * KIB)
    assert allocator.allocate(3 * KIB) == larger


def test_that_everything_from_256_mib_on_shares_the_last_bin():
    allocator, (first, second) = holes(300 * MIB, 290 * MIB)
    assert allocator.allocate(280 * MIB) == second
    assert allocator.allocate(280 * MIB) == first


def test_that_free_neighbours_become_one_chunk():
    allocator = one_region(2 * MIB)
    first, second, third, fourth = (allocator.allocate(512 * KIB) for _ in range(4))
    for chunk in (first, third, second, fourth):
        allocator.free(chunk)
    assert served(allocator, 2 * MIB) == 2 * MIB


def test_that_regions_double_from_2_mib_on():
    allocator = Allocator(GIB)
    pools = []
    for _ in range(8):
        allocator.allocate(2 * MIB)
        pools.append(allocator.pool_bytes // MIB)
    assert pools == [2, 6, 6, 14, 14, 14, 14, 30]  # regions of 2, 4, 8 and 16


def test_that_a_region_enlarged_for_a_request_does_not_double_the_next_one():
    allocator = Allocator(GIB)
    allocator.allocate(5 * MIB)
    assert allocator.pool_bytes == 8 * MIB
    allocator.allocate(8 * MIB)
    assert allocator.pool_bytes == (8 + 8) * MIB
    allocator.allocate(16 * MIB)
    assert allocator.pool_bytes == (8 + 8 + 16) * MIB


def test_that_regions_are_never_joined():
    allocator = Allocator(GIB)
    first, second = allocator.allocate(2 * MIB), allocator.allocate(4 * MIB)
    assert allocator.pool_bytes == 6 * MIB
    allocator.free(first)
    allocator.free(second)
    allocator.allocate(6 * MIB)
    assert allocator.pool_bytes == (6 + 8) * MIB


def test_that_the_last_region_is_what_the_limit_leaves():
    allocator = Allocator(5 * MIB)
    allocator.allocate(2 * MIB)
    assert served(allocator, 2 * MIB) == 3 * MIB
    assert allocator.pool_bytes == 5 * MIB


def test_that_a_request_beyond_the_limit_is_refused_and_changes_nothing():
    allocator = Allocator(6 * MIB)
    allocator.allocate(2 * MIB)
    assert allocator.allocate(5 * MIB) == -1
    assert (allocator.in_use_bytes, allocator.peak_bytes, allocator.pool_bytes) == (2 * MIB, 2 * MIB, 2 * MIB)
    assert allocator.allocate(4 * MIB) >= 0


def test_that_memory_runs_out_with_enough_free_in_pieces():
    allocator = one_region(4 * MIB)
    chunks = [allocator.allocate(MIB) for _ in range(4)]
    allocator.free(chunks[0])
    allocator.free(chunks[2])
    assert allocator.in_use_bytes == 2 * MIB
    assert allocator.allocate(2 * MIB) == -1


def test_that_the_peak_stays_when_memory_is_given_back():
    allocator = one_region(GIB)
    chunk = allocator.allocate(3 * MIB)
    allocator.free(chunk)
    allocator.allocate(MIB)
    assert (allocator.in_use_bytes, allocator.peak_bytes) == (MIB, 3 * MIB)


# A positive number asks for so many bytes, zero and below give back one of the chunks that are held.
MOVES = st.lists(st.integers(-20, 0) | st.integers(1, 3 * MIB) | st.sampled_from([300 * MIB, 129 * MIB]), max_size=60)


@settings(deadline=None, derandomize=True)
@given(moves=MOVES, growth=st.booleans(), limit_mib=st.integers(2, 2000))
def test_that_chunks_tile_their_regions_whatever_is_taken_and_given_back(moves, growth, limit_mib):
    allocator = Allocator(limit_mib * MIB, growth)
    held: list[tuple[int, int]] = []
    most = 0
    for move in moves:
        if move > 0:
            chunk = allocator.allocate(move)
            if chunk >= 0:
                held.append((chunk, move))
        elif held:
            allocator.free(held.pop(-move % len(held))[0])
        most = max(most, allocator.in_use_bytes)
        assert allocator.in_use_bytes == sum(allocator.chunk_bytes(chunk) for chunk, _ in held)
        assert all(allocator.chunk_bytes(chunk) >= rounded(request) for chunk, request in held)
        assert sum(request for _, request in held) <= allocator.in_use_bytes <= allocator.pool_bytes
        assert allocator.pool_bytes <= allocator.limit_bytes
        assert allocator.peak_bytes == most
        assert_tiled(allocator, {chunk for chunk, _ in held})


def assert_tiled(allocator: Allocator, held: set[int]) -> None:
    """Chunks lie end to end from zero to the size of the pool, held or free, never two free ones side by side."""
    free = {chunk for each in allocator._bins for _, _, chunk in each}
    chunks = sorted(free | held, key=lambda chunk: allocator._address[chunk])
    end = 0
    for chunk in chunks:
        assert allocator._address[chunk] == end
        end += allocator.chunk_bytes(chunk)
        after = allocator._after[chunk]
        assert after not in free or chunk in held
    assert end == allocator.pool_bytes
