"""The app, as `plimsoll MODEL` starts it, which writes every kind of file again and again: to be killed.

    writing_app.py FOLDER FIRST_NUMBER MODEL

Says "NAME NUMBER" after each file: from then on it must be there, whatever happens.
"""

import os
import sys
from pathlib import Path
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"
sys.path.insert(0, str(Path(__file__).parents[1] / "files"))

from PySide6.QtCore import QTimer
from written import KINDS

from planner_app.gui import start
from planner_app.gui.app import App
from planner_app.gui.look import export

PICTURES = {"png": "Chart", "svg": "Chart"}


class WritingApp(App):
    """As soon as its panels are there, one file at each turn of Qt's loop."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        folder, self._number = Path(sys.argv[1]), int(sys.argv[2])
        self._left: list[str] = []
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(lambda: self.panels and self._write(folder))
        self._timer.start()

    def _write(self, folder: Path) -> None:
        if not self._left:
            self._left = [*KINDS, *PICTURES, "window"]
            self._number += 1
        name = self._left.pop(0)
        if name in KINDS:
            told = KINDS[name].write(folder, self._number)
        elif name in PICTURES:
            told = export.save(str(folder / f"chart.{name}"), export.data_of(self.panels[PICTURES[name]], name)) or ""
        else:
            told = self._file.write(self.settings, [f"/models/{self._number}.keras"])
        sys.stdout.write(f"{name} {self._number}{told}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    start.App = WritingApp
    start.start(sys.argv[3])
