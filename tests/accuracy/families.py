"""Models of many families: what the fusion model is judged on, one family left out at a time.

python tests/accuracy/families.py FOLDER NAME...
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import keras
from family import FAMILIES, Builder

for module in ("families_images", "families_sequences", "families_apart"):
    import_module(module)

MODELS: dict[str, Builder] = {name: build for models in FAMILIES.values() for name, build in models.items()}
FAMILY_OF: dict[str, str] = {name: family for family, models in FAMILIES.items() for name in models}


def save(folder: Path, names: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        keras.utils.set_random_seed(0)
        MODELS[name]().save(folder / f"{name}.keras")


if __name__ == "__main__":
    save(Path(sys.argv[1]), sys.argv[2:] or MODELS)
