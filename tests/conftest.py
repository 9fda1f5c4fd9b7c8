"""Where tests run: away from the user's own folders, in a terminal of a known width, with one cache of traces.

The folders are made before anything of ours is imported, and by the first process only: those that share the
work (pytest-xdist) and those that tests start inherit them.
"""

import os
import shutil
import site
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import Children

RUN_VARIABLE = "PLIMSOLL_TEST_RUN"  # the folder of this run, for every process that takes part
WORKER_VARIABLE = "PYTEST_XDIST_WORKER"
PICTURES = Path(__file__).parents[1] / "build" / "pictures"


# Files that take longest, in this order, then folders, then the others: the processes that share the work end together.
BEGIN_WITH = (
    "test_equality test_for_real test_gallery test_accuracy test_training test_one_answer test_measuring "
    "test_arguments test_examples test_opening_on_a_screen test_applications test_describe_command "
    "test_chart_on_a_screen test_measure_commands test_supervised test_on_jax test_properties test_api "
    "test_runs_as_measurements test_trusted test_tuning test_validate test_compile_command test_asking "
    "test_plan_commands test_repeated test_rebuild test_flops train measure sharding screen advise gui models "
    "traces compiling commands"
).split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(BEGIN_WITH)}
    items.sort(key=lambda item: min(place.get(name, len(place)) for name in (item.path.stem, item.path.parent.name)))


def pytest_unconfigure() -> None:
    if WORKER_VARIABLE not in os.environ:
        shutil.rmtree(RUN, ignore_errors=True)


@pytest.fixture
def children() -> Children:
    """Call it for the processes that this test has started and that are still there."""
    return Children()


@pytest.fixture(scope="module", autouse=True)
def nothing_is_known_yet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No file's tests see what those of another have measured, searched for or chosen."""
    from planner_app.files.writing import unkept

    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PLIMSOLL_CALIBRATIONS", "PLIMSOLL_SEARCHES", "PLIMSOLL_SETTINGS"):
            patch.setenv(name, str(folder / name.lower()))
        patch.setattr("planner_app.planner.tracer.MOST_AT_A_TIME", 1)  # other tests have the other cores
        yield
    unkept()  # what could not be saved in a test is not told by the next command of another


@pytest.fixture(scope="module")
def same_workers(nothing_is_known_yet: None) -> Iterator[None]:
    """All questions of a file's tests are asked of the same workers: TensorFlow is imported once for them."""
    from planner_app.jobs.pool import WorkerPool

    with WorkerPool() as workers, pytest.MonkeyPatch.context() as patch:
        patch.setattr("planner_app.planner.planner.WorkerPool", lambda: workers)
        yield


def own_surroundings(run: Path) -> dict[str, str]:
    """Traces are shared by all: an entry is found only by what it was made from."""
    home = run / os.environ.get(WORKER_VARIABLE, "alone")
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
        "PLIMSOLL_COMPILER": "never",  # but by the tests that are about it
        "COLUMNS": "120",
        "LINES": "24",
        "QT_QPA_PLATFORM": "offscreen",
    }


RUN = Path(os.environ.get(RUN_VARIABLE) or tempfile.mkdtemp(prefix="plimsoll-tests-"))
for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PLIMSOLL_PYTHON", "PLIMSOLL_WORKER", "TF_CONFIG"):
    os.environ.pop(name, None)
os.environ |= own_surroundings(RUN)
PICTURES.mkdir(parents=True, exist_ok=True)
