"""Pythons to find: environments of this one, with empty packages of the versions they are given."""

import shlex
import sys
import sysconfig
from pathlib import Path

GOOD = {"tensorflow": "2.21.0", "keras": "3.15.1", "h5py": "3.14.0", "msgspec": "0.22.0"}


def make_environment(prefix: Path, packages: dict[str, str]) -> Path:
    """Its Python. What `python -m venv` makes, but at once."""
    library = Path(sysconfig.get_path("purelib", "venv", {"base": str(prefix)}))
    library.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    (prefix / "pyvenv.cfg").write_text(f"home = {Path(sys._base_executable).parent}\n")  # type: ignore[attr-defined]
    for name, version in packages.items():
        (library / name).mkdir()
        (library / name / "__init__.py").write_text("raise SystemExit('imported')")
        information = library / f"{name}-{version}.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return prefix / "bin" / "python"


def make_launcher(at: Path, packages: dict[str, str]) -> Path:
    """A program that starts the Python of another folder, as pyenv's do."""
    python = make_environment(at.parent / f"{at.name} environment", packages)
    return make_program(at, f'exec {shlex.quote(str(python))} "$@"')


def make_program(at: Path, shell: str) -> Path:
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(f"#!/bin/sh\n{shell}\n")
    at.chmod(0o755)
    return at
