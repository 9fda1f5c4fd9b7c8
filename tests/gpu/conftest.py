from pathlib import Path

import pytest
from nvml_library import COMPILER, Standin


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Standin:
    if COMPILER is None:
        pytest.skip("no C compiler, which makes the stand-in for NVIDIA's library")
    return Standin(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(compiled: Standin, tmp_path: Path) -> Standin:
    compiled.says("gpus 1")
    return compiled
