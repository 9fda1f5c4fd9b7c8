"""The worker's language. One request goes in on stdin, one line of JSON; events come out, one line each;
the last one is always `Finished` or `Failed`:

    -> {"type": "Describe", "model": {...}}
    <- {"type": "Started", "sandbox": ["no network", ...], "missing": []}
    <- {"type": "Progress", "done": 1, "of": 3, "text": "importing TensorFlow"}
    <- {"type": "Finished", "result": {"name": "resnet50", ...}}
"""

from collections.abc import Mapping
from typing import ClassVar

import msgspec
from msgspec import Raw, Struct

from planner_app.core.compile.check import Program
from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Backend, Jit, Setup, StepSetup
from planner_app.errors import PlannerError

MIB = 1 << 20
GIB = 1 << 30

REQUEST_BYTES = 256 * MIB  # a checked configuration is at most 64 MiB; escaping can make it four times as long
FINISHED_BYTES = 64 * MIB  # the longest answer: the trace of a model of many thousand layers
FIRST_REGION = 2 * MIB  # of an allocator that grows; added to the limit if a single region must hold all of it
EVENT_BYTES = 256 << 10  # any other event: a sentence and a traceback


class Limits(Struct, frozen=True, kw_only=True):
    """What a child may use before it is stopped.

    Attributes:
        memory_bytes: Resident memory of the child and whatever it started, watched from outside. Address space is not
            limited unless asked for, since CUDA reserves far more of it than it ever uses.
        seconds: From the request to the last event; time in which it waited for a processor is not counted.
        silence_seconds: The longest time without an event, for work that reports progress; longer means it hangs.
        file_bytes: The largest file the child may write.
        files: Open at the same time.
        disk_bytes: All files of the child together, including those without a name.
        threads: Running at the same time; more on a machine with many processors.
    """

    memory_bytes: int
    seconds: float
    silence_seconds: float | None = None
    address_bytes: int | None = None
    data_bytes: int | None = None
    file_bytes: int = GIB
    files: int = 1024
    disk_bytes: int = 2 * GIB
    threads: int = 1024


class Request(Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """One task for a worker. What it needs is known before the child starts.

    Attributes:
        limits: What it may use by default.
    """

    limits: ClassVar[Limits] = Limits(memory_bytes=2 * GIB, seconds=120)

    @property
    def gpu(self) -> bool:
        """Whether it runs on the GPUs and must see them."""
        return False

    def environment(self) -> Mapping[str, str]:
        """Variables that libraries read at import, so they must be set when the child starts."""
        return {}

    def reads(self) -> tuple[str, ...]:
        """The only files and folders of the user that the child may read."""
        return ()

    def hands_over(self) -> str | None:
        """A file that the child is given open, so that what it reads is what was there when it was asked."""
        return None


class Inspect(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Read and check a model file, without TensorFlow. Answers with a `CheckedModel`."""

    # Hashing 100 GB takes minutes but reports progress; libhdf5 in an endless loop does not.
    limits: ClassVar[Limits] = Limits(
        memory_bytes=GIB,
        seconds=600,
        silence_seconds=15,
        data_bytes=2 * GIB,
        file_bytes=16 * MIB,
        disk_bytes=64 * MIB,
        threads=64,
    )

    path: str
    custom: str | None = None
    trust: tuple[str, ...] = ()

    def hands_over(self) -> str | None:
        return None if self.path.endswith(".py") or _file_of(self.path) != self.path else self.path

    def environment(self) -> Mapping[str, str]:
        return {"OPENBLAS_NUM_THREADS": "1"}  # NumPy's OpenBLAS would take memory for each core

    def reads(self) -> tuple[str, ...]:
        return (_file_of(self.path), *_folder_of(self.custom))


class CheckUp(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Report what this Python has. Answers with `Surroundings`, or with `Started` if TensorFlow is started."""

    start_tensorflow: bool = False

    @property
    def gpu(self) -> bool:
        return self.start_tensorflow  # one question is whether it sees the GPUs


class Describe(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Rebuild a checked model without its weights. Answers with a `ModelDescription`."""

    model: CheckedModel
    sizes: dict[str, tuple[int, ...]] = {}

    def reads(self) -> tuple[str, ...]:
        return (*_folder_of(self.model.custom), *_folder_of(self.model.data))


class Trace(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Trace one training step without running it. Answers with a `StepTrace`."""

    limits: ClassVar[Limits] = Limits(memory_bytes=6 * GIB, seconds=1800)

    model: CheckedModel
    setup: StepSetup

    def environment(self) -> Mapping[str, str]:
        return _backend(self.setup)

    def reads(self) -> tuple[str, ...]:
        return (*_folder_of(self.model.custom), *_folder_of(self.model.data))


class ShardedState(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """List the variables of a step on JAX, for any mesh and layout. Answers with a `ModelState`."""

    limits: ClassVar[Limits] = Trace.limits

    model: CheckedModel
    setup: StepSetup

    def environment(self) -> Mapping[str, str]:
        return _backend(self.setup)

    def reads(self) -> tuple[str, ...]:
        return (*_folder_of(self.model.custom), *_folder_of(self.model.data))


class Lower(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Lower a training step to an XLA program, without weights in memory. Answers with a `Program`.

    Attributes:
        target: On JAX, a GPU as a text proto: JAX lowers for devices. The program is the same for all of them.
    """

    model: CheckedModel
    setup: StepSetup
    batch: int
    jit: Jit = Jit.AUTO
    target: str = ""

    def environment(self) -> Mapping[str, str]:
        return _backend(self.setup)

    def reads(self) -> tuple[str, ...]:
        return (*_folder_of(self.model.custom), *_folder_of(self.model.data))


class Compile(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Compile a program for a GPU that need not be there. Answers with a `Compiled`.

    Attributes:
        target: The GPU as a text proto; `name` is what to call it.
    """

    program: Program
    target: str
    name: str


class Measure(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Run real training steps in this one process. Answers with a `Run`; every `Step` comes with a `Progress` too.

    Attributes:
        steps: How many; in each call of `fit`, if there are some.
        fits: How many calls of `fit` to make instead of single steps.
        watch: UUIDs of the GPUs, for NVML and for CUDA.
        grows: Report memory that the last steps allocate and don't free.
        one_region: The CPU's allocator takes its whole limit at once, as a GPU's does, not in regions that double.
    """

    # A step that takes more than half an hour hangs.
    limits: ClassVar[Limits] = Limits(
        memory_bytes=64 * GIB,
        seconds=24 * 3600,
        silence_seconds=1800,
        file_bytes=16 * GIB,
        disk_bytes=64 * GIB,
        files=65536,
    )

    model: CheckedModel
    setup: Setup
    place: Place
    order: Order = Order.ORDINARY
    steps: int = 5
    fits: int = 0
    watch: tuple[str, ...] = ()
    grows: bool = False
    one_region: bool = False

    @property
    def gpu(self) -> bool:
        return self.place.on_gpu

    def reads(self) -> tuple[str, ...]:
        return (*_folder_of(self.model.custom), *_folder_of(self.model.data))

    def environment(self) -> Mapping[str, str]:
        said = {"TF_CPP_MIN_LOG_LEVEL": "1"}  # warnings, so that the output of a process that dies names the operation
        jax = self.setup.backend is Backend.JAX
        if self.place.on_gpu:
            seen = ",".join(self.watch or map(str, self.place.gpus))
            said |= {"CUDA_VISIBLE_DEVICES": seen, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
            return said | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cuda"} if jax else said
        if jax:
            return {**said, **_backend(self.setup)}
        limit = self.place.limit_bytes if self.place.limit_bytes is not None else self.limits.memory_bytes
        limit += FIRST_REGION if self.one_region else 0
        return said | {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(max(1, limit // MIB))}


class Event(Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """A message from the worker."""


class Started(Event, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """The child is about to start its task.

    Attributes:
        sandbox: What confines it, a few words each.
        missing: What is missing from the sandbox, and why.
    """

    sandbox: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Progress(Event, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """How far it is.

    Attributes:
        results: Partial results since the last event, worth keeping if the work is cut short.
    """

    done: int
    of: int
    text: str
    results: tuple[Raw, ...] = ()


class Finished(Event, frozen=True, kw_only=True, tag=True, tag_field="type"):
    result: Raw


class Failed(Event, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """The task failed. `error` names a class of `planner_app.errors`; `reason` is a sentence for the user."""

    error: str
    reason: str
    detail: str = ""


def encode_request(request: Request) -> bytes:
    try:
        line = msgspec.json.encode(request) + b"\n"
    except UnicodeEncodeError as error:
        shown = str(error.object).encode("utf-8", "replace").decode()
        raise PlannerError(f"The name {shown!r} is not valid UTF-8: rename the file and try again.") from error
    if len(line) > REQUEST_BYTES:
        raise PlannerError(
            f"The request is {len(line) >> 20} MiB long; a worker accepts at most {REQUEST_BYTES >> 20} MiB."
        )
    return line


def _backend(setup: StepSetup | Setup) -> Mapping[str, str]:
    """Keras reads it at import. On JAX there is no GPU to look for: those that matter are described."""
    return {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"} if setup.backend is Backend.JAX else {}


def _file_of(path: str) -> str:
    """The file of `file.py:function`, or the path itself."""
    file, colon, function = path.rpartition(":")
    return file if colon and function.isidentifier() and file.endswith(".py") else path


def _folder_of(custom: str | None) -> tuple[str, ...]:
    """The file's folder, since a Python file may import its neighbours."""
    if custom is None:
        return ()
    folder, slash, _ = _file_of(custom).rpartition("/")
    return (folder or slash or ".",)
