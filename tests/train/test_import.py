"""What a training script pays for before it has read its plan."""

import subprocess
import sys

HEAVY = ("tensorflow", "keras", "numpy", "PySide6", "rich", "pynvml", "platformdirs")
SECONDS = 0.1


def python(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60).stdout


def test_that_importing_what_a_script_imports_takes_nothing_else():
    loaded = python("import planner_app.train, sys; print(*{name.partition('.')[0] for name in sys.modules})").split()
    assert "planner_app" in loaded
    assert not set(HEAVY) & set(loaded)


def test_that_importing_what_a_script_imports_is_quick():
    """By the processor's time, which other programs do not make longer; the best of three is free of disk and cache."""
    clock = "import time; a = time.process_time(); import planner_app.train; print(time.process_time() - a)"
    assert min(float(python(clock)) for _ in range(3)) < SECONDS
