"""What every GPU of a mesh holds of a model's state, to the byte.

placed = place(variables, layout, Mesh(2, 4))
placed.device_bytes, placed.replicated_bytes
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from planner_app.core.model.trace import Role
from planner_app.core.sharding.layout import Axes, Layout
from planner_app.core.sharding.mesh import Mesh
from planner_app.errors import SetupError

NAMED_IN_A_SENTENCE = 3


@dataclass(frozen=True, slots=True)
class StateVariable:
    """A variable that lives from step to step.

    Attributes:
        like: The path of the weight whose place it takes: of an optimizer's slots. "" for one with a place of its own.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    item_bytes: int
    role: Role
    layer: str = ""
    like: str = ""

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.item_bytes


@dataclass(frozen=True, slots=True)
class Placed:
    """A variable on a mesh: `device_bytes` of it lie on each GPU."""

    variable: StateVariable
    axes: Axes
    device_bytes: int

    @property
    def is_replicated(self) -> bool:
        return self.device_bytes == self.variable.bytes


@dataclass(frozen=True, slots=True)
class Placement:
    """All variables of a step on a mesh, with the rules that put them there."""

    mesh: Mesh
    layout: Layout
    variables: tuple[Placed, ...]

    @property
    def device_bytes(self) -> int:
        return sum(each.device_bytes for each in self.variables)

    @property
    def whole_bytes(self) -> int:
        """Of the state on one GPU alone."""
        return sum(each.variable.bytes for each in self.variables)

    @property
    def replicated_bytes(self) -> int:
        """On each GPU, of variables that every GPU has whole."""
        return sum(each.device_bytes for each in self.variables if each.is_replicated)

    def largest_replicated(self, count: int = NAMED_IN_A_SENTENCE) -> tuple[Placed, ...]:
        found = [each for each in self.variables if each.is_replicated]
        return tuple(sorted(found, key=lambda each: -each.device_bytes)[:count])


def place(variables: Iterable[StateVariable], layout: Layout, mesh: Mesh) -> Placement:
    """
    Raises:
        SetupError: A dimension can't be cut evenly, or a rule has another number of dimensions than its variable.
    """
    placed = []
    for variable in variables:
        axes = layout.axes(variable.like or variable.path)
        placed.append(Placed(variable, axes, share_bytes(variable, axes, mesh)))
    return Placement(mesh, layout, tuple(placed))


def share_bytes(variable: StateVariable, axes: Axes, mesh: Mesh) -> int:
    """Of one GPU."""
    if len(axes) > len(variable.shape):
        raise SetupError(
            f"The layout has {len(axes)} dimensions for {variable.path!r}, which has {len(variable.shape)}: "
            f"{list(variable.shape)}."
        )
    return prod(_cut(variable, axes, mesh)) * variable.item_bytes


def _cut(variable: StateVariable, axes: Axes, mesh: Mesh) -> Iterator[int]:
    for place, size in enumerate(variable.shape):
        shares = mesh.size(axes[place]) if place < len(axes) else 1
        if size % shares:
            raise SetupError(
                f"{variable.path!r} {list(variable.shape)}: dimension {place} of {size} can't be cut into {shares} "
                f"equal shares for the {axes[place]} axis of a {mesh} mesh."
            )
        yield size // shares
