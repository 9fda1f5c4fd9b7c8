"""What a training script pays for before it has read its plan."""

import subprocess
import sys

HEAVY = ("tensorflow", "jax", "keras", "numpy", "PySide6", "rich", "pynvml", "platformdirs")
MODULES = 180


def python(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60).stdout


def test_that_importing_what_a_script_imports_takes_nothing_else():
    loaded = python("import planner_app.train, sys; print(*{name.partition('.')[0] for name in sys.modules})").split()
    assert "planner_app" in loaded
    assert not set(HEAVY) & set(loaded)


def test_that_importing_what_a_script_imports_is_quick():
    """It costs a few modules of ours and of the standard library, some 150 in all; NumPy alone would double them."""
    count = "import sys; a = set(sys.modules); import planner_app.train; print(len(set(sys.modules) - a))"
    assert int(python(count)) < MODULES
