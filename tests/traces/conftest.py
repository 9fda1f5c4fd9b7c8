from collections.abc import Iterator

import pytest
from lab import Lab

from planner_app.files.kept.traces import TraceCache
from planner_app.jobs.warm import WarmWorker


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """One worker with TensorFlow for all tests of this folder that run in this process."""
    with WarmWorker() as worker:
        yield Lab(worker, TraceCache())
