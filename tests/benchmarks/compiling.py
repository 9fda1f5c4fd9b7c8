"""The compiler's figure in the app against one `plimsoll compile`, on ResNet50, and how soon a cancel is heard.

    python tests/benchmarks/compiling.py

Everything offscreen and with empty caches: seconds until the first chart, until the chosen point is the compiler's, of
one `plimsoll compile`, and until no compiler is left after a cancel; then the longest time the window did not answer.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
sys.path.insert(0, str(Path(__file__).parents[1]))

DEVICE, BATCH = "NVIDIA L4", 32
SAVE = "import keras, sys; open(sys.argv[1], 'w').write(keras.applications.ResNet50(weights=None).to_json())"
TICK_SECONDS = 0.01


class Watch:
    """Waits in the event loop, and remembers its longest pause."""

    def __init__(self, began: float) -> None:
        self.began, self.stall = began, 0.0

    def until(self, happened: Callable[[], bool]) -> float:
        from turning import turn

        while not happened():
            before = time.monotonic()
            turn(int(TICK_SECONDS * 1000))
            self.stall = max(self.stall, time.monotonic() - before - TICK_SECONDS)
        return time.monotonic() - self.began


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "resnet50.json"
        subprocess.run([sys.executable, "-c", SAVE, str(model)], check=True, stderr=subprocess.DEVNULL)
        print(f"plimsoll compile: {_command(model, Path(folder) / 'command'):.1f} s", flush=True)
        os.environ["PLIMSOLL_CACHE"] = str(Path(folder) / "app")
        _app(model)


def _command(model: Path, cache: Path) -> float:
    began = time.monotonic()
    command = [sys.executable, "-m", "planner_app", "compile", str(model), "--batch", str(BATCH), "--device", DEVICE]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"PLIMSOLL_CACHE": str(cache)})
    return time.monotonic() - began


def _app(model: Path) -> None:
    from PySide6.QtWidgets import QApplication

    from planner_app.files.devices.catalogue import find_device
    from planner_app.gui.state.session import Session

    _application = QApplication([])
    session = Session(find_device(DEVICE))
    session.choose_setup(batch=BATCH)
    watch = Watch(time.monotonic())
    session.open(str(model))
    setup = session.choice.setup

    def is_compiled() -> bool:
        need = session.need(setup)
        return need is not None and need.line.anchor(BATCH) is not None

    drawn = watch.until(lambda: (need := session.need(setup)) is not None and bool(need.memory.points))
    print(f"first chart after {drawn:.1f} s", flush=True)
    print(f"the compiler's figure after {watch.until(is_compiled):.1f} s", flush=True)
    watch.until(lambda: session._compiling._request is not None)
    cancelled = Watch(time.monotonic())
    session.cancel()
    print(f"cancelled after {cancelled.until(lambda: not session._compiling.busy):.2f} s")
    print(f"the window's longest pause: {max(watch.stall, cancelled.stall):.2f} s")
    session.close()


if __name__ == "__main__":
    main()
