"""The plan's environment, put in place before TensorFlow is imported. What the user has set counts."""

import os
import sys
from collections.abc import Mapping

from planner_app.errors import PlanError

BACKEND = "KERAS_BACKEND"


def apply_environment(wanted: Mapping[str, str]) -> list[str]:
    """Sets what nobody has set yet. The answer says what is otherwise than the plan wants, one sentence each."""
    said, late = [], []
    for name, value in wanted.items():
        present = os.environ.get(name)
        if present is None:
            os.environ[name] = value
            late.append(name)
        elif present != value and name == BACKEND:
            raise PlanError(
                f"KERAS_BACKEND is {present!r}: plans are for TensorFlow. Unset it, or set it to tensorflow."
            )
        elif present != value:
            said.append(f"{name} is {present!r} in the environment; the plan was made for {value!r}.")
    if late and "tensorflow" in sys.modules:
        said.append(
            f"TensorFlow was imported before the plan was loaded, so {', '.join(late)} may come too late: call "
            "load_plan() before you import tensorflow or keras."
        )
    return said
