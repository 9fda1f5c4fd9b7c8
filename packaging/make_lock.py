"""The development environment to the byte: every package that `make test` installs, with version and SHA-256.

`python packaging/make_lock.py` asks pip what it would install and writes packaging/requirements.lock. It holds for the
system and Python it was made on, which the first line names: those that releases are tested with.
`pip install --require-hashes -r packaging/requirements.lock` refuses a file that has been exchanged.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = Path(__file__).with_name("requirements.lock")
WANTED = ["--editable", f"{ROOT}[app,tensorflow,legacy,xla-gpu]", "--group", f"{ROOT}/pyproject.toml:dev"]


def resolved() -> list[dict[str, Any]]:
    """What pip would install into an empty environment."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    done = subprocess.run([*command, *WANTED], stdout=subprocess.PIPE, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["install"]
    return found


def lock_of(packages: list[dict[str, Any]]) -> str:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    lines = [f"# Python {python}, {platform.system()} {platform.machine()}; written by packaging/make_lock.py"]
    for package in sorted(packages, key=lambda each: each["metadata"]["name"].lower()):
        archive = package["download_info"].get("archive_info")
        if archive is not None:  # Plimsoll itself is a folder
            metadata = package["metadata"]
            lines.append(f"{metadata['name'].lower()}=={metadata['version']} --hash=sha256:{_sha256(archive)}")
    return "\n".join(lines) + "\n"


def _sha256(archive: dict[str, Any]) -> str:
    return str(archive.get("hashes", {}).get("sha256") or archive["hash"].removeprefix("sha256="))


if __name__ == "__main__":
    LOCK.write_text(lock_of(resolved()), encoding="utf-8")
    print(f"Wrote {LOCK.relative_to(ROOT)}: {LOCK.read_text(encoding='utf-8').count('--hash')} packages.")
