"""The compiler a program is handed to: XLA's plug-in for CUDA. It comes with JAX and needs neither GPU nor driver."""

from __future__ import annotations

import os
from importlib import metadata
from importlib.util import find_spec

from planner_app.errors import CompilerMissing

# jax alone does not compile for a GPU; its plug-in does. CUDA's assembler is not asked: memory is laid out before.
MODULES = ("jax", "jaxlib", "jax_plugins.xla_cuda12")
PACKAGES = ("tensorflow", "keras", "jax", "jaxlib", "jax-cuda12-pjrt")
FLAGS = (
    # Trying out kernels needs the GPU.
    "--xla_gpu_autotune_level=0",
    # Which products go to Triton is the autotuner's choice; untuned, cuBLAS is what all of them fall back to.
    "--xla_gpu_enable_triton_gemm=false",
)


def check_installed() -> None:
    missing = [name for name in MODULES if not _is_there(name)]
    if missing:
        raise CompilerMissing(
            f"XLA's compiler for CUDA is not installed ({missing[0]} is missing): get it with "
            f'pip install "plimsoll[xla-gpu]" (Linux only; no GPU is needed).'
        )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def prepare(dump: str) -> None:
    """Before JAX is imported. Flags of the user's are for their own runs, not for this one."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    flags = (*FLAGS, f"--xla_dump_to={dump}", "--xla_dump_hlo_as_text")
    os.environ["XLA_FLAGS"] = " ".join(flags)
