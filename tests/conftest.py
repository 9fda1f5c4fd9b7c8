"""Where tests run: away from the user's own folders, in a terminal of a known width, with one cache of traces.

The folders are made before anything of ours is imported, and by the first process only: those that share the
work (pytest-xdist) and those that tests start inherit them.
"""

import os
import shutil
import site
import tempfile
from pathlib import Path

RUN_VARIABLE = "PLIMSOLL_TEST_RUN"  # the folder of this run, for every process that takes part
WORKER_VARIABLE = "PYTEST_XDIST_WORKER"
PICTURES = Path(__file__).parents[1] / "build" / "pictures"


def pytest_unconfigure() -> None:
    if WORKER_VARIABLE not in os.environ:
        shutil.rmtree(RUN, ignore_errors=True)


def own_surroundings(run: Path) -> dict[str, str]:
    """Traces are shared, since an entry is found only by what it was made from. All else is each process's own."""
    mine = run / os.environ.get(WORKER_VARIABLE, "alone")
    home = mine / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {
        RUN_VARIABLE: str(run),
        "PYTHONUSERBASE": site.getuserbase(),  # found from HOME otherwise, and TensorFlow may be installed there
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "PLIMSOLL_CACHE": str(run / "traces"),
        "PLIMSOLL_CALIBRATIONS": str(mine / "calibrations"),
        "PLIMSOLL_SEARCHES": str(mine / "searches"),
        "PLIMSOLL_SETTINGS": str(mine / "settings"),
        "COLUMNS": "80",
        "LINES": "24",
        "QT_QPA_PLATFORM": "offscreen",
    }


RUN = Path(os.environ.get(RUN_VARIABLE) or tempfile.mkdtemp(prefix="plimsoll-tests-"))
for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PLIMSOLL_PYTHON", "PLIMSOLL_WORKER", "TF_CONFIG"):
    os.environ.pop(name, None)
os.environ |= own_surroundings(RUN)
PICTURES.mkdir(parents=True, exist_ok=True)
