"""A model for another machine: what was read out of its file and checked here, and the user's code as bytes.

The model's file itself stays here. Of the code's folder, Python files go along and nothing else: whatever else lies
there may be private.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError
from planner_app.files.reading import read_at_most
from planner_app.files.writing import make_private_folder, reason, write_atomically

MOST_BYTES = 16 << 20
MOST_FILES = 500
NOT_CODE = ("__pycache__", "node_modules", "site-packages", "build", "dist")


@dataclass(frozen=True, slots=True)
class Shipped:
    """Attributes:
    model: Its paths name files below the folder that they belong to.
    custom: By path below the folder of the model's own code; `data` likewise.
    """

    model: CheckedModel
    custom: dict[str, bytes]
    data: dict[str, bytes]


def ship(model: CheckedModel) -> Shipped:
    custom, custom_files = _taken(model.custom)
    data, data_files = _taken(model.data)
    return Shipped(replace(model, custom=custom, data=data), custom_files, data_files)


@contextmanager
def unpacked(shipped: Shipped) -> Iterator[CheckedModel]:
    """The model as if it had been opened here, for as long as its code lies here."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-shipped-") as folder:
        model = shipped.model
        custom = _laid_out(Path(folder, "custom"), model.custom, shipped.custom)
        data = _laid_out(Path(folder, "data"), model.data, shipped.data)
        yield replace(model, custom=custom, data=data)


def _laid_out(home: Path, path: str | None, files: dict[str, bytes]) -> str | None:
    """Where the code lies now."""
    if path is None:
        return None
    for relative, content in files.items():
        _write(home, relative, content)
    return str(home / path)


def _write(home: Path, relative: str, content: bytes) -> None:
    target = (home / relative).resolve()
    if not target.is_relative_to(home.resolve()):
        raise ModelError(f"A file that came with the model lies outside its folder: {relative!r}.")
    make_private_folder(target.parent)
    write_atomically(target, content, private=True)


def _taken(path: str | None) -> tuple[str | None, dict[str, bytes]]:
    """The path below its folder, and the Python files of that folder."""
    if path is None:
        return None, {}
    file, colon, function = path.partition(".py:")
    source = Path(f"{file}.py" if colon else path)
    found = {source.name: source} | {str(each.relative_to(source.parent)): each for each in _code(source.parent)}
    try:
        files = {name: read_at_most(each, MOST_BYTES) for name, each in found.items()}
    except OSError as error:
        raise ModelError(f"{str(source)!r} can't be read to be sent along: {reason(error)}.") from error
    total = sum(map(len, files.values()))
    if total > MOST_BYTES or len(files) > MOST_FILES:
        raise ModelError(
            f"The folder {str(source.parent)!r} has {len(files)} Python files of {total >> 20} MiB, more than is sent "
            "along: put the model's code into a folder of its own."
        )
    return f"{source.name}:{function}" if colon else source.name, files


def _code(folder: Path) -> list[Path]:
    found: list[Path] = []
    waiting = [folder]
    while waiting and len(found) <= MOST_FILES:
        for each in sorted(waiting.pop().iterdir()):
            if each.name.startswith(".") or each.name in NOT_CODE or each.is_symlink():
                continue
            if each.is_dir() and (each / "__init__.py").exists():
                waiting.append(each)
            elif each.suffix == ".py" and each.is_file():
                found.append(each)
    return found
