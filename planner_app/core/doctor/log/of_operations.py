"""Lines of operations: what was to be allocated, for whom, where it was copied from, what XLA made of it."""

from planner_app.core.doctor.log.gathering import Gathering, short
from planner_app.core.doctor.log.lines import Line
from planner_app.core.doctor.log.matching import Found, bytes_of, number_of, text_of
from planner_app.core.doctor.log.of_allocator import COMPILED
from planner_app.core.doctor.log.seen import MOST_EVIDENCE, MOST_NAMES

PROFILING = "Profiling failure on "
AUTOTUNER = "Autotuning failed for HLO"
ORIGINAL = "Original error: "
BEHIND_AUTOTUNER = 40  # lines: the operation that it tried kernels for stands between
CPU_CLIENT = "ut of memory allocating "  # how XLA's CPU client spells it


def oom(gathering: Gathering, found: Found, line: Line) -> None:
    shape = _sizes(text_of(found, "shape"))
    allocator = text_of(found, "allocator")
    report = gathering.last(allocator)
    if report is None or (report.shape is not None and report.shape != shape):
        report = gathering.new("oom", line, allocator)
    report.device = report.device or short(found.get("device"))
    report.allocator = report.allocator or allocator
    if report.shape is None:
        report.shape, report.dtype = shape, text_of(found, "dtype")
        report.temporary = bool(found.get("temporary"))
        report.keep(line)


def kernel(gathering: Gathering, found: Found, _line: Line) -> None:
    report = gathering.last()
    if report is not None and not report.kernel:
        report.kernel = text_of(found, "file")


def unshaped(gathering: Gathering, _found: Found, line: Line) -> None:
    if gathering.last() is None:
        gathering.new("oom", line)


def node(gathering: Gathering, found: Found, line: Line) -> None:
    report, operation = gathering.last(), text_of(found, "op")
    if operation == COMPILED:
        return
    if report is None:
        gathering.announced, gathering.announced_line = operation, line.number
    elif not report.operation:
        report.operation = operation
        report.keep(line)


def device_of_node(gathering: Gathering, found: Found, line: Line) -> None:
    """Where the operation of this very line ran: other nodes of a traceback may stand elsewhere."""
    report = gathering.last()
    if report is not None and not report.device and report.operation and report.last_line == line.number:
        report.device = short(found.get("device"))


def eager(gathering: Gathering, found: Found, line: Line) -> None:
    report, operation = gathering.last(), text_of(found, "op")
    if report is None or operation.startswith("__"):
        return
    if not report.operation:
        report.operation = operation
        report.keep(line)
    report.eager = report.eager or report.operation == operation


def wrapped(gathering: Gathering, found: Found, _line: Line) -> None:
    """`{{function_node __wrapped__AddV2_device_...}}`: an operation that ran by itself."""
    report = gathering.last()
    operation = text_of(found, "op")
    if report is not None and report.operation in ("", operation):
        report.operation, report.eager = operation, True


def made(gathering: Gathering, found: Found, line: Line) -> None:
    """A traceback through Keras' initializers or optimizers: what an operation by itself was making."""
    told = "optimizer" if found.get("optimizers") else "weights"
    report = gathering.trace("made", told, line)
    if report is not None and not report.made:
        report.made = told
        report.keep(line)


def during(gathering: Gathering, found: Found, line: Line) -> None:
    told = "prediction" if text_of(found, "what").startswith("predict") else "validation"
    report = gathering.trace("during", told, line)
    if report is not None and not report.during:
        report.during = told


def usage(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.last(text_of(found, "allocator")) or gathering.last()
    if report is None:
        return
    report.keep(line)
    report.accounts += 1


def holder(gathering: Gathering, found: Found, _line: Line) -> None:
    report, size = gathering.last(), bytes_of(found, "size")
    if report is not None and size is not None and report.accounts == 1 and len(report.holders) < MOST_NAMES:
        report.holders[text_of(found, "op")] += size


def copy(gathering: Gathering, _found: Found, line: Line) -> None:
    report = gathering.last()
    if report is None or (report.shape is not None and not report.copied):
        report = gathering.new("copy", line)
    report.copied = True
    report.keep(line)


def copy_of(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.last() or gathering.new("copy", line)
    report.copied_for = report.copied_for or text_of(found, "op")
    report.device = report.device or short(found.get("device"))
    report.keep(line)


def xla(gathering: Gathering, found: Found, line: Line) -> bool | None:
    """True leaves the line to the signs."""
    if PROFILING in line.text or AUTOTUNER in line.text:
        return AUTOTUNER in line.text
    if ORIGINAL in line.text and (tried := gathering.latest("autotuner", line, BEHIND_AUTOTUNER)) is not None:
        tried.told.update((name, value) for name, value in found.items() if value)
        tried.keep(line)
        return None
    exact = number_of(found, "exact")
    size, report = bytes_of(found, "size") if exact is None else exact, gathering.last()
    if report is None or not _about(report.requested, size):
        report = gathering.new("xla", line)
        report.requested = size
        report.exact = exact is not None or text_of(found, "size_unit") in ("", "bytes")
        report.on_host = CPU_CLIENT in line.text
    report.xla = True
    report.keep(line)
    return None


def suboptimal(gathering: Gathering, _found: Found, line: Line) -> bool:
    """Not a warning where it is an exception: the line is left to the signs."""
    if "Error: " in line.text:
        return True
    gathering.withdraw("xla", line)
    gathering.fell_back = line.number
    gathering.seen.note("tried", line)
    return False


def hbm(gathering: Gathering, found: Found, line: Line) -> None:
    """A TPU's program, refused by the compiler."""
    report = gathering.once("hbm", line)
    report.requested, report.limit = bytes_of(found, "size"), bytes_of(found, "limit")
    report.space, report.xla = text_of(found, "space"), True


def arguments(gathering: Gathering, found: Found, line: Line) -> None:
    """XLA's scheduler knows what the device has."""
    gathering.seen.base_limit = number_of(found, "limit")
    gathering.seen.note("arguments", line)


def xla_part(gathering: Gathering, found: Found, line: Line) -> None:
    report, size = gathering.last(), bytes_of(found, "size")
    if (
        report is not None
        and report.xla
        and size is not None
        and (part := text_of(found, "part")) not in report.xla_parts
    ):
        report.xla_parts[part] = size
        report.keep(line)


def xla_buffer(gathering: Gathering, found: Found, _line: Line) -> None:
    report, size = gathering.last(), bytes_of(found, "size")
    if report is not None and report.xla_parts and size is not None and len(report.xla_buffers) < MOST_EVIDENCE:
        report.xla_buffers.append((size, ""))


def xla_operator(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.last()
    if report is not None and report.xla_buffers and not report.xla_buffers[-1][1]:
        report.xla_buffers[-1] = (report.xla_buffers[-1][0], text_of(found, "op"))
        report.keep(line)


def xla_shape(gathering: Gathering, found: Found, _line: Line) -> None:
    """Of the largest buffer, which comes first."""
    report = gathering.last()
    if report is not None and len(report.xla_buffers) == 1 and report.shape is None:
        report.shape, report.dtype = _sizes(text_of(found, "shape")), text_of(found, "dtype")


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(",") if size)


def _about(one: int | None, other: int | None) -> bool:
    """The same size, one of them in human units."""
    return one is not None and other is not None and abs(one - other) <= max(one, other) // 100 + 256


HANDLERS = {
    **{
        handler.__name__: handler
        for handler in (
            oom,
            kernel,
            unshaped,
            node,
            device_of_node,
            eager,
            wrapped,
            made,
            during,
            usage,
            holder,
            copy,
            copy_of,
        )
    },
    **{
        handler.__name__: handler
        for handler in (xla, suboptimal, hbm, arguments, xla_part, xla_buffer, xla_operator, xla_shape)
    },
    "announced": node,
}
