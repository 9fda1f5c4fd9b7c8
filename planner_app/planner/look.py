"""Look at this computer: workers are asked in children of their own, so that a broken TensorFlow harms nobody.

seen = look_around(screen(), on_progress)
findings = checkup(seen)
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import metadata
from typing import TypeVar

from planner_app.core.checkup import Screen, Seen, Started, Surroundings
from planner_app.errors import PlannerError
from planner_app.files.folders import folders
from planner_app.gpu.nvml import machine_gpus
from planner_app.jobs import interpreter as python
from planner_app.jobs import protocol
from planner_app.jobs.job import run
from planner_app.jobs.protocol import GIB, CheckUp, Limits, Progress

T = TypeVar("T")
OnProgress = Callable[[Progress], None]

LIMITS = Limits(memory_bytes=4 * GIB, seconds=300)  # TensorFlow takes seconds; from a cold network disk, minutes
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")  # any of them tells Qt where to draw
QT = "PySide6-Essentials"
QT_SECONDS = 60
# Qt ends the process when it finds no way to draw: only a child may try.
TRY_QT = "from PySide6.QtGui import QGuiApplication; print(QGuiApplication(['plimsoll']).platformName())"


def look_around(
    screen: Screen, on_progress: OnProgress | None = None, cancelled: threading.Event | None = None
) -> Seen:
    """Takes as long as importing TensorFlow does. Raises nothing but `Cancelled`."""
    tell = on_progress or (lambda _event: None)
    guards: list[protocol.Started] = []

    def ask(request: CheckUp, answer: type[T]) -> tuple[T | None, str]:
        try:
            return run(request, answer, LIMITS, on_start=guards.append, cancelled=cancelled), ""
        except PlannerError as error:
            return None, str(error)

    tell(Progress(done=0, of=2, text="asking the worker's Python"))
    around, around_trouble = ask(CheckUp(), Surroundings)
    started, started_trouble = None, ""
    if around is not None and "tensorflow" in around.packages:
        tell(Progress(done=1, of=2, text="starting TensorFlow"))
        started, started_trouble = ask(CheckUp(start_tensorflow=True), Started)
    return Seen(
        machine=machine_gpus(),
        screen=screen,
        folders=folders(),
        surroundings=around,
        surroundings_trouble=around_trouble,
        origin=python.find().origin if python.is_outside() else "",
        started=started,
        started_trouble=started_trouble,
        sandbox=guards[0].sandbox if guards else (),
        unguarded=guards[0].missing if guards else (),
    )


def screen() -> Screen:
    """Where Qt would draw, tried in a child."""
    frozen = python.is_frozen()
    try:
        version = metadata.version(QT)
    except metadata.PackageNotFoundError:
        if not frozen:
            return Screen()
        version = "of this bundle"
    if sys.platform == "linux" and not any(os.environ.get(name) for name in SCREENS):
        return Screen(version)
    if frozen:  # there is no Python to hand a line to
        return Screen(version, os.environ.get("QT_QPA_PLATFORM", sys.platform))
    try:
        told = subprocess.run(
            [sys.executable, "-P", "-c", TRY_QT], capture_output=True, text=True, timeout=QT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Screen(version, trouble=type(error).__name__)
    if told.returncode:
        return Screen(version, trouble=_last_words(told.stderr) or f"it ended with {told.returncode}")
    return Screen(version, platform=told.stdout.strip())


def _last_words(text: str) -> str:
    """The line that says what is missing: of an import the last, of a plug-in the first that names it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    signs = ("could not load", "could not find", "cannot open")
    naming = [line for line in lines if any(sign in line.lower() for sign in signs)]
    return (naming or lines[-1:] or [""])[0][:200]
