import os
import sys
import tempfile
from pathlib import Path

import pytest

from planner_app.core.model.description import CheckedModel
from planner_app.planner.opening import check_model

sys.path.append(str(Path(__file__).parents[1] / "gpu"))  # the stand-in for NVIDIA's library

PACKAGE = Path(__file__).parents[2] / "planner_app"
DEMO = PACKAGE / "data" / "demo.keras"
LEAKING = Path(__file__).with_name("leaking.py")
PARTICULAR = Path(__file__).with_name("particular.py")


@pytest.fixture(scope="session")
def demo() -> CheckedModel:
    return check_model(str(DEMO))


@pytest.fixture(autouse=True, scope="session")
def places_of_their_own(tmp_path_factory: pytest.TempPathFactory):
    """What is learnt and what is searched here stays here."""
    folder = tmp_path_factory.mktemp("plimsoll")
    names = ("PLIMSOLL_CALIBRATIONS", "PLIMSOLL_SEARCHES")
    before = {name: os.environ.get(name) for name in names}
    os.environ |= {name: str(folder / name) for name in names}
    yield
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where children have their folders: empty when they are gone."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
