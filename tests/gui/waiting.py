"""Tests wait for a state of the app, never for a fixed time."""

import time
from collections.abc import Callable

from turning import turn

from planner_app.gui.state.session import Session

PATIENCE_SECONDS = 180


def traced(session: Session) -> bool:
    """Every line of the chart is there and nothing is being worked out."""
    there = session.opened is not None and all(step in session.memories for step in session.choice.steps())
    return there and session.answers.idle


def wait(until: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if until():
            turn(60)  # what is known is told a frame later
            return
        turn(20)
    raise AssertionError("It did not happen.")
