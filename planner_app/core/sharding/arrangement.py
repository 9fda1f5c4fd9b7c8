"""A model's state before it lies anywhere: the same for every mesh and layout."""

from dataclasses import dataclass
from math import prod

from planner_app.core.model.trace import Role
from planner_app.core.sharding.layout import Layout, Rule
from planner_app.core.sharding.made import made_layout
from planner_app.core.sharding.mesh import Mesh
from planner_app.core.sharding.placement import Placement, StateVariable, place


@dataclass(frozen=True, slots=True)
class ModelState:
    """Attributes:
    own: The rules of the model's own layout; None where its class has none.
    """

    variables: tuple[StateVariable, ...]
    own: tuple[Rule, ...] | None = None

    @property
    def trained_sizes(self) -> tuple[int, ...]:
        """Elements of each array that is trained."""
        return tuple(prod(each.shape) for each in self.variables if each.role is Role.WEIGHT)

    def on(self, mesh: Mesh, layout: Layout) -> Placement:
        """
        Raises:
            SetupError: The layout can't be made, or does not fit the mesh.
        """
        return place(self.variables, made_layout(layout, self.variables, mesh, self.own), mesh)
