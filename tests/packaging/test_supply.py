"""What a release is made of: locked by hash, listed for those who ask."""

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import make_lock  # noqa: E402
import make_sbom  # noqa: E402

LOCK = (ROOT / "packaging" / "requirements.lock").read_text(encoding="utf-8")


def test_that_every_package_of_the_environment_is_locked_with_its_hash():
    lines = LOCK.splitlines()[1:]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    names = {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = list(project["project"]["dependencies"])
    extras = re.search(r'--editable "\.\[([a-z,-]+)\]" --group dev', (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert extras is not None
    for extra in extras[1].split(","):
        wanted += project["project"]["optional-dependencies"][extra]
    wanted += project["dependency-groups"]["dev"]
    named = {re.sub(r"[-_.]+", "-", re.split(r"[\[<>=; ]", each)[0]).lower() for each in wanted}
    assert named - {"plimsoll"} <= names, "make lock writes the list anew"


def test_that_a_lock_names_the_system_it_holds_for():
    package = {"metadata": {"name": "Some_Package", "version": "1.0"}, "download_info": {"archive_info": {}}}
    package["download_info"]["archive_info"] = {"hashes": {"sha256": "ab" * 32}}
    own = {"metadata": {"name": "plimsoll", "version": "0.1"}, "download_info": {"dir_info": {"editable": True}}}
    first, line = make_lock.lock_of([package, own]).splitlines()
    assert first.startswith("# Python 3.")
    assert line == f"some_package==1.0 --hash=sha256:{'ab' * 32}"


def test_that_the_bill_of_materials_lists_the_wheel_and_every_package_with_hashes(tmp_path):
    wheel = tmp_path / "plimsoll-0.2.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    bill = json.loads(json.dumps(make_sbom.sbom_of(wheel, LOCK)))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    own = bill["metadata"]["component"]
    assert own["purl"] == "pkg:pypi/plimsoll@0.2.0"
    assert own["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"a wheel").hexdigest()}]
    assert len(bill["components"]) == LOCK.count("--hash")
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(set(references)) == len(references)
    assert {each["ref"] for each in bill["dependencies"]} == {own["bom-ref"], *references}


def test_that_what_is_not_a_wheel_is_reported(tmp_path):
    with pytest.raises(SystemExit, match="is not a wheel"):
        make_sbom.sbom_of(tmp_path / "notes.txt", LOCK)
