"""Asks a Python for its version and packages, in a child that imports nothing large and has a time limit."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from planner_app.files.kept.compiled import COMPILER
from planner_app.jobs.inherited import clean_environment

SECONDS = 20.0  # allows for a cold disk; a Python usually answers within a tenth of a second
MOST_BYTES = 1 << 16
MARK = "plimsoll probe "

# Old Pythons must be able to run this, so that they can be rejected. An empty entry of sys.path is the current folder.
SCRIPT = """
import sys
sys.path[:] = [place for place in sys.path if place]
import json
packages = {}
try:
    from importlib import metadata, util
    for module, names in NAMES:
        spec = util.find_spec(module)
        if spec is None or spec.origin is None:
            continue
        packages[module] = "unknown"
        for name in names:
            try:
                packages[module] = metadata.version(name)
                break
            except metadata.PackageNotFoundError:
                pass
    for name in DISTRIBUTIONS:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
except ImportError:
    pass
version = "%d.%d.%d" % sys.version_info[:3]
answer = {"executable": sys.executable, "prefix": sys.prefix, "version": version, "packages": packages}
print("\\n" + MARK + json.dumps(answer))
"""
# Modules, each with the names of the distributions that may provide it.
NAMES = (
    ("tensorflow", ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tf-nightly")),
    ("keras", ("keras", "keras-nightly")),
    ("h5py", ("h5py",)),
    ("msgspec", ("msgspec",)),
    ("tf_keras", ("tf_keras",)),
)
DISTRIBUTIONS = (*COMPILER, "keras-hub")  # asked for by distribution name only


@dataclass(frozen=True, slots=True)
class Answer:
    """What a Python reported about itself.

    Attributes:
        executable: Its real path: a launcher that selects a version may need the user's home folder to do so.
        prefix: The folder of its environment.
        version: "3.12.1"; empty if what was asked is not a Python.
        packages: Version by module, of those that workers use.
        trouble: Why there is no answer.
    """

    executable: str
    prefix: str = ""
    version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""


def ask(python: str, seconds: float = SECONDS) -> Answer:
    code = f"NAMES, DISTRIBUTIONS, MARK = {NAMES!r}, {DISTRIBUTIONS!r}, {MARK!r}\n{SCRIPT}"
    try:
        said, ended = _output([python, "-c", code], seconds)
    except (OSError, ValueError) as error:
        return Answer(python, trouble=f"can't be started ({getattr(error, 'strerror', None) or error})")
    for line in reversed(said.decode("utf-8", "replace").splitlines()):
        if line.startswith(MARK):
            return _parsed(python, line.removeprefix(MARK))
    if not ended:
        return Answer(python, trouble=f"did not answer within {seconds:g} s")
    return Answer(python, trouble="does not behave like a Python")


def _output(command: list[str], seconds: float) -> tuple[bytes, bool]:
    """Its output, and whether it finished; both length and time are limited."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=clean_environment(),
    )
    assert process.stdout is not None
    said, until = b"", time.monotonic() + seconds
    try:
        while len(said) < MOST_BYTES and (left := until - time.monotonic()) > 0:
            if not select.select([process.stdout], [], [], left)[0]:
                break
            if not (more := os.read(process.stdout.fileno(), MOST_BYTES)):
                return said, True
            said += more
        return said, len(said) >= MOST_BYTES
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def _parsed(python: str, text: str) -> Answer:
    try:
        found = json.loads(text)
        packages = {str(name): str(version) for name, version in found["packages"].items()}
        executable, prefix, version = (str(found[name]) for name in ("executable", "prefix", "version"))
        return Answer(executable or python, prefix, version, packages)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return Answer(python, trouble="does not behave like a Python")
