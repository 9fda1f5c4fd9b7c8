"""Model and setup to the program XLA gets from JAX: StableHLO for every GPU of a mesh, no weight in memory."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from planner_app.core.compile.check import Program
from planner_app.errors import ModelError
from planner_app.jobs import protocol
from planner_app.worker.compile.compiler import check_installed, versions
from planner_app.worker.importing import quickly

Report = Callable[[int, int, str], None]

NAMES = re.compile(r'loc\("(jit\([^"]+)"')


def lower(request: protocol.Lower, report: Report) -> Program:
    check_installed()
    report(0, 4, "importing JAX")
    with quickly():
        from planner_app.worker.jax import step
        from planner_app.worker.jax.distribution import described_devices, distributed, distribution
        from planner_app.worker.jax.naming import Names
        from planner_app.worker.jax.state import laid_out

    report(1, 4, "laying out the model")
    setup = laid_out(request.model, request.setup)
    devices = described_devices(request.target, setup.mesh.gpus)
    over = distribution(setup.mesh, setup.layout, devices) if setup.mesh.gpus > 1 else None
    with distributed(over):
        report(1, 4, "rebuilding the model")
        made = step.build(request.model, setup)
        report(2, 4, "tracing the training step")
        given = step.arguments(made, request.batch * setup.mesh.data, devices[0])
        traced = step.trace(made, given)
        report(3, 4, "turning it into a program for XLA")
        lowered = _lowered(traced)
    module = lowered.compiler_ir("stablehlo")
    text = module.operation.get_asm(enable_debug_info=True)
    return Program(
        hlo=zlib.compress(text.encode()),
        digest=sha256(module.operation.get_asm(enable_debug_info=False).encode()).hexdigest(),
        layers=Names(made.model).of(sorted(set(NAMES.findall(text)))),
        versions=versions(),
        partitions=setup.mesh.gpus,
    )


def _lowered(traced: Any) -> Any:
    import jax

    try:
        return traced.lower()
    except (ValueError, TypeError, NotImplementedError, jax.errors.JaxRuntimeError) as error:
        said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ModelError(
            f"JAX can't make a program of the step: {said[:300].rstrip('.')}.", str(error)[:4000]
        ) from error
