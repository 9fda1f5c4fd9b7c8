"""Ways to share a model out over so many GPUs: which fit, what each GPU holds, and why the others don't.

for option in ...: option.fits, option.placement, option.largest, option.reason
"""

from dataclasses import dataclass, replace

from planner_app.core.estimate.largest import Largest
from planner_app.core.estimate.level import Source
from planner_app.core.model.trace import Role
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import BATCH, Mesh, meshes
from planner_app.core.sharding.placement import Placed, Placement
from planner_app.errors import SetupError
from planner_app.units import format_bytes


@dataclass(frozen=True, slots=True)
class ShardingOption:
    """One mesh with one layout.

    Attributes:
        placement: What lies where; None if the layout can't be made for this mesh.
        largest: The largest batch; None if nothing could be asked.
        reason: Why it does not fit, in a sentence; "" if it does.
        travel_bytes: What one GPU sends to the others in a step; counted by the compiler where it was asked, otherwise
            that of the weights alone.
    """

    mesh: Mesh
    layout: Layout
    placement: Placement | None = None
    largest: Largest | None = None
    reason: str = ""
    travel_bytes: int = 0

    @property
    def fits(self) -> bool:
        return self.largest is not None and self.largest.batch > 0

    @property
    def compiled(self) -> bool:
        return self.largest is not None and self.largest.level.source is not Source.ESTIMATE

    @property
    def cuts_nothing(self) -> bool:
        """No dimension of any weight can be cut into so many equal shares."""
        placed = self.placement if self.layout.name is not LayoutName.DATA else None
        return placed is not None and not placed.layout.rules

    @property
    def batch(self) -> int:
        return self.largest.batch if self.largest is not None else 0


def candidates(gpus: int, state: ModelState) -> tuple[tuple[Mesh, Layout], ...]:
    """Every mesh, with the layouts that mean something on it."""
    found = []
    for mesh in meshes(gpus):
        names = [LayoutName.DATA] if mesh.model == 1 else [LayoutName.AUTO]
        names += [LayoutName.OWN] if state.own is not None else []
        names += [LayoutName.FSDP] if gpus > 1 else []
        found += [(mesh, Layout(name)) for name in names]
    return tuple(found)


def placed_option(state: ModelState, mesh: Mesh, layout: Layout, capacity_bytes: int) -> ShardingOption:
    """Before anything is traced: what does not fit with its state alone is not asked further."""
    try:
        placement = state.on(mesh, layout)
    except SetupError as error:
        return ShardingOption(mesh, layout, reason=str(error))
    option = ShardingOption(mesh, layout, placement, travel_bytes=weights_travel_bytes(placement))
    if placement.device_bytes > capacity_bytes:
        taken, most = format_bytes(placement.device_bytes), format_bytes(capacity_bytes)
        return replace(option, reason=f"The state alone takes {taken} of {most} on each GPU{_because(placement)}.")
    return option


def with_largest(option: ShardingOption, largest: Largest, travel_bytes: int | None) -> ShardingOption:
    reason = ""
    if not largest.batch and option.placement is not None:
        needed, most = format_bytes(largest.level.peak_bytes), format_bytes(largest.capacity_bytes)
        state = format_bytes(option.placement.device_bytes)
        reason = f"One sample in each share of the batch takes {needed} of {most}, {state} of it state."
    return replace(
        option,
        largest=largest,
        reason=reason,
        travel_bytes=option.travel_bytes if travel_bytes is None else travel_bytes,
    )


def best_first(options: tuple[ShardingOption, ...]) -> tuple[ShardingOption, ...]:
    """The largest batch first; of equal ones, what sends least."""
    return tuple(sorted(options, key=lambda each: (-each.batch, each.travel_bytes)))


def weights_travel_bytes(placement: Placement) -> int:
    """Gradients that are added up over the data axis, and weights gathered along it, forward and backward, as a ring
    sends them. Results of layers that are added up over the model axis are not in it."""
    shares = placement.mesh.data
    if shares == 1:
        return 0
    total = 0
    for each in placement.variables:
        if each.variable.role not in (Role.WEIGHT, Role.FROZEN):
            continue
        trained = each.variable.role is Role.WEIGHT
        if BATCH in each.axes:
            whole = each.device_bytes * shares
            total += (3 if trained else 2) * whole * (shares - 1) // shares
        elif trained:
            total += 2 * each.device_bytes * (shares - 1) // shares
    return total


def _because(placement: Placement) -> str:
    share = placement.replicated_bytes / max(placement.device_bytes, 1)
    if share < 0.1:
        return ", and all of it is shared out already"
    names = ", ".join(map(_named, placement.largest_replicated(2)))
    return f"; {format_bytes(placement.replicated_bytes)} of it lies on every GPU, such as {names}"


def _named(placed: Placed) -> str:
    return f"{placed.variable.path} ({format_bytes(placed.device_bytes)})"
