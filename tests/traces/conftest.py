from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import Lab

from planner_app.files.kept.traces import TraceCache
from planner_app.jobs.warm import WarmWorker


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One worker with TensorFlow for all tests of this folder, and a cache that starts empty."""
    folder: Path = tmp_path_factory.mktemp("traces")
    with WarmWorker() as worker:
        yield Lab(worker, TraceCache(folder))
