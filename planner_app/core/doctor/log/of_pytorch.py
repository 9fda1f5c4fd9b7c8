"""Lines of PyTorch: its message tells who holds the memory in one sentence, in two spellings."""

from planner_app.core.doctor.log.gathering import Gathering
from planner_app.core.doctor.log.lines import Line
from planner_app.core.doctor.log.matching import Found, bytes_of, number_of, text_of
from planner_app.core.doctor.log.seen import MOST_EVIDENCE, Report


def torch(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.new("torch", line)
    report.requested = bytes_of(found, "size")
    report.framework = "PyTorch"


def torch_older(gathering: Gathering, found: Found, _line: Line) -> None:
    if (report := _last(gathering)) is not None:
        report.device = f"GPU:{text_of(found, 'gpu')}"
        report.cuda_total, report.cuda_free = bytes_of(found, "total"), bytes_of(found, "free")
        report.in_use = bytes_of(found, "used")


def torch_newer(gathering: Gathering, found: Found, _line: Line) -> None:
    if (report := _last(gathering)) is not None:
        report.device = f"GPU:{text_of(found, 'gpu')}"
        report.cuda_total, report.cuda_free = bytes_of(found, "total"), bytes_of(found, "free")


def torch_process(gathering: Gathering, found: Found, _line: Line) -> None:
    if (report := _last(gathering)) is not None:
        report.process_bytes = bytes_of(found, "used")


def torch_other(gathering: Gathering, found: Found, _line: Line) -> None:
    if _last(gathering) is not None and len(gathering.seen.processes) < MOST_EVIDENCE:
        gathering.seen.processes.append((number_of(found, "pid") or 0, "", bytes_of(found, "used") or 0))


def torch_allocated(gathering: Gathering, found: Found, _line: Line) -> None:
    if (report := _last(gathering)) is not None:
        report.in_use, report.idle_bytes = bytes_of(found, "used"), bytes_of(found, "idle")


def torch_reserved(gathering: Gathering, found: Found, _line: Line) -> None:
    report, reserved = _last(gathering), bytes_of(found, "reserved")
    if report is not None and reserved is not None:
        report.process_bytes = reserved
        report.idle_bytes = max(0, reserved - (report.in_use or 0))


def _last(gathering: Gathering) -> Report | None:
    report = gathering.last()
    return report if report is not None and report.sign == "torch" else None


HANDLERS = {
    handler.__name__: handler
    for handler in (torch, torch_older, torch_newer, torch_process, torch_other, torch_allocated, torch_reserved)
}
