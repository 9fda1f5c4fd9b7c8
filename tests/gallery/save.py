"""Writes models of the gallery as .keras files, in a process of its own: `python save.py FOLDER NAME...`."""

import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.gallery.entries import entries


def main(folder: str, *names: str) -> None:
    for entry in entries():
        if entry.name in names:
            made = getattr(import_module(f"tests.gallery.{entry.file.stem}"), entry.name)()
            model = made[0] if isinstance(made, tuple) else made
            model.save(Path(folder) / f"{entry.name}.keras")


if __name__ == "__main__":
    main(*sys.argv[1:])
