"""Model and setup to the program XLA gets: the step's HLO, its variables as arguments, no weight in memory."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

from planner_app.core.compile.check import Program
from planner_app.core.model.setup import Backend, Jit
from planner_app.errors import ModelError, SetupError
from planner_app.jobs import protocol
from planner_app.worker.compile.compiler import check_installed, versions
from planner_app.worker.importing import collect_seldom, quickly

Report = Callable[[int, int, str], None]

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
PLACES = re.compile(r' source_(?:file="[^"]*"|(?:end_)?(?:line|column)=\d+)')  # in whose Python an operation was made
NUMBERED = re.compile(r"a_inference_(\w+?)_\d+__")  # how many functions the process has traced before
OPERATIONS = re.compile(r'op_name="([^"]+)"')
UNSUPPORTED = re.compile(r"unsupported operations .*?: (\w+)(?: \(.*?\))?\s*\{\{node ([^}]+)\}\}", re.DOTALL)
NODE = re.compile(r"\{\{node ([^}]+)\}\}")


def lower(request: protocol.Lower, report: Report) -> Program:
    if request.setup.backend is Backend.JAX:
        from planner_app.worker.jax.lower import lower as lower_on_jax

        return lower_on_jax(request, report)
    check_installed()
    report(0, 4, "importing TensorFlow")
    with quickly():
        import tensorflow as tf

        from planner_app.worker.build.valueless import reserve
        from planner_app.worker.graph.attribution import Attribution
        from planner_app.worker.training.step import as_run, build, trace_step

    collect_seldom()
    report(1, 4, "rebuilding the model")
    made = build(request.model, request.setup)
    warnings = _recurrent(made, as_run, request)
    report(2, 4, "tracing the training step")
    step = trace_step(made, request.batch, compiled=True)
    names = Attribution(made.model)
    report(3, 4, "turning it into a program for XLA")
    try:
        reserve(step.graph.variables)
        text = _hlo(step)
    except (tf.errors.OpError, ValueError) as error:
        raise _refusal(str(error), step, names) from error
    operations = sorted(set(OPERATIONS.findall(text)))
    return Program(
        hlo=zlib.compress(text.encode()),
        digest=sha256(text.encode()).hexdigest(),
        layers={name: layer for name in operations if (layer := names.layer(name))},
        versions=versions(),
        warnings=tuple(warnings),
    )


def _hlo(step: Any) -> str:
    """tf2xla's own, for the CPU: without a GPU's driver there is no other device to ask it for."""
    import tensorflow as tf
    from tensorflow.python.eager import context

    text = (
        context.context()
        .get_compiler_ir(
            device_name=CPU,
            platform_name=None,
            function_name=step.name,
            flat_args=tf.nest.flatten(step.structured_input_signature),
            captured_inputs=step.captured_inputs,
            stage="hlo",
        )
        .decode()
    )
    return NUMBERED.sub(r"\1", PLACES.sub("", text))


def _recurrent(made: Any, as_run: Callable[..., Any], request: protocol.Lower) -> list[str]:
    """Keras compiles a model by itself only if every layer allows it; asked to, it compiles what it can."""
    found, _ = as_run(made, replace(request.setup, xla=True))
    if found.xla:
        return []
    layers = ", ".join(layer.name for layer in made.model._flatten_layers(include_self=False) if _refuses(layer))
    if request.jit is not Jit.ON:
        raise SetupError(
            f"Keras does not compile a model with {layers}, so XLA makes no program of its step: "
            f"`plimsoll estimate` has its memory, and --jit on checks what compiling it anyway comes to."
        )
    return [
        f"Keras does not compile a model with {layers} by itself. Checked as the while loop that compiling it anyway "
        "(jit_compile=True) makes: on a GPU that fails as long as Keras calls cuDNN, which XLA can't compile."
    ]


def _refuses(layer: Any) -> bool:
    from planner_app.worker.training.step import CUDNN_LAYERS

    return isinstance(layer, CUDNN_LAYERS) or not layer.supports_jit


def _refusal(said: str, step: Any, names: Any) -> ModelError:
    """What tf2xla has against the step, with the operation and its layer."""
    kinds = {operation.name: operation.type for operation in step.graph.get_operations()}
    unsupported = UNSUPPORTED.search(said)
    nodes = [unsupported[2]] if unsupported else NODE.findall(said)
    node = next((name for name in nodes if name in kinds), nodes[0] if nodes else "")
    kind = unsupported[1] if unsupported else kinds.get(node, "")
    layer = names.layer(node)
    where = f' in layer "{layer}"' if layer else ""
    operation = f'operation {kind or "of an unknown kind"} ("{node}"){where}' if node or kind else "the step"
    if unsupported:
        reason = f"it has no {kind}"
    else:
        first = next((line.strip() for line in said.splitlines() if line.strip()), "it does not say why")
        reason = NODE.sub("", first.removeprefix("Failed getting HLO text: "))[:300].strip(" '\"")
    return ModelError(
        f"XLA can't compile {operation}: {reason.rstrip('.')}. Train with jit_compile=False.", said[:4000]
    )
