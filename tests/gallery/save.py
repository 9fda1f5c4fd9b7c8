"""Models of the gallery as .keras files and as live objects are described, in a process of its own, since it holds
TensorFlow: `python -m tests.gallery.save FOLDER NAME...` writes NAME.keras and NAME.live, or why not as NAME.refused.
"""

import shutil
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import keras
import msgspec

from planner_app.planner.api.live import LiveModel
from tests.gallery.entries import entries


def main(folder: str, *names: str) -> None:
    for entry in entries():
        if entry.name in names:
            keras.utils.clear_session()
            to = Path(folder, entry.name)
            try:
                made = getattr(import_module(f"tests.gallery.{entry.file.stem}"), entry.name)()
                _write(made[0] if isinstance(made, tuple) else made, to)
            except Exception as error:  # weights that can't be downloaded, too
                to.with_suffix(".refused").write_text(str(error), encoding="utf-8")


def _write(model: keras.Model, to: Path) -> None:
    live = LiveModel(model)
    model.save(to.with_suffix(".keras"))
    checked = live.checked
    if checked.custom:  # its folder goes when this process does
        checked = replace(checked, custom=str(shutil.copy(checked.custom, to.with_suffix(".own.py"))))
    to.with_suffix(".live").write_bytes(msgspec.json.encode(checked))


if __name__ == "__main__":
    main(*sys.argv[1:])
