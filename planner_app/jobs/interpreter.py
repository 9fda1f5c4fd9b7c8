"""Which Python the workers run in: one that has TensorFlow.

found = find()              # from the variable, the user's choice, or this Python; a frozen build searches
found.path, found.problem   # the problem is a sentence, empty if there is none

check("/opt/tf/bin/python") # what one Python has, and what it lacks
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner_app.errors import PythonError
from planner_app.files.chosen_python import chosen_python
from planner_app.jobs import interpreter_probe as probe

VARIABLE = "PLIMSOLL_PYTHON"
MENU = "File > Python with TensorFlow"
MINORS = (11, 12, 13)  # of Python 3, as pyproject.toml has it
IN_PREFIX = ("bin/python", "Scripts/python.exe", "python.exe")
ON_PATH = ("python3", "python", *(f"python3.{minor}" for minor in reversed(MINORS)))


@dataclass(frozen=True, slots=True)
class Need:
    """A package that workers import: its title, and its requirement for pip.

    Attributes:
        versions: A regular expression for the start of a version that will do.
        named: The same in a Python that the user names; what works there is listed in the guide (tests/versions).
        range: That in words.
    """

    module: str
    title: str
    requirement: str
    versions: str = ""
    named: str = ""
    range: str = ""


# As in pyproject.toml, which says why.
NEEDS = (
    Need(
        "tensorflow",
        "TensorFlow 2.21",
        "tensorflow>=2.21,<2.22",
        r"2\.21\b",
        r"2\.(1[6-9]|2[01])\b",
        "TensorFlow 2.16 to 2.21",
    ),
    Need("keras", "Keras 3.15.1", "keras>=3.15.1,<3.16", r"3\.15\.[1-9]", r"3\.([5-9]|1[0-5])\b", "Keras 3.5 to 3.15"),
    Need("h5py", "h5py", "h5py>=3.11"),
    Need("msgspec", "msgspec", "msgspec>=0.19"),
)


@dataclass(frozen=True, slots=True)
class Python:
    """One Python, and whether workers can run in it.

    Attributes:
        path: Where it really is, if it could be asked.
        origin: How it was come by, a few words.
        version: "3.12.1"; empty if it is not a Python.
        packages: Version by module, of those that workers use.
        problem: A sentence; empty if it will do.
    """

    path: str
    origin: str = ""
    version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    prefix: str = ""

    @property
    def summary(self) -> str:
        """What it has: "Python 3.12.1, TensorFlow 2.21.0, Keras 3.15.1"."""
        titles = {"tensorflow": "TensorFlow", "keras": "Keras"}
        has = [f"{title} {self.packages[module]}" for module, title in titles.items() if module in self.packages]
        return ", ".join([f"Python {self.version}", *has]) if self.version else ""


_good: dict[str, Python] = {}  # what will do is asked once; what will not may be fixed at any time


def check(python: str, origin: str = "named", *, named: bool = True) -> Python:
    """Ask a Python in a child process, which takes a tenth of a second. The child does not import TensorFlow.

    Args:
        named: The user has named it, so that an older release will do.
    """
    answer = probe.ask(python)
    if answer.trouble:
        problem = f"{python} {answer.trouble}: choose a Python under {MENU}, or set {VARIABLE}."
        return Python(python, origin, problem=problem)
    problem = _wrong_version(answer) or _incomplete(answer, named)
    return Python(answer.executable, origin, answer.version, answer.packages, problem, answer.prefix)


def find(chosen: str | None = None) -> Python:
    """The Python that workers run in; or would run in if the user had `chosen` that one."""
    for python, origin in _named(chosen):
        return _asked(python, origin)
    if not is_frozen():
        return _asked(sys.executable, "Plimsoll's own")
    if "" not in _good:
        found = next((each for each in look_around() if not each.problem), None)
        if found is None:
            return Python("", "looked for", problem=_none_found())
        _good[""] = found
    return _good[""]


def worker_python() -> str:
    """The program to start.

    Raises:
        PythonError: No Python has what workers need.
    """
    if not is_outside():
        return sys.executable  # not checked first: the worker itself reports what is missing
    found = find()
    if found.problem:
        raise PythonError(found.problem)
    return found.path


def is_frozen() -> bool:
    """Whether this is a bundle with its own Python, without TensorFlow."""
    return bool(getattr(sys, "frozen", False))


def is_outside() -> bool:
    """Whether workers run in a different Python from this one."""
    return is_frozen() or any(_named())


def look_around() -> Iterator[Python]:
    """Every Python found by searching, each once, the most likely first."""
    seen: set[str] = set()
    for python, origin in _places():
        found = _asked(python, origin, named=False)
        if found.version and found.prefix not in seen:
            seen.add(found.prefix)
            yield found


def own_place() -> Path:
    """An environment in this folder is found automatically."""
    from platformdirs import user_data_path  # only needed here, and slow to import

    return user_data_path("plimsoll", appauthor=False) / "python"


def lacking(packages: Mapping[str, str], *, named: bool = False) -> list[Need]:
    """The packages that workers need and that are missing or of another release."""

    def will_do(need: Need) -> bool:
        wanted = need.named if named else need.versions
        return need.module in packages and bool(re.match(wanted, packages[need.module]))

    return [need for need in NEEDS if not will_do(need)]


def pip_command(python: str, needs: Sequence[Need] = NEEDS) -> str:
    """As typed into a shell."""
    wanted = " ".join(f'"{need.requirement}"' for need in needs)
    return f"{shlex.quote(python)} -m pip install {wanted}"


def _named(chosen: str | None = None) -> Iterator[tuple[str, str]]:
    if given := os.environ.get(VARIABLE):
        yield given, VARIABLE
    if chosen := chosen_python() if chosen is None else chosen:
        yield chosen, "chosen in the app"


def _places() -> Iterator[tuple[str, str]]:
    """Active environments, the one made for Plimsoll, then what a shell would start."""
    prefixes = {name: os.environ.get(name) or _at_start(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    for origin, prefix in {**prefixes, "made for Plimsoll": str(own_place())}.items():
        inside = (Path(prefix, each) for each in IN_PREFIX)
        if prefix and (python := next((each for each in inside if each.exists()), None)):
            yield str(python), origin
    for name in ON_PATH:
        if found := shutil.which(name):
            yield found, f"{name} on the PATH"


def _at_start(name: str) -> str:
    """A variable's value at process start: PyInstaller removes VIRTUAL_ENV before any of our code runs."""
    if not is_frozen():
        return ""
    try:
        given = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((os.fsdecode(each.partition(b"=")[2]) for each in given if each.startswith(f"{name}=".encode())), "")


def _asked(python: str, origin: str, *, named: bool = True) -> Python:
    if python not in _good:
        found = check(python, origin, named=named)
        if found.problem:
            return found
        _good[python] = found
    return replace(_good[python], origin=origin)


def _wrong_version(answer: probe.Answer) -> str:
    major, minor, *_ = map(int, answer.version.split("."))
    if major == 3 and minor in MINORS:
        return ""
    return (
        f"{answer.executable} is Python {answer.version}, but TensorFlow 2.21 needs Python 3.{MINORS[0]} to "
        f"3.{MINORS[-1]}: choose another Python under {MENU}, or set {VARIABLE}."
    )


def _incomplete(answer: probe.Answer, named: bool) -> str:
    needs = lacking(answer.packages, named=named)
    if not needs:
        return ""
    return (
        f"{answer.executable} has {_listed([_missing(need, answer, named) for need in needs])}: "
        f"install {'it' if len(needs) == 1 else 'them'} with `{pip_command(answer.executable, needs)}`, "
        f"or choose another Python under {MENU}."
    )


def _missing(need: Need, answer: probe.Answer, named: bool) -> str:
    there = answer.packages.get(need.module)
    return f"no {need.range if named else need.title} but {there}" if there else f"no {need.title}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _none_found() -> str:
    place = str(own_place())
    python = str(Path(place, "bin", "python"))
    return (
        f"No Python with TensorFlow 2.21 was found: create one with `python3 -m venv {shlex.quote(place)} && "
        f"{pip_command(python)}`, or choose one under {MENU}."
    )
