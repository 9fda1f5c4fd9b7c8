"""Finds the operation that ran out of memory in the output of a process that died of it."""

import re

from planner_app.core.measure.measurement import OutOfMemory
from planner_app.units import parse_bytes

# bfc_allocator.cc: "ran out of memory trying to allocate 8.58MiB (rounded to 9000192)requested by op AddV2".
_RAN_OUT = re.compile(
    r"Allocator \((?P<allocator>\S+)\) ran out of memory trying to allocate (?P<size>[\d.]+\w+) "
    r"\(rounded to (?P<rounded>\d+)\)[^\n]*?requested by op ?(?P<operation>\S*)"
)


def out_of_memory(printed: str, during: str) -> OutOfMemory | None:
    """None if the output does not mention memory."""
    said = list(_RAN_OUT.finditer(printed))
    if not said:
        return None
    found = said[-1]  # the process survived earlier refusals
    return OutOfMemory(
        during=during,
        operation=found["operation"],
        requested_bytes=min(int(found["rounded"]), parse_bytes(found["size"])),
        message=found[0],
    )
