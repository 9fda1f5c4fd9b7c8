"""What a wheel is made of and what it runs with, as a software bill of materials (CycloneDX 1.5, JSON).

`python packaging/make_sbom.py dist/plimsoll-0.2.0-py3-none-any.whl` writes dist/plimsoll-0.2.0.cdx.json beside it: the
wheel with its SHA-256, and the packages of packaging/requirements.lock that it was tested with, with theirs.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = Path(__file__).with_name("requirements.lock")
_LOCKED = re.compile(r"(?P<name>[^=\s]+)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})")
_WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)-")


def sbom_of(wheel: Path, lock: str) -> dict[str, Any]:
    named = _WHEEL.match(wheel.name)
    if named is None:
        raise SystemExit(f"{wheel.name} is not a wheel: expected a name such as plimsoll-0.2.0-py3-none-any.whl")
    own = _component(named["name"], named["version"], hashlib.sha256(wheel.read_bytes()).hexdigest())
    packages = list(_locked(lock))
    needs = {"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in packages]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own | {"type": "application", "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": packages,
        "dependencies": [needs, *({"ref": each["bom-ref"], "dependsOn": []} for each in packages)],
    }


def _locked(lock: str) -> Iterator[dict[str, Any]]:
    for found in _LOCKED.finditer(lock):
        yield _component(found["name"], found["version"], found["sha256"])


def _component(name: str, version: str, sha256: str) -> dict[str, Any]:
    url = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
    hashes = [{"alg": "SHA-256", "content": sha256}]
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url, "hashes": hashes}


if __name__ == "__main__":
    for wheel in map(Path, sys.argv[1:]):
        named = _WHEEL.match(wheel.name)
        stem = f"{named['name']}-{named['version']}" if named else wheel.stem
        written = wheel.with_name(f"{stem}.cdx.json")
        written.write_text(
            json.dumps(sbom_of(wheel, LOCK.read_text(encoding="utf-8")), indent=2) + "\n", encoding="utf-8"
        )
        print(f"Wrote {written}.")
