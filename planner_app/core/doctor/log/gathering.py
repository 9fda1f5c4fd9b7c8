"""Which report a line belongs to."""

import re

from planner_app.core.doctor.log.lines import Line
from planner_app.core.doctor.log.seen import MOST_REPORTS, Progress, Report, Seen

OF_ALLOCATOR = ("ran_out", "oom", "xla", "async_failed", "copy", "scratch", "torch")
_DEVICE_NUMBER = re.compile(r"(?:GPU|gpu_async|gpu)_(\d+)")
_ABSL = re.compile(r"\b[IWEF]0000 00:00:\d{1,12}")
_SHORT = re.compile(r"(GPU|CPU|TPU|DML):(\d{1,4})$", re.IGNORECASE)
NEAR = 3  # lines
TRACEBACK = 60  # lines between one that tells and the error behind it
TRIED_KERNELS = 40  # lines that tell of kernels tried for one operation


class Gathering:
    """What was seen so far, and the report that one process is writing.

    Attributes:
        rank: The process, where several write one log; what they all say is in `seen`.
        dumping: The report whose dump is being read.
        announced: "Detected at node ..." stands before the error it belongs to.
        traced: What a traceback told, which may stand before its error, too: the report's fields by their names.
        fell_back: The line of a warning that XLA goes on with another kernel: those it tried in vain stand behind it.
    """

    def __init__(self, seen: Seen, rank: str = "") -> None:
        self.seen = seen
        self.rank = rank
        self.progress = Progress()
        self.dumping: Report | None = None
        self.announced, self.announced_line = "", -TRACEBACK
        self.traced: dict[str, str] = {}
        self.traced_line = -TRACEBACK
        self.refused_line = -NEAR
        self.fell_back = -TRIED_KERNELS

    def new(self, sign: str, line: Line, allocator: str = "") -> Report:
        report = Report(sign, line.number, allocator, rank=self.rank, progress=self.progress)
        report.device = _device_of(allocator)
        if line.number - self.announced_line <= TRACEBACK:
            report.operation = self.announced
        self.announced = ""
        report.keep(line)
        report.refused = line.number - self.refused_line < NEAR
        if line.number - self.traced_line <= TRACEBACK:
            report.during, report.made = self.traced.get("during", ""), self.traced.get("made", "")
        self.traced = {}
        if _ABSL.search(line.text):  # TensorFlow writes so since 2.17, whose Keras is Keras 3
            self.seen.note("keras3", line)
        if len(self.seen.reports) < MOST_REPORTS:
            self.seen.reports.append(report)
        else:
            self.seen.more_reports += 1
            self.seen.reports[-1] = report
        self.dumping = None
        return report

    def trace(self, name: str, told: str, line: Line) -> Report | None:
        """The report to which a traceback's line belongs: the one before it, else the next."""
        report = self.last()
        if report is None:
            self.traced[name], self.traced_line = self.traced.get(name, told), line.number
        return report

    def once(self, sign: str, line: Line) -> Report:
        """The report of this kind: such lines repeat themselves."""
        for report in self.seen.reports:
            if report.sign == sign and report.rank == self.rank:
                report.keep(line)
                return report
        return self.new(sign, line)

    def last(self, allocator: str = "") -> Report | None:
        """The latest report of this allocator, or the latest that names none."""
        for report in reversed(self.seen.reports):
            if (
                report.sign in OF_ALLOCATOR
                and report.rank == self.rank
                and (not allocator or report.allocator in ("", allocator))
            ):
                return report
        return None

    def latest(self, sign: str, line: Line, lines: int) -> Report | None:
        """What this process said last, if it is of this kind and not further away."""
        report = next((report for report in reversed(self.seen.reports) if report.rank == self.rank), None)
        near = report is not None and report.sign == sign and line.number - report.last_line <= lines
        return report if near else None

    def withdraw(self, sign: str, line: Line) -> None:
        """A line just behind the report says that it is only a warning."""
        reports = self.seen.reports
        if reports and reports[-1].sign == sign and line.number - reports[-1].last_line <= NEAR:
            del reports[-1]
            self.dumping = None

    def advance(self, progress: Progress, line: Line) -> None:
        self.progress = self.seen.progress = progress
        self.seen.progress_line = line.number

    @property
    def current(self) -> Report | None:
        return self.dumping or self.last()


def short(device: str | None) -> str:
    """ "GPU:1" of "/job:localhost/replica:0/task:0/device:GPU:1"."""
    found = _SHORT.search(device or "")
    return f"{found[1].upper()}:{found[2]}" if found else ""


def _device_of(allocator: str) -> str:
    if allocator == "bfc_cpu_allocator_for_gpu":  # a CPU that allocates as GPUs do
        return "CPU:0"
    found = _DEVICE_NUMBER.search(allocator)
    return f"GPU:{found[1]}" if found else ""
