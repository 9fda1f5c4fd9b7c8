"""Send a request to a worker and receive its events:

    for event in Job(request):          # Started, Progress ..., then exactly one Finished or Failed
        show(event)

    model = run(Inspect(path="resnet.keras"), CheckedModel)     # the answer, or the matching error

A job needs no thread: the child is watched while the caller waits for events, and leaving the loop early, by `break`
or by an exception, ends the child.
"""

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec

from planner_app import errors
from planner_app.errors import Cancelled, PlannerError, WorkerError
from planner_app.jobs.exchange import Exchange
from planner_app.jobs.launch import worker_command
from planner_app.jobs.process import Child
from planner_app.jobs.protocol import Failed, Finished, Limits, Progress, Request, Started, encode_request
from planner_app.jobs.stream import AnyEvent

T = TypeVar("T")

LEAVE_SECONDS = 2.0  # for a child that has answered to exit by itself


class ChildSource(Protocol):
    """Where a job gets its child from, and where the child goes afterwards."""

    def take(self, request: Request, limits: Limits, cancelled: threading.Event) -> tuple[Child, bool]:
        """A child to talk to, and whether it has answered requests before."""

    def give_back(self, child: Child, last: Finished | Failed | None) -> None:
        """The job is done with the child. `last` is its own last event; None if the child can't be trusted."""

    @property
    def one_request(self) -> bool:
        """Whether each child gets only one request."""


class Fresh:
    """A new child for every job. It and its memory are gone when the last event arrives."""

    one_request = True

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = command

    def take(self, request: Request, limits: Limits, cancelled: threading.Event) -> tuple[Child, bool]:
        if cancelled.is_set():
            raise Cancelled
        command = self._command or worker_command()
        file = request.hands_over()
        return Child(command, limits, gpu=request.gpu, more=request.environment(), file=file), False

    def give_back(self, child: Child, last: Finished | Failed | None) -> None:
        child.end(LEAVE_SECONDS if last else 0.0)


class Job:
    """One request to a worker. Iterate over it once; `cancel` from any thread."""

    def __init__(
        self,
        request: Request,
        limits: Limits | None = None,
        *,
        command: Sequence[str] | None = None,
        source: ChildSource | None = None,
        cancelled: threading.Event | None = None,
    ) -> None:
        """`cancelled`, once set, stops the job; several jobs may share one event."""
        self.request = request
        self.limits = limits or request.limits
        self._source = source or Fresh(command)
        self._cancelled = cancelled or threading.Event()
        self._begun = False

    def cancel(self) -> None:
        """Stop the job: its last event, `Failed` with the error "Cancelled", arrives within a second."""
        self._cancelled.set()

    def __iter__(self) -> Iterator[AnyEvent]:
        if self._begun:
            raise RuntimeError("A job can run only once: create a new one.")
        self._begun = True
        return self._events()

    def _events(self) -> Iterator[AnyEvent]:
        last: Finished | Failed | None = None
        try:
            line = encode_request(self.request)
            while last is None:
                last = yield from self._attempt(line)
        except Cancelled as stopped:
            last = Failed(error=Cancelled.__name__, reason=str(stopped))
        except PlannerError as error:
            last = Failed(error=type(error).__name__, reason=str(error), detail=error.detail)
        yield last

    def _attempt(self, line: bytes) -> Generator[AnyEvent, None, Finished | Failed | None]:
        """The last event; None if a reused child turned out to be dead and another should be tried."""
        child, used = self._source.take(self.request, self.limits, self._cancelled)
        exchange = Exchange(child, self.limits, self._cancelled)
        last: Finished | Failed | None = None
        try:
            last = yield from exchange.talk(line, last=self._source.one_request)
        finally:
            self._source.give_back(child, None if exchange.broken else last)
        if used and not exchange.answered and exchange.died:
            return None
        return _with_child_output(last, child)


def _with_child_output(last: Finished | Failed, child: Child) -> Finished | Failed:
    """Adds the child's output to an unexpected error, since it may explain it."""
    text = child.tail.text
    if isinstance(last, Failed) and last.error == "WorkerError" and text not in last.detail:
        return Failed(error=last.error, reason=last.reason, detail="\n\n".join(filter(None, [last.detail, text])))
    return last


def run(
    request: Request,
    result_type: type[T],
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_start: Callable[[Started], None] | None = None,
    cancelled: threading.Event | None = None,
) -> T:
    """A new worker's answer, or the `PlannerError` it failed with.

    Raises:
        Cancelled: Once `cancelled` is set.
    """
    return result_of(Job(request, limits, cancelled=cancelled), result_type, on_progress, on_start)


def result_of(
    job: Job,
    result_type: type[T],
    on_progress: Callable[[Progress], None] | None = None,
    on_start: Callable[[Started], None] | None = None,
) -> T:
    for event in job:
        if isinstance(event, Progress) and on_progress is not None:
            on_progress(event)
        elif isinstance(event, Started) and on_start is not None:
            on_start(event)
        elif isinstance(event, Failed):
            raise error_of(event)
        elif isinstance(event, Finished):
            return _decoded(event, result_type)
    raise AssertionError("a job without a last event")


def error_of(event: Failed) -> PlannerError | Cancelled:
    """The error that a `Failed` event names; an unknown name becomes a `WorkerError`."""
    if event.error == Cancelled.__name__:
        return Cancelled(event.reason)
    named = getattr(errors, event.error, WorkerError)
    known = isinstance(named, type) and issubclass(named, PlannerError)
    return (named if known else WorkerError)(event.reason, event.detail)


def _decoded(event: Finished, result_type: type[T]) -> T:
    try:
        return msgspec.json.decode(event.result, type=result_type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WorkerError("The worker's answer does not match the request.", str(error)) from error
