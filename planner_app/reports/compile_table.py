"""Compile checks as a table: one row each, then the largest buffers of the last one."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.compile.check import CompileCheck
from planner_app.units import format_bytes

MOST_BUFFERS = 10
SHOWN_VERSIONS = ("tensorflow", "keras", "jax-cuda12-pjrt")


def show(checks: Sequence[CompileCheck], console: Console) -> None:
    console.print(_rows(checks))
    largest = max(checks, key=lambda check: check.total_bytes)
    console.print(_buffers(largest, several=len(checks) > 1))
    for warning in dict.fromkeys(warning for check in checks for warning in check.warnings):
        console.print(Text(f"! {warning}", style="yellow"))
    console.print(_made_by(largest))


def _rows(checks: Sequence[CompileCheck]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("device", overflow="fold")
    table.add_column("precision", overflow="fold")
    gets = f"{checks[0].setup.backend.label} gets"
    for title in ("batch", "arguments", "temporary", "in all", gets):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    table.add_column("s", justify="right", style="dim", no_wrap=True)
    for check in checks:
        compiled = check.compiled
        table.add_row(
            Text(check.device),
            str(check.setup.precision),
            str(check.setup.batch),
            format_bytes(compiled.argument_bytes),
            format_bytes(compiled.temp_bytes),
            Text(format_bytes(check.total_bytes), style="bold"),
            "-" if check.capacity_bytes is None else format_bytes(check.capacity_bytes),
            _verdict(check),
            "kept" if check.cached else f"{compiled.seconds:.0f}",
        )
    return table


def _verdict(check: CompileCheck) -> Text:
    if check.fits is None:
        return Text("")
    return Text("fits", style="green") if check.fits else Text("does not fit", style="red")


def _buffers(check: CompileCheck, *, several: bool) -> Table:
    where = f", {check.device}, batch {check.setup.batch}, {check.setup.precision}" if several else ""
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        title=Text(f"\nlargest temporary buffers at the peak{where}", style="dim"),
        title_justify="left",
    )
    table.add_column("layer", overflow="fold")
    table.add_column("operation", overflow="fold", style="dim")
    table.add_column("shape", overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    for buffer in check.compiled.buffers[:MOST_BUFFERS]:
        operation = buffer.operation.rpartition("/")[2] or buffer.name
        table.add_row(Text(buffer.layer or "-"), Text(operation), Text(buffer.shape), format_bytes(buffer.bytes))
    return table


def _made_by(check: CompileCheck) -> Text:
    versions = ", ".join(f"{name} {check.versions[name]}" for name in SHOWN_VERSIONS if name in check.versions)
    return Text(
        f"\nXLA's own figures ({versions}). They don't include what libraries choose on the GPU, such as cuDNN's "
        "workspace.",
        style="dim",
    )
