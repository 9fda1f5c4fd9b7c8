"""The worker's loop: read a request, put on the sandbox, hand the request to whoever can do it, send what comes of it.

A handler is `handler(request, report)`. It returns something that becomes JSON, or raises a `PlannerError` with a
sentence for the user; `report(done, of, text)` says how far it is, and hands over what is worth keeping if the worker
should die: `report(done, of, text, result)`.
"""

import faulthandler
import importlib
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import or_
from typing import Any

import msgspec
from msgspec import Raw

from planner_app import errors
from planner_app.errors import PlannerError, WorkerError
from planner_app.jobs.interpreter import MENU, VARIABLE
from planner_app.jobs.launch import SCRATCH_VARIABLE
from planner_app.jobs.protocol import FINISHED_BYTES, Failed, Finished, Progress, Request, Started
from planner_app.worker import stdio
from planner_app.worker.confine import lifeline, sandbox

Report = Callable[..., None]
Handler = Callable[[Any, Report], Any]

# The module is imported when the first request of its kind comes: the reader of files must not import TensorFlow.
HANDLERS: Mapping[str, str] = {
    "Inspect": "planner_app.worker.inspect:inspect",
    "Describe": "planner_app.worker.build.describe:describe",
    "Trace": "planner_app.worker.graph.trace:trace",
    "Measure": "planner_app.worker.measure.steps:measure",
    "ShardedState": "planner_app.worker.jax.state:state",
    "Lower": "planner_app.worker.compile.lower:lower",
    "Compile": "planner_app.worker.compile.program:compile",
    "CheckUp": "planner_app.worker.checkup:check_up",
}

# People don't read faster, and the parent takes a flood for a fault; but the stages of a short job are all told.
REPORT_SECONDS = 0.05
STAGES = 100
REASON_CHARACTERS = 4_000
DETAIL_CHARACTERS = 16_000
_GRAPH_NODE = re.compile(r"\{\{[^{}]*\}\}\s*|\s*\[Op:[^\]]*\]")
TENSORFLOW_PACKAGES = ("tensorflow", "keras", "h5py", "numpy")


def serve(handlers: Mapping[str, str] = HANDLERS) -> None:
    """Answer requests until there are no more; does not return."""
    requests, events = stdio.take()
    lifeline.hold()
    faulthandler.enable()
    box: sandbox.Sandbox | None = None
    try:
        for line in requests:
            try:
                request = understood(line)
            except PlannerError as error:
                events.send(Started())
                events.send_line(_failed(_name(error), str(error), error.detail))
                continue
            box = box or _sandbox(request)
            events.send(Started(sandbox=box.in_force, missing=box.missing))
            events.send_line(_answer(request, handlers, _reporter(events)))
    except BrokenPipeError:  # nobody listens any more
        pass
    # Not the ordinary way out: it would wait for threads, run what libraries left behind, and can crash there.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def understood(line: bytes) -> Request:
    """The request in a line, of those kinds that exist; tests bring their own."""
    try:
        return _decoder().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WorkerError("The worker was asked for something it does not know.", str(error)) from error


@cache
def _decoder() -> "msgspec.json.Decoder[Request]":
    return msgspec.json.Decoder(reduce(or_, Request.__subclasses__()))


def _sandbox(request: Request) -> sandbox.Sandbox:
    scratch = os.environ.get(SCRATCH_VARIABLE)
    if scratch is None:
        return sandbox.Sandbox((), ("started by hand, without a folder of its own: no sandbox",))
    return sandbox.apply(request.reads(), scratch, gpu=request.gpu)


def _reporter(events: stdio.Events) -> Report:
    last, told, sent = -REPORT_SECONDS, "", 0
    results: list[Raw] = []

    def report(done: int, of: int, text: str, result: Any = None) -> None:
        nonlocal last, told, sent
        now = time.monotonic()
        if result is not None:
            results.append(Raw(msgspec.json.encode(result)))
        if now - last >= REPORT_SECONDS or (text != told and sent < STAGES):
            last, told, sent = now, text, sent + 1
            events.send(Progress(done=done, of=of, text=text[:1000], results=tuple(results)))
            results.clear()

    return report


def _answer(request: Request, handlers: Mapping[str, str], report: Report) -> bytes:
    try:
        result = _handler(handlers[type(request).__name__])(request, report)
        line = msgspec.json.encode(Finished(result=Raw(msgspec.json.encode(result))))
        if len(line) <= FINISHED_BYTES:
            return line
        return _failed("WorkerError", f"The answer is {len(line) >> 20} MiB long; {FINISHED_BYTES >> 20} can be sent.")
    except PlannerError as error:
        return _failed(_name(error), str(error), error.detail)
    except BaseException as error:  # a user's layer may raise anything, SystemExit too
        return _failed("WorkerError", _sentence(error), _traceback(error))


def _failed(name: str, reason: str, detail: str = "") -> bytes:
    """Short enough to be taken, and without the lone surrogates that come from file names and can't be sent. Nodes of
    TensorFlow's graph, "{{function_node __wrapped__Mul_...}}", mean nothing to anybody who reads the sentence."""
    reason = _GRAPH_NODE.sub("", reason)
    reason, detail = (
        text.encode("utf-8", "replace").decode() for text in (reason[:REASON_CHARACTERS], detail[-DETAIL_CHARACTERS:])
    )
    return msgspec.json.encode(Failed(error=name, reason=reason, detail=detail))


def _handler(where: str) -> Handler:
    module, _, function = where.partition(":")
    handler: Handler = getattr(importlib.import_module(module), function)
    return handler


def _name(error: PlannerError) -> str:
    """The class the parent knows: errors of the worker's own are told as what they derive from."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return next(name for name in names if hasattr(errors, name))


def _sentence(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in TENSORFLOW_PACKAGES:
        return (
            f"The worker's Python ({sys.executable}) has no {error.name}: install it with "
            f'pip install "plimsoll[tensorflow]", name a Python that has it in {VARIABLE}, or choose one under {MENU}.'
        )
    if isinstance(error, MemoryError):
        return "The worker ran out of memory (MemoryError)."
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # not even an exception of a user's layer can be trusted to say what it is
        lines = []
    said = f": {lines[0][:300]}" if lines else ""
    return f"The worker failed with {type(error).__name__}{said}"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return ""
