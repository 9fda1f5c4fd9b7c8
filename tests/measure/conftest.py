import sys
import tempfile
from pathlib import Path

import pytest
from measured_models import DEMO

from planner_app.core.model.description import CheckedModel
from planner_app.planner.opening import check_model

sys.path.append(str(Path(__file__).parents[1] / "gpu"))  # the stand-in for NVIDIA's library


@pytest.fixture(scope="session")
def demo() -> CheckedModel:
    return check_model(str(DEMO))


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where children have their folders: empty when they are gone."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
