"""The entry point of `plimsoll`. Signals and the three standard streams are set up before anything else is imported:
Ctrl-C in the first half second must not look like a bug, and a closed stream's number must not go to another file."""

import _signal as signal  # type: ignore[import-not-found]  # built in; `signal` itself imports a lot before it is there
import os
import sys

TYPE_CHECKING = False  # `typing` is an import too
if TYPE_CHECKING:
    from types import FrameType

IMPORTER = "<frozen importlib._bootstrap>"
INTERRUPTED = 130  # 128 + SIGINT: what shells expect of a program ended by Ctrl-C


def _leave(_number: int, _frame: object) -> None:
    os._exit(INTERRUPTED)


def _end(number: int, frame: "FrameType | None") -> None:
    """Exit normally, so that workers are stopped and their folders removed. While the first modules are imported there
    is nothing to clean up, and libraries in C may swallow an exception and go on with half a module."""
    workers = sys.modules.get("planner_app.jobs.workdir")
    if _is_importing(frame) and not getattr(workers, "live", None):
        os._exit(128 + number)
    raise SystemExit(128 + number)


def _is_importing(frame: "FrameType | None") -> bool:
    while frame is not None and frame.f_code.co_filename != IMPORTER:
        frame = frame.f_back
    return frame is not None


def _open_streams() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def main() -> int:
    signal.signal(signal.SIGINT, _leave)
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # under nohup it is ignored
            signal.signal(number, _end)
    _open_streams()
    from planner_app.cli import main as run

    try:
        return run()
    finally:
        signal.signal(signal.SIGINT, _leave)


if __name__ == "__main__":
    sys.exit(main())
