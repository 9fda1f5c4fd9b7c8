"""Lines of operations: what was to be allocated, for whom, where it was copied from, what XLA made of it."""

import re

from planner_app.core.doctor.gathering import Gathering, short
from planner_app.core.doctor.lines import Line
from planner_app.core.doctor.of_allocator import COMPILED
from planner_app.core.doctor.seen import MOST_EVIDENCE, MOST_NAMES
from planner_app.core.doctor.signs import bytes_of

Found = re.Match[str]


def oom(gathering: Gathering, found: Found, line: Line) -> None:
    shape = _sizes(found["shape"])
    allocator = found["allocator"] or ""
    report = gathering.last(allocator)
    if report is None or (report.shape is not None and report.shape != shape):
        report = gathering.new("oom", line, allocator)
    report.device = report.device or short(found["device"])
    report.allocator = report.allocator or allocator
    if report.shape is None:
        report.shape, report.dtype = shape, found["dtype"] or ""
        report.temporary = found["temporary"] is not None
        report.keep(line)


def kernel(gathering: Gathering, found: Found, _line: Line) -> None:
    report = gathering.last()
    if report is not None and not report.kernel:
        report.kernel = found["file"]


def unshaped(gathering: Gathering, _found: Found, line: Line) -> None:
    if gathering.last() is None:
        gathering.new("oom", line)


def node(gathering: Gathering, found: Found, line: Line) -> None:
    report, operation = gathering.last(), found["op"]
    if operation == COMPILED:
        return
    if report is None:
        gathering.announced = operation
    elif not report.operation:
        report.operation = operation
        report.keep(line)


def eager(gathering: Gathering, found: Found, line: Line) -> None:
    report, operation = gathering.last(), found["op"]
    if report is None or operation.startswith("__"):
        return
    if not report.operation:
        report.operation = operation
        report.keep(line)
    report.eager = report.eager or report.operation == operation


def wrapped(gathering: Gathering, found: Found, _line: Line) -> None:
    """`{{function_node __wrapped__AddV2_device_...}}`: an operation that ran by itself."""
    report = gathering.last()
    if report is not None and report.operation in ("", found["op"]):
        report.operation, report.eager = found["op"], True


def made(gathering: Gathering, found: Found, line: Line) -> None:
    """A traceback through Keras' initializers or optimizers: what an operation by itself was making."""
    report = gathering.last()
    if report is not None and not report.made:
        report.made = "optimizer" if found["optimizers"] else "weights"
        report.keep(line)


def during(gathering: Gathering, found: Found, _line: Line) -> None:
    report = gathering.last()
    if report is not None and not report.during:
        report.during = "prediction" if found["what"].startswith("predict") else "validation"


def usage(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.last(found["allocator"]) or gathering.last()
    if report is None:
        return
    report.keep(line)
    report.accounts += 1


def holder(gathering: Gathering, found: Found, _line: Line) -> None:
    report, size = gathering.last(), bytes_of(found, "size")
    if report is not None and size is not None and report.accounts == 1 and len(report.holders) < MOST_NAMES:
        report.holders[found["op"]] += size


def copy(gathering: Gathering, _found: Found, line: Line) -> None:
    report = gathering.last()
    if report is None or (report.shape is not None and not report.copied):
        report = gathering.new("copy", line)
    report.copied = True
    report.keep(line)


def copy_of(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.last() or gathering.new("copy", line)
    report.copied_for = report.copied_for or found["op"]
    report.device = report.device or short(found["device"])
    report.keep(line)


def xla(gathering: Gathering, found: Found, line: Line) -> None:
    size, report = bytes_of(found, "size"), gathering.last()
    if report is None or not _about(report.requested, size):
        report = gathering.new("xla", line)
        report.requested, report.exact = size, found["size_unit"] in (None, "bytes")
    report.xla = True
    report.keep(line)


def xla_part(gathering: Gathering, found: Found, line: Line) -> None:
    report, size = gathering.last(), bytes_of(found, "size")
    if report is not None and report.xla and size is not None and found["part"] not in report.xla_parts:
        report.xla_parts[found["part"]] = size
        report.keep(line)


def xla_buffer(gathering: Gathering, found: Found, _line: Line) -> None:
    report, size = gathering.last(), bytes_of(found, "size")
    if report is not None and report.xla_parts and size is not None and len(report.xla_buffers) < MOST_EVIDENCE:
        report.xla_buffers.append((size, ""))


def xla_operator(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.last()
    if report is not None and report.xla_buffers and not report.xla_buffers[-1][1]:
        report.xla_buffers[-1] = (report.xla_buffers[-1][0], found["op"])
        report.keep(line)


def xla_shape(gathering: Gathering, found: Found, _line: Line) -> None:
    """Of the largest buffer, which comes first."""
    report = gathering.last()
    if report is not None and len(report.xla_buffers) == 1 and report.shape is None:
        report.shape, report.dtype = _sizes(found["shape"]), found["dtype"]


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(",") if size)


def _about(one: int | None, other: int | None) -> bool:
    """The same size, one of them in human units."""
    return one is not None and other is not None and abs(one - other) <= max(one, other) // 100 + 256


HANDLERS = {
    **{
        handler.__name__: handler
        for handler in (oom, kernel, unshaped, node, eager, wrapped, made, during, usage, holder, copy, copy_of)
    },
    **{handler.__name__: handler for handler in (xla, xla_part, xla_buffer, xla_operator, xla_shape)},
}
