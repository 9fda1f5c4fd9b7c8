"""The environment variables that a worker inherits: those that libraries read, by name, and nothing else.

A shell's environment may contain keys and passwords. Workers don't need them, so they don't get them.
"""

import os
import sys
from collections.abc import Mapping

NAMES = frozenset(
    "PATH LANG LANGUAGE TZ TERM LD_LIBRARY_PATH DYLD_LIBRARY_PATH SYSTEMROOT NUMBER_OF_PROCESSORS "
    "PYTHONPATH PYTHONHOME PYTHONHASHSEED PYTHONNOUSERSITE VIRTUAL_ENV CONDA_PREFIX "
    "XLA_FLAGS NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES NVIDIA_TF32_OVERRIDE".split()
)
# TensorFlow's variables begin in many ways. "TF_" alone would let Terraform's through: TF_VAR_password, TF_TOKEN_...
PREFIXES = (
    "LC_",
    "CUDA_",
    "NCCL_",
    "OMP_",
    "MKL_",
    "KMP_",
    "OPENBLAS_",
    "MALLOC_",
    "TF_CPP_",
    "TF_CPU_",
    "TF_CUDA_",
    "TF_CUDNN_",
    "TF_DETERMINISTIC_",
    "TF_DISABLE_",
    "TF_ENABLE_",
    "TF_FORCE_",
    "TF_GPU_",
    "TF_NUM_",
    "TF_USE_",
    "TF_XLA_",
)


def passed_on(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Those of the caller's variables that a worker may see."""
    found = clean_environment(given)
    return {name: value for name, value in found.items() if name in NAMES or name.startswith(PREFIXES)}


def clean_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the user's shell: a frozen build puts its own libraries before the system's."""
    found = dict(os.environ if given is None else given)
    if not getattr(sys, "frozen", False):
        return found
    for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        found.pop(name, None)
        if before := found.pop(f"{name}_ORIG", None):
            found[name] = before
    return {name: value for name, value in found.items() if not name.startswith("_PYI_")}
