"""Ways to share a model out over GPUs, as a table and as a dictionary."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.sharding.options import ShardingOption
from planner_app.units import format_bytes


def show(options: Sequence[ShardingOption], device: str, console: Console) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("mesh", "layout", "batch", "state on each GPU", "replicated", "at that batch", "sent in a step"):
        table.add_column(heading, justify="left" if heading in ("mesh", "layout") else "right", no_wrap=True)
    for option in options:
        table.add_row(*_cells(option), style="" if option.fits else "red")
    console.print(
        Text(f"{options[0].mesh.gpus} x {device}, data x model", style="bold") if options else Text("No mesh.")
    )
    console.print(table)
    for option in options:
        if option.reason:
            console.print(Text(f"{option.mesh} {option.layout}: {option.reason}", style="red"))
    if whole := [f"{option.mesh} {option.layout}" for option in options if option.cuts_nothing]:
        console.print(
            Text(f"{', '.join(whole)}: nothing can be cut into equal shares, every variable lies on every GPU.")
        )
    if any(option.fits and not option.compiled for option in options):
        console.print(
            Text(
                "Batches are estimated, and what is sent counts weights alone: --exact asks XLA's compiler for each.",
                style="dim",
            )
        )


def sharding_dict(option: ShardingOption) -> dict[str, Any]:
    placed, largest = option.placement, option.largest
    return {
        "mesh": str(option.mesh),
        "layout": str(option.layout),
        "fits": option.fits,
        "batch": option.batch,
        "sure_batch": largest.sure_batch if largest else 0,
        "source": str(largest.level.source) if largest else None,
        "peak_bytes": largest.level.peak_bytes if largest else None,
        "capacity_bytes": largest.capacity_bytes if largest else None,
        "state_bytes": placed.device_bytes if placed else None,
        "replicated_bytes": placed.replicated_bytes if placed else None,
        "replicated": [each.variable.path for each in placed.largest_replicated()] if placed else [],
        "rules": {rule.pattern: list(rule.axes) for rule in placed.layout.rules} if placed else {},
        "travel_bytes": option.travel_bytes,
        "reason": option.reason,
    }


def _cells(option: ShardingOption) -> tuple[str, ...]:
    placed, largest = option.placement, option.largest
    return (
        str(option.mesh),
        str(option.layout),
        str(option.batch) if largest else "-",
        format_bytes(placed.device_bytes) if placed else "-",
        format_bytes(placed.replicated_bytes) if placed else "-",
        format_bytes(largest.level.peak_bytes) if largest else "-",
        format_bytes(option.travel_bytes) if placed else "-",
    )
