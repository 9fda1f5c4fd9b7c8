"""Larger inputs, and the largest that fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from planner_app.core.estimate.largest_input import FURTHEST, MOST_TRIES, Tried, largest_size
from planner_app.core.model.description import TensorShape
from planner_app.core.model.grow import Growth, growths, parse_growth
from planner_app.errors import SetupError

IMAGE = TensorShape("image", ("batch", 224, 224, 3), "float32")
TOKENS = TensorShape("tokens", ("batch", 128), "int32")
MASK = TensorShape("mask", ("batch", 128), "int32")
ROWS = TensorShape("rows", ("batch", 40, 16), "float32")
UNKNOWN = TensorShape("text", ("batch", "length"), "int32")


def square(growth: Growth, per_pixel: int, constant: int = 0):
    """Memory that goes with the square of the size."""
    return lambda size: Tried(size, constant + per_pixel * size * size)


def test_that_inputs_grow_as_what_they_look_like():
    (resolution,) = growths([IMAGE])
    assert (resolution.what, resolution.now, resolution.step) == ("resolution", 224, 32)
    assert resolution.at(448) == (("image", (448, 448, 3)),)
    assert [(way.what, way.now) for way in growths([ROWS])] == [("length", 40), ("width", 16)]
    assert [way.what for way in growths([TensorShape("x", ("batch", 64), "float32")])] == ["width"]


def test_that_a_sequence_and_its_mask_grow_together():
    (length,) = growths([TOKENS, MASK, TensorShape("type", ("batch", 1), "int32")])
    assert length.at(256) == (("tokens", (256,)), ("mask", (256,)))


def test_that_pictures_keep_their_proportions():
    (resolution,) = growths([TensorShape("image", ("batch", 480, 640, 3), "uint8")])
    assert resolution.at(240) == (("image", (240, 320, 3)),)


def test_that_an_unknown_size_can_be_given():
    assert growths([UNKNOWN]) == ()
    assert growths([UNKNOWN], (("text", (96,)),))[0].now == 96


def test_that_the_user_says_what_grows():
    growth = parse_growth(["rows=N,16"], [ROWS])
    assert growth.at(80) == (("rows", (80, 16)),)
    assert parse_growth(["rows=40,N"], [ROWS]).at(32) == (("rows", (40, 32)),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("picture=N,N,3", "has no input 'picture', but image"),
        ("image=N,3", "expected 3 sizes"),
        ("image=224,224,3", "with N for what grows"),
        ("image", "expected 3 sizes"),
        ("image=N,N,x", "'x' is not a size"),
        ("image=N,N,0", "'0' is not a size"),
    ],
)
def test_that_a_mistake_is_reported(text, why):
    with pytest.raises(SetupError, match=why):
        parse_growth([text], [IMAGE])


def test_that_what_grows_must_have_a_size():
    with pytest.raises(SetupError, match="set it with --set"):
        parse_growth(["text=N"], [UNKNOWN])


def test_that_the_largest_size_is_found_with_few_traces():
    (growth,) = growths([IMAGE])
    found = largest_size(square(growth, 1000, 10**8), growth, 10**9)
    assert found.size == 928  # (1e9 - 1e8) / 1000 = 948.7 squared, in steps of 32
    assert len(found.tried) <= 6
    assert found.need_bytes == 10**8 + 1000 * 928**2


def test_that_a_size_that_does_not_fit_is_made_smaller():
    (growth,) = growths([IMAGE])
    found = largest_size(square(growth, 10**5), growth, 10**9)
    assert found.size == 96  # 100 squared


def test_that_nothing_fitting_is_reported():
    (growth,) = growths([IMAGE])
    found = largest_size(square(growth, 1, 2 * 10**9), growth, 10**9)
    assert (found.size, found.why_no_more) == (0, "")


def test_that_a_size_the_model_cannot_have_is_an_end_with_a_reason():
    (growth,) = growths([IMAGE])

    def need(size: int) -> Tried:
        return Tried(size, size) if size <= 256 else Tried(size, None, "positions end at 256")

    found = largest_size(need, growth, 10**9)
    assert (found.size, found.why_no_more) == (256, "positions end at 256")


def test_that_memory_that_does_not_grow_ends_somewhere():
    (growth,) = growths([IMAGE])
    found = largest_size(lambda size: Tried(size, 1), growth, 10**9)
    assert found.size >= growth.now
    assert found.why_no_more == "nothing larger was tried"


@given(
    now=some.integers(1, 4096),
    constant=some.integers(0, 10**9),
    line=some.integers(0, 10**6),
    curve=some.integers(0, 10**4),
    limit=some.integers(1, 10**11),
)
def test_that_what_is_found_fits_and_the_next_does_not(now, constant, line, curve, limit):
    (growth,) = growths([TensorShape("tokens", ("batch", now), "int64")])

    def bytes_at(size: int) -> int:
        return constant + line * size + curve * size * size

    found = largest_size(lambda size: Tried(size, bytes_at(size)), growth, limit)
    assert len(found.tried) <= MOST_TRIES + 1
    if found.size:
        assert bytes_at(found.size) <= limit
        finished = len(found.tried) < MOST_TRIES and found.size < now * FURTHEST
        if finished:
            assert bytes_at(found.size + growth.step) > limit
    elif len(found.tried) < MOST_TRIES:
        assert bytes_at(growth.step) > limit
