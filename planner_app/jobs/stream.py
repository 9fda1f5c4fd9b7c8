"""Reads a child's output within limits: events from one pipe, any other messages from the other."""

import time

import msgspec

from planner_app.foreign_text import for_terminal
from planner_app.jobs.protocol import EVENT_BYTES, FINISHED_BYTES, Failed, Finished, Progress, Started

AnyEvent = Started | Progress | Finished | Failed

# Our own children report at most 20 times a second.
BURST_EVENTS = 1000
EVENTS_PER_SECOND = 200.0

TAIL_BYTES = 64 << 10
MESSAGE_BYTES = 256 << 20  # no library prints this much: it must be a loop

_DECODER: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
_FINISHED = b'{"type":"Finished"'


class Trouble(Exception):
    """A child misbehaves. The message is a sentence for the user."""

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.detail = detail


class EventReader:
    """Splits the input into lines and reads each as an event."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._allowance = float(BURST_EVENTS)
        self._refilled = time.monotonic()

    @property
    def unfinished(self) -> bool:
        """Whether an incomplete line has arrived."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[AnyEvent]:
        self._buffer += data
        events: list[AnyEvent] = []
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            self._check_length(end)
            events.append(_decode(bytes(self._buffer[:end])))
            del self._buffer[: end + 1]
            self._searched = 0
        self._searched = len(self._buffer)
        self._check_length(len(self._buffer))
        self._check_rate(len(events))
        return events

    def _check_length(self, length: int) -> None:
        most = FINISHED_BYTES if self._buffer.startswith(_FINISHED) else EVENT_BYTES
        if length > most:
            raise Trouble(f"The worker sent a line longer than {most >> 10} KiB and was stopped.", self._beginning())

    def _check_rate(self, events: int) -> None:
        now = time.monotonic()
        self._allowance = min(BURST_EVENTS, self._allowance + (now - self._refilled) * EVENTS_PER_SECOND) - events
        self._refilled = now
        if self._allowance < 0:
            raise Trouble(f"The worker sent more than {EVENTS_PER_SECOND:.0f} events a second and was stopped.")

    def _beginning(self) -> str:
        return f"It began: {bytes(self._buffer[:200])!r}"


class Tail:
    """The end of a child's stderr."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._total_bytes = 0

    def feed(self, data: bytes) -> None:
        self._kept += data
        self._total_bytes += len(data)
        if len(self._kept) > 2 * TAIL_BYTES:  # rarely, since cutting the front moves the rest
            del self._kept[:-TAIL_BYTES]

    def check(self) -> None:
        if self._total_bytes > MESSAGE_BYTES:
            raise Trouble(f"The worker printed more than {MESSAGE_BYTES >> 20} MiB and was stopped.")

    @property
    def text(self) -> str:
        return for_terminal(bytes(self._kept[-TAIL_BYTES:]).decode("utf-8", "replace")).strip()


def _decode(line: bytes) -> AnyEvent:
    try:
        event = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        detail = f"{error}. The line began: {line[:200]!r}"
        raise Trouble("The worker sent a line that is not an event, and was stopped.", detail) from error
    if isinstance(event, Progress):
        return msgspec.structs.replace(event, text=for_terminal(event.text))
    if isinstance(event, Failed):
        return Failed(error=event.error, reason=for_terminal(event.reason), detail=for_terminal(event.detail))
    return event
