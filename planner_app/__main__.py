"""Where `plimsoll` begins. Signals and the three standard streams are seen to before anything is imported, since that
takes a while: Ctrl-C in the first half second is no bug, and a stream that is closed must not become another file."""

import os
import signal
import sys

INTERRUPTED = 130  # what a shell expects of a program ended by Ctrl-C: 128 + SIGINT


def _leave(_number: int, _frame: object) -> None:
    os._exit(INTERRUPTED)


def _end(number: int, _frame: object) -> None:
    """As an ordinary end, so that workers are stopped and their folders removed."""
    raise SystemExit(128 + number)


def _open_streams() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def main() -> int:
    signal.signal(signal.SIGINT, _leave)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # nohup has it ignored
            signal.signal(number, _end)
    _open_streams()
    from planner_app.cli import main as run

    try:
        return run()
    finally:
        signal.signal(signal.SIGINT, _leave)


if __name__ == "__main__":
    sys.exit(main())
