"""A program and a target to the compiler's figures: arguments, temporary memory, and whose buffers are at the peak."""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planner_app.core.compile.check import Compiled
from planner_app.errors import ModelError
from planner_app.jobs import protocol
from planner_app.worker.compile import compiler
from planner_app.worker.compile.buffers import peak_of

Report = Callable[[int, int, str], None]

REASON_CHARACTERS = 300


def compile(request: protocol.Compile, report: Report) -> Compiled:
    compiler.check_installed()
    dump = tempfile.mkdtemp()
    compiler.prepare(dump)
    report(0, 3, "importing XLA")
    from jax.errors import JaxRuntimeError

    module, topology = _module(zlib.decompress(request.program.hlo).decode()), _topology(request.target)
    report(1, 3, f"compiling for {request.name}")
    started = time.monotonic()
    try:
        executable = _executable(module, topology)
    except JaxRuntimeError as error:
        said = next((line for line in str(error).splitlines() if line.strip()), "")
        raise ModelError(
            f"XLA can't compile the step for {request.name}: {said[:REASON_CHARACTERS].rstrip('.')}.", str(error)[:4000]
        ) from error
    seconds = time.monotonic() - started
    report(2, 3, "reading its buffers")
    stats = executable.get_compiled_memory_stats()
    peak_bytes, buffers = peak_of(Path(dump))
    return Compiled(
        argument_bytes=stats.argument_size_in_bytes,
        output_bytes=stats.output_size_in_bytes,
        alias_bytes=stats.alias_size_in_bytes,
        temp_bytes=stats.temp_size_in_bytes,
        peak_bytes=peak_bytes,
        buffers=buffers,
        seconds=round(seconds, 3),
    )


def _module(text: str) -> Any:
    """HLO as the compiler takes it. `copy` has no twin in StableHLO; a reshape to the same shape is one."""
    from jax._src.interpreters import mlir
    from jaxlib import _hlo, _jax
    from jaxlib.mlir import ir

    hlo = _hlo.hlo_module_from_text(text.replace(" copy(", " reshape("))
    with mlir.make_ir_context():
        return ir.Module.parse(_jax.mlir.hlo_to_stablehlo(hlo.as_serialized_hlo_module_proto()))


def _topology(target: str) -> Any:
    from jax.experimental import topologies

    return topologies.get_topology_desc(platform="cuda", target_config=target, topology="1x1x1")


def _executable(module: Any, topology: Any) -> Any:
    from jax._src.lib import xla_client
    from jaxlib import _jax

    devices = _jax.DeviceList(tuple(topology.devices))
    return topology.devices[0].client.compile(module, devices, xla_client.CompileOptions())
