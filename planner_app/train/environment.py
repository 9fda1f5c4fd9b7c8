"""The plan's environment, put in place before TensorFlow is imported. What the user has set counts."""

import os
import sys
from collections.abc import Mapping

from planner_app.errors import PlanError

BACKEND = "KERAS_BACKEND"
TITLES = {"tensorflow": "TensorFlow", "jax": "JAX"}
# TensorFlow picks its kernels for the CPU when it is imported. Those of oneDNN crash on the limited allocator, so that
# these variables are set together and in time, or not at all.
AT_IMPORT = ("TF_ENABLE_ONEDNN_OPTS", "TF_CPU_ALLOCATOR_USE_BFC", "TF_CPU_BFC_MEM_LIMIT_IN_MB")


def apply_environment(wanted: Mapping[str, str]) -> list[str]:
    """Sets what nobody has set yet. The answer says what differs from the plan, one sentence each."""
    said, late = [], []
    backend = wanted.get(BACKEND, "tensorflow")
    imported = backend in sys.modules
    for name, value in wanted.items():
        present = os.environ.get(name)
        if present is None:
            if not (imported and name in AT_IMPORT):
                os.environ[name] = value
            if name != BACKEND or "keras" not in sys.modules:
                late.append(name)
        elif present != value and name == BACKEND:
            raise PlanError(
                f"KERAS_BACKEND is {present!r}: the plan is for {TITLES[value]}. Unset it, or set it to {value}."
            )
        elif present != value:
            said.append(f"{name} is {present!r} in the environment; the plan was made for {value!r}.")
    if late and imported:
        said.append(
            f"{TITLES[backend]} was imported before the plan was loaded, so {', '.join(late)} may come too late: call "
            f"load_plan() before you import {backend} or keras."
        )
    return said
