"""How long the window keeps its user waiting, from its start to the compiler's line and through every panel.

    python tests/benchmarks/stalls.py [MODEL.keras]

A turn of the event loop should not take more than 50 ms of the window's own time. The model is opened twice, in two
processes: with nothing on disk, then with everything (the window's layout too), and held against the time that
`import tensorflow` takes.
Draws to the screen if there is one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

STALL_MS = 50
PATIENCE_SECONDS = 900
SAVE = "import keras, sys; keras.applications.ResNet50(weights=None).save(sys.argv[1])"
CHILD = "--child"
sys.path.insert(0, str(Path(__file__).parents[1]))
if not os.environ.get("DISPLAY"):
    os.environ["QT_QPA_PLATFORM"] = "offscreen"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder, "resnet50.keras"))
        if len(sys.argv) == 1:
            subprocess.run([sys.executable, "-c", SAVE, model], check=True, stderr=subprocess.DEVNULL)
        print(f"import tensorflow: {_import_seconds():.2f} s")
        for known in ("unknown", "known"):
            print(f"{Path(model).name}, {known}:", flush=True)
            own = {"PLIMSOLL_CACHE": folder, "PLIMSOLL_SETTINGS": str(Path(folder, "settings"))}
            subprocess.run([sys.executable, __file__, CHILD, model], check=True, env=os.environ | own)
        print(f"import tensorflow: {_import_seconds():.2f} s")


def _import_seconds() -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import tensorflow"], check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def _watch(model: str) -> None:
    """One window, from its process's start on."""
    began = time.monotonic()
    from PySide6.QtCore import QAbstractEventDispatcher, qInstallMessageHandler
    from PySide6.QtWidgets import QApplication
    from turning import turn

    from planner_app.gui.app import App

    qInstallMessageHandler(lambda *_: None)
    qt = QApplication(["plimsoll"])
    app = App(qt)
    session, doing, worst = app.session, "start", {}
    turned = [time.thread_time()]

    def on_turn() -> None:
        now = time.thread_time()
        took = (now - turned[0]) * 1000
        worst[doing] = max(worst.get(doing, 0.0), took)
        if took > STALL_MS:
            print(f"  stall of {took:.0f} ms after {time.monotonic() - began:.1f} s: {doing}", flush=True)
        turned[0] = time.thread_time()

    def until(happened: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not happened():
            if time.monotonic() > end:
                raise SystemExit(f"it did not happen: {what}")
            turn(5)
        print(f"  {time.monotonic() - began:6.2f} s: {what}", flush=True)

    dispatcher = QAbstractEventDispatcher.instance()
    assert dispatcher is not None
    app.window.resize(1920, 1080)
    app.window.show()
    turn(0)
    print(f"  {time.monotonic() - began:6.2f} s: window, {time.process_time():.2f} s of CPU time", flush=True)
    turned[0] = time.thread_time()
    dispatcher.awake.connect(on_turn)
    app.prepare()
    app.open(model)
    opened = began = time.monotonic()
    doing = "opening"
    until(lambda: session.opened is not None or app.empty.at_once.isVisible(), "weights and optimizer state")
    until(lambda: any(memory.points for memory in session.memories.values()) and app.panels, "first line")
    doing = "tracing"
    until(lambda: all(step in session.memories for step in session.choice.steps()), "all lines")
    until(lambda: session.answers.idle, "whole chart")
    doing = "compiling"
    until(_compiled(app), "the compiler's line")
    for title in app.panels:
        if title != "Chart":
            doing = f"{title}, first shown"
            app.bring(title)
            turn(50)
            until(lambda: session.answers.idle, title)
            turn(300)
    dispatcher.awake.disconnect(on_turn)
    print("  longest turn of the event loop, the window's own time:")
    for what, took in worst.items():
        print(f"  {took:6.0f} ms  {what}")
    print(f"  {time.monotonic() - opened:.0f} s in all")
    app.window.close()


def _compiled(app: object) -> Callable[[], bool]:
    from planner_app.planner.lines import Ask

    session = app.session  # type: ignore[attr-defined]

    def compiled() -> bool:
        need = session.need(session.choice.setup)
        return need is not None and (session.planner.ask is Ask.NEVER or bool(need.line.anchors or need.line.trouble))

    return compiled


if __name__ == "__main__":
    if CHILD in sys.argv:
        _watch(sys.argv[-1])
    else:
        main()
