"""A program and a target to the compiler's figures: arguments, temporary memory, and whose buffers are at the peak.

XLA lays out the memory of a program before it generates machine code, and writes the layout down. What comes after that
is five sixths of its time and changes nothing here, so nobody waits for it: the worker ends with this one request.
"""

from __future__ import annotations

import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from planner_app.core.compile.check import Compiled
from planner_app.errors import ModelError, WorkerError
from planner_app.jobs import protocol
from planner_app.worker.compile import compiler
from planner_app.worker.compile.buffers import is_laid_out, layout_of
from planner_app.worker.compile.hlo_text import readable

Report = Callable[[int, int, str], None]

REASON_CHARACTERS = 300
LOOK_SECONDS = 0.05


def compile(request: protocol.Compile, report: Report) -> Compiled:
    compiler.check_installed()
    dump = tempfile.mkdtemp()
    compiler.prepare(dump)
    report(0, 3, "importing XLA")
    from jax.errors import JaxRuntimeError

    text, partitions = zlib.decompress(request.program.hlo).decode(), request.program.partitions
    module = _stablehlo(text) if partitions else _module(text)
    topology = _topology(request.target, max(partitions, 1))
    report(1, 3, f"compiling for {request.name}")
    started = time.monotonic()
    compilation = _Compilation(module, topology, partitions)
    compilation.start()
    while compilation.is_alive() and not is_laid_out(Path(dump)):
        compilation.join(LOOK_SECONDS)
    error = None if is_laid_out(Path(dump)) else compilation.error
    if isinstance(error, JaxRuntimeError):
        said = next((line for line in str(error).splitlines() if line.strip()), "")
        raise ModelError(
            f"XLA can't compile the step for {request.name}: {said[:REASON_CHARACTERS].rstrip('.')}.", str(error)[:4000]
        ) from error
    if error is not None:
        raise error
    seconds = time.monotonic() - started
    report(2, 3, "reading its buffers")
    if not is_laid_out(Path(dump)):
        raise WorkerError(f"XLA compiled the step for {request.name} and did not write down its memory.")
    return replace(layout_of(Path(dump)), seconds=round(seconds, 3))


class _Compilation(threading.Thread):
    """The compiler at work, with the interpreter's lock released."""

    def __init__(self, module: Any, topology: Any, partitions: int) -> None:
        super().__init__(daemon=True)
        self._module, self._topology, self._partitions = module, topology, partitions
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            _compile(self._module, self._topology, self._partitions)
        except BaseException as error:  # re-raised in the waiting thread
            self.error = error


def _module(text: str) -> Any:
    """HLO as the compiler takes it."""
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir

    hlo = import_module("jaxlib._hlo").hlo_module_from_text(readable(text))
    try:
        with mlir.make_ir_context():
            return ir.Module.parse(_jax.mlir.hlo_to_stablehlo(hlo.as_serialized_hlo_module_proto()))
    except (ir.MLIRError, ValueError) as error:
        lines = [line for line in str(error).splitlines() if "error:" in line] or [str(error)]
        raise ModelError(
            f"XLA's compiler does not take the step as TensorFlow writes it: {lines[0][:REASON_CHARACTERS]}.",
            str(error)[:4000],
        ) from error


def _stablehlo(text: str) -> Any:
    """As JAX writes it, the compiler takes it."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        return ir.Module.parse(text)


def _topology(target: str, gpus: int) -> Any:
    from jax.experimental import topologies

    return topologies.get_topology_desc(platform="cuda", target_config=target, topology=f"1x1x{gpus}")


def _compile(module: Any, topology: Any, partitions: int) -> None:
    from jaxlib import _jax

    options = import_module("jax._src.lib").xla_client.CompileOptions()
    if partitions:
        options = import_module("jax._src.compiler").get_compile_options(
            num_replicas=1, num_partitions=partitions, device_assignment=np.arange(partitions).reshape(1, partitions)
        )
    devices = _jax.DeviceList(tuple(topology.devices))
    topology.devices[0].client.compile(module, devices, options)
