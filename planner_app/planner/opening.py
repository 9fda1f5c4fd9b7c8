"""From a model file to what is known about it: the same two children for the command line and the app.

opened = open_model("resnet50.keras")
opened.checked        # read by a child without TensorFlow: what every trace, compilation and measurement starts from
opened.description    # by a child with TensorFlow, from `checked` alone; kept for the next time
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import msgspec

from planner_app.core.model.description import CheckedModel, ModelDescription, says_its_size
from planner_app.errors import ModelError, PythonError, WorkerError
from planner_app.files.kept.descriptions import DescriptionCache, description_key
from planner_app.jobs.job import run
from planner_app.jobs.protocol import GIB, Describe, Inspect, Limits, Progress, Started
from planner_app.jobs.versions import worker_versions
from planner_app.jobs.warm import WarmWorker

# Measured with tests/benchmarks/describe_scale.py: 0.55 GiB and 4 s for TensorFlow and little else; each megabyte of
# configuration, some 2800 layers, adds 0.35 GiB and 20 s. Three times that is a model that will never be done.
BASE_BYTES, BYTES_PER_BYTE = 3 * GIB // 2, 1000
BASE_SECONDS, SECONDS_PER_MEGABYTE = 60.0, 60.0
MOST_BYTES, MOST_SECONDS = 8 * GIB, 900.0  # however long a configuration somebody has written


@dataclass(frozen=True, slots=True)
class Opened:
    checked: CheckedModel
    description: ModelDescription


def open_model(
    path: str,
    custom: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    sizes: Mapping[str, tuple[int, ...]] | None = None,
    cancelled: threading.Event | None = None,
    *,
    trust: Sequence[str] = (),
    data: str | None = None,
) -> Opened:
    """Reads, checks and describes a model.

    Args:
        path: A `.keras`, `.h5` or `.json` file, a SavedModel folder, or `file.py:function`.
        custom: A Python file of the user's that defines the model's own classes.
        on_progress: Called with every step that is said to be done.
        sizes: Sizes of inputs without the batch, by name: fills those that the file does not say.
        cancelled: Once set, from any thread, the children are ended and `Cancelled` is raised.
        trust: Installed packages whose registered classes the file may name, as in "keras_hub".
        data: `file.py:function` that gives one batch of what the model is trained on, a dataset or specs.

    Raises:
        ModelError: The file can't be read, or holds what must not be rebuilt.
        WorkerError: A child died, hung or ran over its limits.
    """
    checked = check_model(path, custom, on_progress, cancelled, trust=trust, data=data)
    return Opened(checked, describe_model(checked, path, sizes, on_progress, cancelled))


def describe_model(
    checked: CheckedModel,
    path: str,
    sizes: Mapping[str, tuple[int, ...]] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
    worker: WarmWorker | None = None,
) -> ModelDescription:
    """The second half: what Keras makes of it, without its weights. Out of the cache where it is known.

    Args:
        worker: Is asked, so that it has TensorFlow imported for what comes next; by default one of its own.
    """
    sizes = dict(sizes or {})
    cache, key = DescriptionCache(), description_key(checked, sizes, worker_versions())
    if (known := cache.description(key)) is not None:
        return known
    with _named(path, "described"):
        found = (worker.run if worker else run)(
            Describe(model=checked, sizes=sizes),
            ModelDescription,
            describe_limits(checked),
            on_progress,
            cancelled=cancelled,
        )
    cache.keep_description(key, found)
    return found


def check_model(
    path: str,
    custom: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
    *,
    trust: Sequence[str] = (),
    data: str | None = None,
) -> CheckedModel:
    """The first half: what the reader takes out of the file, without TensorFlow."""
    # Children live in folders of their own: a relative path means nothing to them.
    request = Inspect(path=absolute(path), custom=absolute(custom) if custom else None, trust=tuple(trust))
    guards: list[Started] = []
    with _named(path, "read"):  # libhdf5 can hang on a damaged file
        checked = run(request, CheckedModel, on_progress=on_progress, on_start=guards.append, cancelled=cancelled)
    if data is not None:
        if ".py:" not in data:
            raise ModelError(f"--data {data}: expected file.py:function, a function that returns one batch.")
        checked = replace(checked, data=absolute(data))
    if guards and guards[0].missing:
        unguarded = f"The file was read without a whole sandbox: {'; '.join(guards[0].missing)}."
        return replace(checked, warnings=(*checked.warnings, unguarded))
    return checked


def absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - of `file.py:function` too


def file_name(path: str) -> str:
    """What plans call a model: without its folder, but with the function where there is one."""
    return path.rstrip("/").replace("\\", "/").rpartition("/")[2]


@contextmanager
def _named(path: str, what: str) -> Iterator[None]:
    """A worker that died or was stopped: say over which file."""
    try:
        yield
    except PythonError:
        raise
    except WorkerError as error:
        name = os.path.basename(path)  # noqa: PTH119
        raise WorkerError(f"{name!r} can't be {what}: {error}", error.detail) from error


def describe_limits(checked: CheckedModel) -> Limits:
    """Rebuilding takes time and memory by the number of layers, which the length of the configuration tells."""
    if not says_its_size(checked):
        return Limits(memory_bytes=MOST_BYTES, seconds=MOST_SECONDS)
    length = len(msgspec.json.encode(checked.config))
    return Limits(
        memory_bytes=min(BASE_BYTES + BYTES_PER_BYTE * length, MOST_BYTES),
        seconds=min(BASE_SECONDS + SECONDS_PER_MEGABYTE * length / 1e6, MOST_SECONDS),
    )
