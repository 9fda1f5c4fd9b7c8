"""How long until the window is there, and how long a change takes to be drawn: everything, offscreen, on a ResNet50
with 4 precisions x 6 GPU counts and 8 devices. A frame at 60 Hz is 16.7 ms.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

os.environ["QT_QPA_PLATFORM"] = "offscreen"
sys.path.insert(0, str(Path(__file__).parents[1]))

CHANGES = 200
SLOWEST = 8
CARDS = (
    "NVIDIA L4",
    "NVIDIA A10",
    "NVIDIA GeForce RTX 4090",
    "NVIDIA GeForce RTX 3090",
    "NVIDIA A100 SXM4 40GB",
    "NVIDIA L40S",
    "NVIDIA A100 SXM4 80GB",
    "NVIDIA H100 SXM5 80GB",
)
SAVE = "import keras, sys; open(sys.argv[1], 'w').write(keras.applications.ResNet50(weights=None).to_json())"
START = """
import time
from PySide6.QtWidgets import QApplication
qt = QApplication([])
from planner_app.gui.app import App
app = App(qt)
app.window.show()
qt.processEvents()
print(time.process_time())
app.window.close()
"""


def start_seconds() -> float:
    """CPU time of a whole process, from its start to a painted window."""
    runs = [subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def dearest_imports() -> Iterator[tuple[str, float]]:
    run = [sys.executable, "-X", "importtime", "-c", "import planner_app.gui.app"]
    lines = subprocess.run(run, capture_output=True, text=True, check=True).stderr.splitlines()[1:]
    own = [(line.split("|")[2].strip(), int(line.split("|")[0].split(":")[1])) for line in lines if "|" in line]
    for name, microseconds in sorted(own, key=lambda pair: -pair[1])[:SLOWEST]:
        yield name, microseconds / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLIMSOLL_SETTINGS"] = folder
        print(f"window on screen after {start_seconds():.2f} s of CPU time; imports that cost most:")
        for name, seconds in dearest_imports():
            print(f"  {seconds:.3f} s  {name}")
        _changes(Path(folder))


def _changes(folder: Path) -> None:
    from PySide6.QtWidgets import QApplication
    from turning import turn

    from planner_app.core.model.setup import Precision
    from planner_app.files.devices.catalogue import find_device
    from planner_app.gui.app import App
    from planner_app.gui.state.settings import SettingsFile

    qt = QApplication([])
    app = App(qt, SettingsFile(folder / "settings.json"))
    app.window.resize(1920, 1080)
    app.window.show()
    session = app.session
    precisions = (Precision.FLOAT32, Precision.MIXED_FLOAT16, Precision.BFLOAT16, Precision.FLOAT64)
    counts = (1, 2, 3, 4, 6, 8)
    cards = [find_device(name) for name in CARDS]
    session.choose(lambda choice: replace(choice, precisions=precisions, gpu_counts=counts, devices=tuple(cards)))
    model = folder / "resnet50.json"
    subprocess.run([sys.executable, "-c", SAVE, str(model)], check=True, stderr=subprocess.DEVNULL)
    session.open(str(model))
    while not all(step in session.memories for step in session.choice.steps()) or not session.answers.idle:
        turn(50)
    print(f"{len(session.choice.lines())} lines and {len(session.choice.devices)} devices are drawn")
    cases: dict[str, Callable[[int], None]] = {
        "batch slider": lambda n: session.choose_setup(batch=8 + n, mark="batch"),
        "other device": lambda n: session.choose(lambda choice: replace(choice, device=cards[n % len(cards)])),
        "other line": lambda n: session.choose_setup(precision=precisions[n % 4], gpus=counts[n // 4 % 6]),
    }
    for name, change in cases.items():
        taken, own = [], []
        for number in range(CHANGES):
            began, own_began = time.perf_counter(), time.thread_time()
            change(number)
            app.window.repaint()
            taken.append((time.perf_counter() - began) * 1000)
            own.append((time.thread_time() - own_began) * 1000)
            turn(20)
        taken.sort()
        most = f"nine in ten under {taken[CHANGES * 9 // 10]:.1f} ms"
        print(f"{name}: median {median(taken):.1f} ms, {most}; the window's own time: {median(own):.1f} ms")
    for title in app.panels:
        if title != "Chart":
            began = time.thread_time()
            app.window.bring(title)
            app.window.repaint()
            print(
                f"{title} brought to the front: {(time.thread_time() - began) * 1000:.0f} ms of the window's own time"
            )
            turn(500)
    app.window.close()


if __name__ == "__main__":
    main()
