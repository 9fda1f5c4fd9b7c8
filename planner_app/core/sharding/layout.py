"""Which dimension of which variable lies on which axis of a mesh, said by patterns of variable paths.

    layout = Layout(LayoutName.FILE, (Rule(r".*dense.*/kernel", (None, "model")),))
    layout.axes("dense_1/kernel")        # (None, "model"): the second dimension is shared out over the model axis
    layout.axes("dense_1/bias")          # (): replicated

A pattern has to match a whole path, and only one of them may: the rules of `keras.distribution.LayoutMap`.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from planner_app.core.sharding.mesh import BATCH, MODEL
from planner_app.errors import SetupError

Axes = tuple[str | None, ...]
MOST_LETTERS, MOST_REPEATS = 1000, 4
REPEATS = re.compile(r"(?<!\\)(?:\)(?=[*+{])|[*+{])")


class LayoutName(StrEnum):
    """Where the rules of a layout come from."""

    DATA = "data"  # every variable on every GPU: keras.distribution.DataParallel
    AUTO = "auto"  # made for the model by rules that can be looked at and edited
    OWN = "own"  # the model class' own get_layout_map
    FSDP = "fsdp"  # every variable shared out over the whole mesh
    FILE = "file"  # the user's


@dataclass(frozen=True, slots=True)
class Rule:
    pattern: str
    axes: Axes

    def __str__(self) -> str:
        return f"{self.pattern} -> ({', '.join(axis or '-' for axis in self.axes)})"


@dataclass(frozen=True, slots=True)
class Layout:
    """Attributes:
    rules: Empty for a name that is resolved for a model and a mesh first, see `sharding.made`.
    file: What a user's own layout is called.
    """

    name: LayoutName = LayoutName.DATA
    rules: tuple[Rule, ...] = ()
    file: str = ""

    def __str__(self) -> str:
        return self.file or str(self.name)

    def __post_init__(self) -> None:
        for rule in self.rules:
            _check(rule.pattern)
            unknown = [axis for axis in rule.axes if axis not in (None, BATCH, MODEL)]
            if unknown:
                raise SetupError(
                    f"Layout rule {rule.pattern!r} names the axis {unknown[0]!r}: "
                    f"expected {BATCH!r}, {MODEL!r} or null."
                )
            used = [axis for axis in rule.axes if axis is not None]
            if len(used) != len(set(used)):
                raise SetupError(f"Layout rule {rule.pattern!r} puts two dimensions on one axis: {rule.axes}.")

    def axes(self, path: str) -> Axes:
        """Of the variable with this path; () where no rule says anything."""
        exact = [rule for rule in self.rules if rule.pattern == path]
        found = exact or [rule for rule in self.rules if _pattern(rule.pattern).fullmatch(path)]
        if len(found) > 1:
            raise SetupError(
                f"Two rules of the layout match the variable {path!r}: {found[0].pattern!r} and {found[1].pattern!r}. "
                "Keras takes only one; make one of them narrower."
            )
        return found[0].axes if found else ()


REPLICATED = Layout()


def _check(pattern: str) -> None:
    """Matching takes time that multiplies with each repetition, and has no end with one inside another."""
    repeats = REPEATS.findall(pattern)
    if len(pattern) > MOST_LETTERS or len(repeats) > MOST_REPEATS or ")" in repeats:
        raise SetupError(
            f"Layout rule {pattern!r:.80} takes too long to match: expected at most {MOST_LETTERS} letters and "
            f"{MOST_REPEATS} of * + {{, none of them behind a bracket."
        )
    try:
        _pattern(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise SetupError(f"Layout rule {pattern!r} is not a regular expression: {error}.") from error


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)
