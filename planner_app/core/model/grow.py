"""Larger inputs: larger images, longer sequences, more features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner_app.core.model.description import TensorShape
from planner_app.errors import SetupError
from planner_app.units import count_of

Sizes = tuple[tuple[str, tuple[int, ...]], ...]
GROWS = "N"
# Networks halve images up to five times, and pad or fail if that leaves a remainder.
PICTURE_STEP = 32
SEQUENCE_STEP = 16


@dataclass(frozen=True, slots=True)
class Growth:
    """Inputs that grow together, all in proportion.

    Attributes:
        what: "resolution", "length" or "width"; or the inputs as the user wrote them.
        inputs: Names, and for each dimension its size now and whether it grows.
        step: Sizes that are tried are multiples of this.
    """

    what: str
    inputs: tuple[tuple[str, tuple[tuple[int, bool], ...]], ...]
    step: int = 1

    @property
    def now(self) -> int:
        """The first size that grows: what others are in proportion to."""
        return next(size for _, dims in self.inputs for size, grows in dims if grows)

    def at(self, size: int) -> Sizes:
        now = self.now
        return tuple(
            (name, tuple(max(1, round(each * size / now)) if grows else each for each, grows in dims))
            for name, dims in self.inputs
        )

    def into(self, sizes: Sizes, size: int) -> Sizes:
        """Sizes of a setup, with these in place of its own."""
        return tuple((dict(sizes) | dict(self.at(size))).items())

    def text(self, size: int) -> str:
        return "; ".join(f"{name} {','.join(map(str, dims))}" for name, dims in self.at(size))


def growths(inputs: Sequence[TensorShape], sizes: Sizes = ()) -> tuple[Growth, ...]:
    """How a model's inputs can grow, judged by their shapes: images, sequences, feature vectors.

    `sizes` are those of the setup, which take precedence over the model's own.
    """
    given = dict(sizes)
    found: dict[str, list[tuple[str, tuple[tuple[int, bool], ...]]]] = {}
    for tensor in inputs:
        shape = given.get(tensor.name, tensor.shape[1:])
        known = tuple(size for size in shape if isinstance(size, int))
        if len(known) < len(shape) or not known:
            continue  # a size that is still unknown
        for what, growing in _ways(known, whole_numbers="int" in tensor.dtype).items():
            dims = tuple((size, place in growing) for place, size in enumerate(known))
            found.setdefault(what, []).append((tensor.name, dims))
    return tuple(_together(what, parts) for what, parts in found.items())


def _ways(shape: tuple[int, ...], *, whole_numbers: bool) -> dict[str, tuple[int, ...]]:
    if len(shape) >= 3:
        return {"resolution": tuple(range(len(shape) - 1))}
    if len(shape) == 2:
        return {"length": (0,), "width": (1,)}
    return {"length": (0,)} if whole_numbers else {"width": (0,)}


def _together(what: str, parts: list[tuple[str, tuple[tuple[int, bool], ...]]]) -> Growth:
    """The inputs of the first one's size: a sequence and its mask, two images side by side."""
    first = Growth(what, tuple(parts[:1])).now
    alike = tuple(part for part in parts if Growth(what, (part,)).now == first)
    return Growth(what, alike, _step(first, PICTURE_STEP if what == "resolution" else SEQUENCE_STEP))


def _step(size: int, most: int) -> int:
    """The largest power of two that the size is a multiple of."""
    return min(size & -size, most)


def parse_growth(texts: Sequence[str], inputs: Sequence[TensorShape], sizes: Sizes = ()) -> Growth:
    """`image=N,N,3`: the sizes marked N grow, in proportion to what they are now."""
    given, shapes = dict(sizes), {tensor.name: tensor.shape[1:] for tensor in inputs}
    parts = []
    for text in texts:
        name, equals, marks = text.partition("=")
        wanted = [mark.strip() for mark in marks.split(",")]
        if name not in shapes:
            raise SetupError(f"--grow {text}: the model has no input {name!r}, but {', '.join(shapes) or 'none'}.")
        now = given.get(name, shapes[name])
        if not equals or len(wanted) != len(now) or GROWS not in wanted:
            example = ",".join([GROWS, *map(str, now[1:])])
            raise SetupError(
                f"--grow {text}: expected {len(now)} sizes, with N for what grows, as in {name}={example}."
            )
        parts.append((name, tuple(_marked(text, mark, size) for mark, size in zip(wanted, now, strict=True))))
    if not parts:
        raise SetupError("No input to grow was named: expected one, as in --grow image=N,N,3.")
    whole = Growth(", ".join(texts), tuple(parts))
    return replace(whole, step=_step(whole.now, SEQUENCE_STEP))


def _marked(text: str, mark: str, size: int | str) -> tuple[int, bool]:
    if mark == GROWS:
        if not isinstance(size, int):
            raise SetupError(f"--grow {text}: the model does not fix the current size of N: set it with --set.")
        return size, True
    if not count_of(mark):
        raise SetupError(f"--grow {text}: {mark!r} is not a size: expected a positive integer, or N.")
    return count_of(mark), False
