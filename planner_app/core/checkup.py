"""What planning needs from this computer: each part is fine, or one sentence says what to do.

findings = checkup(seen)
can_plan(findings)          # nothing that planning requires is missing
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner_app.core.hardware.machine import Driver, Gpu, Machine

# The releases that pyproject.toml requires and that estimates are tested against.
PYTHONS = ((3, 11), (3, 13))
TENSORFLOW, KERAS = "2.21", "3.15"
INSTALL = 'pip install "plimsoll[tensorflow]"'
WITHOUT = "Planning works without it."
SCARCE_BYTES = 1 << 30  # the trace cache takes at most this much
GIB = 1 << 30


class State(StrEnum):
    FINE = "fine"
    NOTE = "note"  # planning works without it
    MISSING = "missing"  # planning needs it


MARKS = {State.FINE: "✓", State.NOTE: "•", State.MISSING: "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """Attributes:
    text: What was found, or what to do.
    """

    name: str
    state: State
    text: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The Python that workers run in, as it reports itself before TensorFlow is imported.

    Attributes:
        packages: Versions of the installed packages.
        no_compiler: Why `plimsoll compile` has no compiler; empty if it has one.
    """

    python: str
    executable: str
    packages: dict[str, str]
    no_compiler: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """What TensorFlow reports once it runs. `cuda` and `cudnn` are None in a build without CUDA."""

    version: str
    cuda: str | None = None
    cudnn: str | None = None
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Screen:
    """Attributes:
    qt: Qt's version; empty if it is not installed.
    platform: Where Qt draws: xcb, wayland, cocoa, windows, offscreen; empty if it can't.
    trouble: Qt's error message if it could not start.
    """

    qt: str = ""
    platform: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """Attributes:
    variable: The environment variable that moves it.
    trouble: Why nothing can be written there; empty if it is writable.
    needed: Planning does not work without it.
    """

    name: str
    path: str
    variable: str
    trouble: str = ""
    free_bytes: int | None = None
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that was examined. If a part could not be examined, its `..._trouble` says why.

    Attributes:
        origin: Where the worker's Python was found, if it is not Plimsoll's own.
    """

    machine: Machine
    screen: Screen
    folders: tuple[Folder, ...]
    surroundings: Surroundings | None = None
    surroundings_trouble: str = ""
    origin: str = ""
    started: Started | None = None
    started_trouble: str = ""
    sandbox: tuple[str, ...] = ()
    unguarded: tuple[str, ...] = ()


def checkup(seen: Seen) -> tuple[Finding, ...]:
    return (
        _python(seen),
        _tensorflow(seen),
        _keras(seen),
        _sandbox(seen),
        *map(_folder, seen.folders),
        _disk(seen.folders),
        _qt(seen.screen),
        _driver(seen.machine),
        *_gpus(seen.machine.gpus),
        _cuda(seen),
        _compiler(seen),
    )


def can_plan(findings: Sequence[Finding]) -> bool:
    return all(finding.state is not State.MISSING for finding in findings)


def summary(findings: Sequence[Finding]) -> str:
    """All findings in one sentence."""
    missing = [finding.name for finding in findings if finding.state is State.MISSING]
    if missing:
        return f"Planning does not work yet: {', '.join(missing)}."
    notes = sum(finding.state is State.NOTE for finding in findings)
    rest = f"; {notes} of {len(findings)} checks need attention" if notes else ""
    return f"Everything that planning needs is installed{rest}."


def as_text(findings: Sequence[Finding]) -> str:
    """For a report: one line per finding."""
    return "\n".join((*(f"{MARKS[each.state]} {each.name}: {each.text}" for each in findings), summary(findings)))


def _python(seen: Seen) -> Finding:
    name, around = "Python", seen.surroundings
    if around is None:
        return Finding(name, State.MISSING, seen.surroundings_trouble or "The worker's Python did not answer.")
    (least, most), version = PYTHONS, _numbers(around.python)
    if not least <= version[:2] <= most:
        wanted = f"{least[0]}.{least[1]} to {most[0]}.{most[1]}"
        return Finding(name, State.MISSING, f"{around.executable} is Python {around.python}: install Python {wanted}.")
    origin = f" ({seen.origin})" if seen.origin else ""
    return Finding(name, State.FINE, f"{around.python}, {around.executable}{origin}")


def _tensorflow(seen: Seen) -> Finding:
    name, around = "TensorFlow", seen.surroundings
    if around is None:
        return Finding(name, State.MISSING, "Unknown: see Python, above.")
    installed = around.packages.get("tensorflow", "")
    if not installed:
        return Finding(
            name,
            State.MISSING,
            f"{around.executable} does not have it: install it with {INSTALL}, or set PLIMSOLL_PYTHON to a Python "
            "that has it.",
        )
    if seen.started is None:
        why = seen.started_trouble.rstrip(".") or "it did not answer"
        return Finding(
            name, State.MISSING, f"{installed} is installed but can't be used ({why}): install it again with {INSTALL}."
        )
    return _of_release(name, seen.started.version, TENSORFLOW)


def _keras(seen: Seen) -> Finding:
    name, around = "Keras", seen.surroundings
    if around is None:
        return Finding(name, State.MISSING, "Unknown: see Python, above.")
    installed = around.packages.get("keras", "")
    if not installed:
        return Finding(name, State.MISSING, f"{around.executable} does not have it: install it with {INSTALL}.")
    found = _of_release(name, installed, KERAS)
    legacy = around.packages.get("tf_keras")
    if found.state is not State.FINE:
        return found
    rest = f"tf_keras {legacy} for Keras 2 models" if legacy else 'Keras 2 models need "plimsoll[legacy]"'
    return Finding(name, State.FINE, f"{installed}; {rest}")


def _of_release(name: str, version: str, wanted: str) -> Finding:
    if version == wanted or version.startswith(f"{wanted}."):
        return Finding(name, State.FINE, version)
    return Finding(
        name,
        State.NOTE,
        f"{version} is not the release that estimates are tested against, {wanted}: install that one with {INSTALL}.",
    )


def _sandbox(seen: Seen) -> Finding:
    name = "Sandbox"
    if seen.surroundings is None:
        return Finding(name, State.NOTE, "Unknown, because no worker could be started.")
    if seen.unguarded:
        return Finding(
            name,
            State.NOTE,
            f"Model files are checked, but the process that reads them is not fully confined "
            f"({'; '.join(seen.unguarded)}): that takes Linux 5.13 or later with Landlock and seccomp. {WITHOUT}",
        )
    return Finding(name, State.FINE, f"around the process that reads model files: {'; '.join(seen.sandbox)}")


def _folder(folder: Folder) -> Finding:
    name = folder.name
    if not folder.trouble:
        return Finding(name, State.FINE, folder.path)
    state = State.MISSING if folder.needed else State.NOTE
    without = "" if folder.needed else f" {WITHOUT}"
    return Finding(
        name,
        state,
        f"{folder.path} can't be written ({folder.trouble}): fix its permissions, or set another folder in "
        f"{folder.variable}.{without}",
    )


def _disk(folders: Sequence[Folder]) -> Finding:
    name = "Free disk"
    known = [(each.free_bytes, each.path) for each in folders if each.free_bytes is not None and not each.trouble]
    if not known:
        return Finding(name, State.NOTE, f"The free space is unknown. {WITHOUT}")
    free, path = min(known)
    if free < SCARCE_BYTES:
        return Finding(name, State.NOTE, f"{free / GIB:.2f} GiB are left for {path}: free at least 1 GiB.")
    return Finding(name, State.FINE, f"{free / GIB:.0f} GiB")


def _qt(screen: Screen) -> Finding:
    name = "Window"
    if not screen.qt:
        return Finding(
            name,
            State.NOTE,
            'Qt is not installed: the app needs it (pip install "plimsoll[app]"), the commands don\'t.',
        )
    if screen.trouble:
        return Finding(
            name,
            State.NOTE,
            f"Qt {screen.qt} can't open a window ({screen.trouble.rstrip('.')}): the commands work; for the app, "
            "install the libraries that it names (Debian and Ubuntu: libegl1 libxkbcommon0 libxcb-cursor0 "
            "libdbus-1-3).",
        )
    if not screen.platform:
        return Finding(
            name,
            State.NOTE,
            "There is no screen: the commands work, and `plimsoll MODEL --picture FILE.png` draws the window to a "
            "file.",
        )
    return Finding(name, State.FINE, f"Qt {screen.qt} on {screen.platform}")


def _driver(machine: Machine) -> Finding:
    name = "NVIDIA driver"
    if machine.driver is not Driver.FINE or not machine.gpus:
        return Finding(name, State.NOTE, f"{machine.sentence} {WITHOUT}".strip())
    cuda = f", supports CUDA up to {machine.cuda_version}" if machine.cuda_version else ""
    return Finding(name, State.FINE, f"{machine.driver_version or 'version unknown'}{cuda}")


def _gpus(gpus: Sequence[Gpu]) -> Iterator[Finding]:
    for gpu in gpus:
        name = f"GPU {gpu.index}"
        if not gpu.usable:
            yield Finding(name, State.NOTE, f"{gpu.sentence} {WITHOUT}")
            continue
        memory = "" if gpu.total_bytes is None else f", {gpu.total_bytes / GIB:.1f} GiB"
        free = "" if gpu.free_bytes is None else f", {gpu.free_bytes / GIB:.1f} GiB free"
        yield Finding(name, State.FINE, f"{gpu.name or 'unnamed'}{memory}{free}")


def _cuda(seen: Seen) -> Finding:
    name, started, usable = "CUDA", seen.started, len(seen.machine.usable_gpus)
    if started is None:
        return Finding(name, State.NOTE, f"Unknown, because TensorFlow did not start. {WITHOUT}")
    built = f"TensorFlow is built for CUDA {started.cuda} and cuDNN {started.cudnn}"
    if started.gpus:
        return Finding(name, State.FINE, f"{built}, and sees {_count(started.gpus)}")
    if usable:
        return Finding(
            name,
            State.NOTE,
            f"TensorFlow sees none of this machine's {_count(usable)}: install its CUDA libraries with "
            f'pip install "plimsoll[cuda]". {WITHOUT}',
        )
    if started.cuda is None:
        return Finding(name, State.FINE, "TensorFlow is built without it; this computer has no GPU to need it")
    return Finding(name, State.FINE, f"{built}; this computer has no GPU to need them")


def _compiler(seen: Seen) -> Finding:
    name, around = "Compile check", seen.surroundings
    if around is None:
        return Finding(name, State.NOTE, f"Unknown, because no worker could be started. {WITHOUT}")
    if around.no_compiler:
        return Finding(name, State.NOTE, f"{around.no_compiler} {WITHOUT}")
    return Finding(name, State.FINE, f"JAX {around.packages.get('jax', '')} with its compiler for CUDA")


def _count(gpus: int) -> str:
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
