"""From a checked model, setups and devices to compile checks: out of the cache, or from workers.

    for check in compile_checks(model, [Setup(batch=32)], [find_device("NVIDIA L4")]):
        show(check)

A step is turned into a program once for all devices, by a worker with TensorFlow; each compilation is a fresh worker,
without TensorFlow, for a compiler that fails may take its process with it.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from planner_app.core.compile.check import CompileCheck, Compiled, Program, capacity_of
from planner_app.core.compile.target import Target
from planner_app.core.hardware.device import Device
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import NEWEST, Backend, Jit, Setup, StepSetup
from planner_app.errors import SetupError
from planner_app.files.devices.targets import target_of
from planner_app.files.kept.compiled import CompileCache, compiled_key, program_key
from planner_app.jobs.job import Job, result_of
from planner_app.jobs.protocol import GIB, Compile, Limits, Lower, Progress
from planner_app.jobs.versions import worker_versions
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.tracer import trace_limits

# Measured on steps of 0.1 to 4 MB of HLO: 0.4 GiB and a second for XLA alone, then 0.2 GiB and 4 to 30 s more for each
# MB. Many times that is a program that will never be done.
COMPILER_BYTES, COMPILER_BYTES_PER_BYTE = 2 * GIB, 1000
COMPILER_SECONDS, COMPILER_SECONDS_PER_MEGABYTE = 300.0, 200.0
PACKED = 12  # HLO is that much longer than its compressed form

OnProgress = Callable[[Progress], None]


class Compiler:
    """Compile checks of one model. Once `cancelled` is set, from any thread, waiting callers raise `Cancelled`.

    A `worker` that is given makes the programs and stays open; otherwise there is one until `close`.
    """

    def __init__(
        self,
        model: CheckedModel,
        cache: CompileCache | None = None,
        cancelled: threading.Event | None = None,
        worker: WarmWorker | None = None,
    ) -> None:
        self.model = model
        self._cache = cache or CompileCache()
        self._worker, self._owns_worker = worker or WarmWorker(), worker is None
        self._cancelled = cancelled or threading.Event()

    def check(self, setup: Setup, device: Device, on_progress: OnProgress | None = None) -> CompileCheck:
        """What the compiler says of this setup on this device.

        Raises:
            SetupError: This setup is not compiled by XLA.
            DeviceError: The device is not a GPU, or its compute capability is unknown.
            ModelError: XLA can't compile the step; the sentence names the operation and its layer.
            WorkerError: JAX's compiler is not installed, or a child died, hung or ran over its limits.
        """
        target = target_of(device)
        program = self._program(setup, target, on_progress)
        key = compiled_key(program.digest, target.text, program.versions)
        known = self._cache.compiled(key)
        compiled = known or self._compiled(program, target, on_progress)
        if known is None:
            self._cache.keep_compiled(key, compiled)
        return CompileCheck(
            setup=setup,
            device=device.name,
            target=target,
            compiled=_with_layers(compiled, program.layers),
            capacity_bytes=capacity_of(device),
            program=program.digest,
            versions=program.versions,
            warnings=(*program.warnings, *_doubts(target)),
            cached=known is not None,
        )

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self) -> None:
        if self._owns_worker:
            self._worker.close()

    def __enter__(self) -> "Compiler":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _program(self, setup: Setup, target: Target, on_progress: OnProgress | None) -> Program:
        step = compiled_step(setup)
        key = program_key(self.model, step, setup.per_gpu_batch, setup.jit, worker_versions())
        program = self._cache.program(key)
        if program is None:
            text = target.text if setup.backend is Backend.JAX else ""
            request = Lower(model=self.model, setup=step, batch=setup.per_gpu_batch, jit=setup.jit, target=text)
            job = self._worker.job(request, trace_limits(self.model), self._cancelled)
            program = result_of(job, Program, on_progress)
            self._cache.keep_program(key, program)
        return program

    def _compiled(self, program: Program, target: Target, on_progress: OnProgress | None) -> Compiled:
        request = Compile(program=program, target=target.text, name=target.name)
        return result_of(Job(request, compiler_limits(program), cancelled=self._cancelled), Compiled, on_progress)


def compile_checks(
    model: CheckedModel, setups: Sequence[Setup], devices: Sequence[Device], on_progress: OnProgress | None = None
) -> Iterator[CompileCheck]:
    """Every setup on every device, each as soon as it is known."""
    for device in devices:
        target_of(device)  # what can't be compiled for is said before minutes are spent on others
    with Compiler(model) as compiler:
        for setup in setups:
            for device in devices:
                yield compiler.check(setup, device, on_progress)


def compiled_step(setup: Setup) -> StepSetup:
    """The step that is compiled: with its own precision, since the compiler tells sixteen-bit types apart.

    Who asks for a program gets one, even if the model was saved with jit_compile=False.
    """
    if setup.backend is Backend.JAX:
        return setup.step(NEWEST)
    if setup.gpus > 1:
        raise SetupError(
            f"A step on {setup.gpus} GPUs is not one program: Keras leaves XLA off under a distribution strategy. "
            "Check one GPU, with the batch that each of them gets."
        )
    if setup.jit is Jit.OFF:
        raise SetupError("With --jit off XLA compiles nothing: leave it out, and what Keras does by itself is checked.")
    return replace(setup.step(NEWEST), precision=setup.precision, xla=True, left_to_model=False)


def compiler_limits(program: Program) -> Limits:
    length = PACKED * len(program.hlo)
    return Limits(
        memory_bytes=COMPILER_BYTES + COMPILER_BYTES_PER_BYTE * length,
        seconds=COMPILER_SECONDS + COMPILER_SECONDS_PER_MEGABYTE * length / 1e6,
    )


def _with_layers(compiled: Compiled, layers: Mapping[str, str]) -> Compiled:
    """The compiler knows operations; which layer's they are, the model knows."""
    buffers = tuple(replace(buffer, layer=layers.get(buffer.operation, "")) for buffer in compiled.buffers)
    return replace(compiled, buffers=buffers)


def _doubts(target: Target) -> tuple[str, ...]:
    if target.published:
        return ()
    return (
        f"OpenXLA has published no figures of the {target.name}: {', '.join(target.derived)} are worked out from its "
        "compute capability and the catalogue.",
    )
