"""TensorFlow's own XLA against the one that Plimsoll asks, of another month: the same steps through both.

    python tests/accuracy/two_compilers.py [MODEL ...]

Without a GPU TensorFlow can only be asked for its CPU, so both compile for that: TensorFlow in one process, jaxlib in
another, from the same HLO. What differs between the two temporary blocks is what the versions differ by; kernels for
CUDA are in neither. The outcome stands in the guide (measuring.md).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from runs import ROOT
from unseen import MODELS, save_models

sys.path.insert(0, str(ROOT))

SOME = ("gpt_plain", "vision_transformer", "separable", "plain_stack", "conformer", "wide_and_deep")
BATCH = 16
PROGRAM = "step.hlo"
# jaxlib's XLA runs operations on the CPU side by side, at the price of memory; no GPU does.
SAME_SCHEDULER = "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"


def by_tensorflow(model: str, folder: Path) -> None:
    import tensorflow as tf
    from tensorflow.python.eager import context

    from planner_app.core.model.setup import Setup
    from planner_app.planner.opening import check_model
    from planner_app.worker.build.valueless import reserve
    from planner_app.worker.compile.lower import CPU
    from planner_app.worker.training.step import build, trace_step

    step = trace_step(build(check_model(model), Setup(batch=BATCH).step("cpu")), BATCH, compiled=True)
    reserve(step.graph.variables)
    for stage in ("hlo", "optimized_hlo"):
        text = context.context().get_compiler_ir(
            device_name=CPU,
            platform_name=None,
            function_name=step.name,
            flat_args=tf.nest.flatten(step.structured_input_signature),
            captured_inputs=step.captured_inputs,
            stage=stage,
        )
        if stage == "hlo":
            (folder / PROGRAM).write_bytes(text)


def by_jax(folder: Path) -> None:
    import jax

    from planner_app.worker.compile.program import _module

    module = _module((folder / PROGRAM).read_text())
    client = jax.devices("cpu")[0].client
    from jaxlib import _jax

    client.compile_and_load(module, _jax.DeviceList(tuple(client.devices()[:1])))


def block_bytes(dump: Path) -> int:
    """The temporary memory of the largest program in a dump."""
    from planner_app.worker.compile.buffers import _totals

    found = [_totals(file.read_text().splitlines())["temp"] for file in dump.glob("*buffer-assignment.txt")]
    return max(found, default=0)


def compiled(who: str, model: str, folder: Path) -> int:
    dump = folder / who
    flags = f"--xla_dump_to={dump} --xla_dump_hlo_as_text {SAME_SCHEDULER if who == 'jax' else ''}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run([sys.executable, __file__, f"--{who}", model, str(folder)], env=environment, check=True)
    return block_bytes(dump)


def main(names: list[str]) -> None:
    from importlib.metadata import version

    save_models(names)
    print(f"TensorFlow {version('tensorflow')} against jaxlib {version('jaxlib')}, both for the CPU")
    shares = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            model = str(MODELS / f"{name}.keras")
            one, other = (compiled(who, model, Path(folder)) for who in ("tensorflow", "jax"))
        shares.append(other / one - 1)
        print(f"{name:24} {one:>13,} {other:>13,} {shares[-1]:+.2%}", flush=True)
    print(f"median difference {median(map(abs, shares)):.2%}, largest {max(map(abs, shares)):.2%}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--tensorflow"]:
        by_tensorflow(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:2] == ["--jax"]:
        by_jax(Path(sys.argv[3]))
    else:
        main(sys.argv[1:] or list(SOME))
