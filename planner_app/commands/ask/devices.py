"""`plimsoll devices --search L4`: the known devices, the memory they report and how much of it TensorFlow gets."""

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.core.buying.machines import providers
from planner_app.core.hardware.device import Device, Price
from planner_app.core.hardware.prices import cheapest, is_old
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.errors import DeviceError
from planner_app.files.devices import machines
from planner_app.files.devices.catalogue import catalogue, schema, user_file
from planner_app.files.devices.machines import market
from planner_app.files.devices.prices import TEMPLATE, keep_prices, read_prices
from planner_app.units import format_bytes

HELP = "list the known devices"
UNKNOWN = "-"
NARROW = 100  # on fewer columns only names and memory are shown


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--search",
        metavar="TEXT",
        default="",
        help="only devices with these words in their name, architecture or segment",
    )
    parser.add_argument(
        "--import-prices",
        metavar="FILE",
        help="add prices and quotes to your own list, from a table (CSV, XLSX or ODS) as --price-template begins it",
    )
    parser.add_argument("--price-template", action="store_true", help="print the header of a table of prices")
    parser.add_argument(
        "--machines",
        action="store_true",
        help="list the machines that cards go into, and where to put your own; with --json as a file to begin with",
    )
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of your own device list")
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    if options.schema:
        sys.stdout.write(schema().decode() + "\n")
        return 0
    if options.price_template:
        sys.stdout.write(TEMPLATE)
        return 0
    if options.machines:
        if options.json:
            sys.stdout.write(machines.as_file(market()).decode() + "\n")
        else:
            _show_machines(terminal.output())
        return 0
    if options.import_prices:
        return _import(Path(options.import_prices))
    found = catalogue().search(options.search)
    if not options.search and not options.json:
        found = tuple(device for device in found if device.slice_of is None)
    if not found:
        raise DeviceError(
            f"No device has {options.search!r} in its name, architecture or segment: try fewer words, give a memory "
            f"size (--device 24GiB), or add the device to {user_file()}."
        )
    if options.json:
        terminal.write_json({"devices": [as_json(device) for device in found]})
    else:
        show(found, terminal.output())
    return 0


def _import(path: Path) -> int:
    users = user_file()
    lines = read_prices(path, catalogue(), date.today())
    keep_prices(lines, users)
    catalogue.cache_clear()
    names = dict.fromkeys(line.device.name for line in lines)
    prices = "1 price" if len(lines) == 1 else f"{len(lines)} prices"
    told = f"Added {prices} of {len(names)} {'device' if len(names) == 1 else 'devices'} to {users}: {', '.join(names)}"
    terminal.output().print(Text(told))
    return 0


def _show_machines(console: Console) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("machine")
    for title in ("GPUs", "slots", "watts", "memory", "price"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in market().chassis:
        price = UNKNOWN if each.price is None else f"${each.price.usd:,.0f}"
        slots = "modules" if each.modules else str(each.slots)
        memory = format_bytes(each.memory_bytes)
        table.add_row(Text(each.name), str(each.most_gpus), slots, f"{each.supply_watts:,}", memory, price)
    console.print(table)
    known = len({(each.provider, each.name) for each in market().cloud})
    console.print(Text(f"\nThey are templates. Your own go into {machines.user_file()}: begin with"))
    console.print(Text("    plimsoll devices --machines --json > machines.json"))
    console.print(Text(f"{known} machines of {', '.join(providers(market().cloud))} are known for rent."))


def as_json(device: Device) -> dict[str, Any]:
    """Everything known about the device, with sources; unknown values are null."""
    known = {field.name: getattr(device, field.name) for field in fields(device)}
    known["provenance"] = dict(device.provenance)
    built: dict[str, Any] = msgspec.to_builtins(known)
    return built | {"total_is_derived": device.total_is_derived, "allocator_limit_bytes": _limit(device)}


def show(devices: tuple[Device, ...], console: Console) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("device", overflow="fold")
    for title in ("reports", "TensorFlow gets"):
        table.add_column(title, justify="right", no_wrap=True)
    wide = console.width >= NARROW
    for title in ("capability", "GB/s", "fp16 TFLOPS", "watts", "an hour") if wide else ():
        table.add_column(title, justify="right", no_wrap=True, style="dim")
    for device in devices:
        table.add_row(Text(device.name.removeprefix("NVIDIA ")), *_memory(device), *(_rest(device) if wide else ()))
    console.print(table)
    if any(device.total_is_derived for device in devices):
        console.print(Text("\n~ derived from the marketed size: what the driver reports is unknown", style="dim"))
    if not any(device.slice_of for device in devices):
        console.print(Text("MIG slices: plimsoll devices --search mig", style="dim"))


def _memory(device: Device) -> tuple[str, str]:
    limit = _limit(device)
    if device.total_bytes is None or limit is None:
        return UNKNOWN, UNKNOWN
    about = "~" if device.total_is_derived else ""
    return about + format_bytes(device.total_bytes), about + format_bytes(limit)


def _rest(device: Device) -> tuple[str, ...]:
    capability, bandwidth = device.compute_capability, device.bandwidth_bytes_per_second
    return (
        UNKNOWN if capability is None else f"{capability[0]}.{capability[1]}",
        UNKNOWN if bandwidth is None else f"{bandwidth / 1e9:.0f}",
        UNKNOWN if device.tflops.float16 is None else f"{device.tflops.float16:g}",
        UNKNOWN if device.tdp_watts is None else f"{device.tdp_watts}",
        _cheapest(device.cloud_prices),
    )


def _cheapest(prices: tuple[Price, ...]) -> str:
    least = cheapest(prices, today := date.today())
    if least is None:
        return UNKNOWN
    old = " (old)" if is_old(least, today) else ""
    return f"${least.usd:.2f}, {least.date[:7] if least.date else 'undated'}{old}"


def _limit(device: Device) -> int | None:
    return None if device.total_bytes is None else allocator_limit_bytes(device)
