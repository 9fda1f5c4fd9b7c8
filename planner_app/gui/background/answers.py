"""Computes slow answers in the background: the latest request comes first."""

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal

from planner_app.core.estimate.curve import LargestBatch
from planner_app.core.estimate.estimate import Estimate, estimate
from planner_app.core.estimate.need import Need
from planner_app.core.model.setup import Setup
from planner_app.errors import PlannerError

# A moving slider soon asks for something else: until it rests, leave the processor to drawing.
REST_SECONDS = 0.06
# How long the drawing thread may wait for the working one at each switch; Python's 5 ms are a third of a frame.
TURN_SECONDS = 0.001
MOST_KEPT = 1024
QUIET_SECONDS = 1.0  # then what was worked out is written to disk
PAUSE_MS = 20  # about a frame: more redraws would not be visible


Answer = TypeVar("Answer")
Given = TypeVar("Given", covariant=True)


class Question(Hashable, Protocol[Given]):
    def answer(self) -> Given: ...


@dataclass(frozen=True, slots=True)
class EstimateOf:
    """One setup in full: terms, layers, what is alive at the peak."""

    need: Need
    setup: Setup

    def answer(self) -> Estimate:
        return estimate(self.need, self.setup)


@dataclass(frozen=True, slots=True)
class LargestOf:
    """The largest per-GPU batch; `sure` does not count tight. None without a limit."""

    need: Need
    sure: bool = False

    def answer(self) -> LargestBatch | None:
        return self.need.largest(sure=self.sure)


class Answers(QObject):
    """Ask as often as you like: known answers are returned at once, `answered` announces the rest.

    Each asker has a name; its earlier unanswered questions are dropped.
    """

    answered = Signal()
    _worked_out = Signal()  # emitted in the working thread; `answered` follows in the asking one

    def __init__(self, keep: Callable[[], object] = lambda: None) -> None:
        """`keep` is called in the working thread when nothing has been asked for a while, and at the end."""
        super().__init__()
        self._keep = keep
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self.answered)
        self._worked_out.connect(self._on_worked_out)
        self._known: OrderedDict[Question[Any], Any] = OrderedDict()
        self._open: dict[str, list[Question[Any]]] = {}
        self._passing: dict[str, tuple[Question[Any], ...]] = {}
        self._changed = threading.Condition()
        self._closed, self._asked = False, 0.0
        self._thread: threading.Thread | None = None

    def ask(self, asker: str, questions: Sequence[Question[Answer]], *, passing: bool = False) -> list[Answer | None]:
        """The known answers; None for unknown ones.

        Large answers are requested with `passing`: they are forgotten when the asker asks for others.
        """
        with self._changed:
            for old in self._passing.pop(asker, ()):
                if old not in questions:
                    self._known.pop(old, None)
            if passing:
                self._passing[asker] = tuple(questions)
            missing = [question for question in questions if question not in self._known]
            before = self._open.pop(asker, [])
            if any(question not in before for question in missing):
                self._asked = time.monotonic()
            if missing:
                self._open[asker] = missing
                self._start()
                self._changed.notify()
            return [self._known.get(question) for question in questions]

    def ask_one(self, asker: str, question: Question[Answer] | None) -> Answer | None:
        return None if question is None else self.ask(asker, [question])[0]

    def forget(self) -> None:
        with self._changed:
            self._open.clear()
            self._known.clear()

    @property
    def idle(self) -> bool:
        with self._changed:
            return not any(self._open.values())

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        if self._thread is None and not self._closed:
            sys.setswitchinterval(TURN_SECONDS)
            self._thread = threading.Thread(target=self._serve, name="answers", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        kept = True
        while True:
            with self._changed:
                quiet = False
                while not (self._closed or quiet or any(self._open.values())):
                    quiet = not self._changed.wait(None if kept else QUIET_SECONDS)
                done = self._closed
            if done or quiet:
                if not kept:
                    self._keep()
                kept = True
                if done:
                    return
                continue
            kept = False
            with self._changed:
                if not any(self._open.values()):  # taken back meanwhile
                    continue
                if (left := self._asked + REST_SECONDS - time.monotonic()) > 0:
                    self._changed.wait(left)
                    continue
                asker = [asker for asker, questions in self._open.items() if questions][-1]
                question = self._open[asker][0]
            try:
                answer = question.answer()
            except PlannerError:  # a lost trace that can't be made again: reported where traces are made
                answer = None
            with self._changed:
                if question in self._open.get(asker, ()):  # dropped meanwhile: it must not come back
                    self._open[asker].remove(question)
                    self._known[question] = answer
                    while len(self._known) > MOST_KEPT:
                        self._known.popitem(last=False)
            self._worked_out.emit()

    def _on_worked_out(self) -> None:
        if not self._pause.isActive():
            self._pause.start()
