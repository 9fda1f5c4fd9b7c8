"""Logs that ran out of memory, and some that did not: written by TensorFlow 2.21, JAX and the kernel (`tf221_*` by
`provoke.py`, `real_*` by `provoke_host.py`), or in the formats of the versions and tools in their names."""

import gzip
from pathlib import Path

from planner_app.core.doctor import Diagnosis, diagnose
from planner_app.files.logs import capacity_bytes

FOLDER = Path(__file__).parent / "logs"
FILES = {path.name.partition(".")[0]: path for path in FOLDER.iterdir()}
ROWS = [
    [cell.strip() for cell in line.split("|")]
    for line in (Path(__file__).parent / "expected.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def log(name: str) -> bytes:
    data = FILES[name].read_bytes()
    return gzip.decompress(data) if FILES[name].suffix == ".gz" else data


def diagnosed(name: str, **known) -> Diagnosis:
    return diagnose([log(name)], capacity=capacity_bytes, **known)


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]
