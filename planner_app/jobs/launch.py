"""How a worker is started: which program, in which environment, within which limits."""

import resource
import site
from collections.abc import Mapping, Sequence
from pathlib import Path

import planner_app
from planner_app.jobs import interpreter as python
from planner_app.jobs.inherited import passed_on
from planner_app.jobs.protocol import Limits

PYTHON_VARIABLE = python.VARIABLE
SCRATCH_VARIABLE = "PLIMSOLL_SCRATCH"
LIFELINE_VARIABLE = "PLIMSOLL_LIFELINE"
FILE_VARIABLE = "PLIMSOLL_FILE"  # the number of a file that is handed over open
WORKER = Path(planner_app.__file__).parent / "worker" / "__main__.py"


def worker_command() -> list[str]:
    """The program that is the worker: ours, whichever Python runs it, so that both sides are of one version.

    -P keeps the folder the user happens to be in off the path, where a stranger's `keras.py` could lie.

    Raises:
        PythonError: There is no Python to run it.
    """
    return [python.worker_python(), "-P", str(WORKER)]


def environment(
    home: Path,
    lifeline: int,
    *,
    gpu: bool,
    more: Mapping[str, str] | None = None,
    inherited: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """What a worker may know of the caller's environment. Every place a library may write is in the child's own folder.

    `more` is what the request itself asks for.
    """
    given = passed_on(inherited)
    folder = str(home)
    given |= {
        SCRATCH_VARIABLE: folder,
        LIFELINE_VARIABLE: str(lifeline),
        "TMPDIR": folder,
        "HOME": folder,
        "KERAS_HOME": folder,
        "XDG_CACHE_HOME": folder,
        "XDG_CONFIG_HOME": folder,
        "CUDA_CACHE_PATH": folder,
        "PYTHONUSERBASE": site.getuserbase(),  # found from HOME otherwise, and TensorFlow may be installed there
        "PYTHONDONTWRITEBYTECODE": "1",
        "KERAS_BACKEND": "tensorflow",
        "HDF5_PLUGIN_PRELOAD": "::",  # no filter plugins: a model file could name one
    }
    given.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    given["TF_ENABLE_ONEDNN_OPTS"] = "0"  # its rewrites and scratch memory are the CPU's own; GPUs have nothing like it
    given |= more or {}
    if not gpu:
        given["CUDA_VISIBLE_DEVICES"] = "-1"
    return given


def limit(process: int, limits: Limits) -> None:
    """Bound a child from outside, so that it need not cooperate. Memory and time are watched, see `GroupMemory`."""
    if not hasattr(resource, "prlimit"):
        return
    for kind, most in bounds(limits):
        _, hard = resource.prlimit(process, kind)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.prlimit(process, kind, (most, most))


def bounds(limits: Limits) -> Sequence[tuple[int, int]]:
    """What the kernel enforces, once and for all for a process."""
    bounds = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.files),
    ]
    if limits.address_bytes is not None:
        bounds.append((resource.RLIMIT_AS, limits.address_bytes))
    if limits.data_bytes is not None:
        bounds.append((resource.RLIMIT_DATA, limits.data_bytes))
    return bounds
