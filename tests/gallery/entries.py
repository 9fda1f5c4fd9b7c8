"""The gallery's list: every function of its modules that makes a model."""

import importlib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
MODULES = ("trainers", "particular", "tuned", "hub")
BATCH = 16


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    file: Path
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def target(self) -> str:
        return f"{self.file}:{self.name}"


def entries() -> list[Entry]:
    import ast

    found = []
    for module in MODULES:
        file = HERE / f"{module}.py"
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = [
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.args.args
        ]
        sizes = _sizes() if module == "hub" else {}
        found += [Entry(name, file, tuple(sorted(sizes.get(name, {}).items()))) for name in names]
    return found


def _sizes() -> dict[str, dict[str, tuple[int, ...]]]:
    return importlib.import_module("tests.gallery.hub").SIZES
