"""Plimsoll estimates how much GPU memory training a Keras model needs, before you run it.

    from planner_app import open_model

    model = open_model("resnet50.keras")
    model.estimate(batch=64, precision="mixed_bfloat16", device="NVIDIA L4").fits

Importing this package is cheap: TensorFlow, Qt and NumPy are loaded only when needed, in separate processes where
possible.
"""

TYPE_CHECKING = False  # importing it from typing takes 20 ms, in which Ctrl-C would be Python's own traceback

if TYPE_CHECKING:
    from planner_app.core.estimate.verdict import Verdict as Verdict
    from planner_app.errors import PlannerError as PlannerError
    from planner_app.planner.api.handle import Model as Model
    from planner_app.planner.api.handle import open_model as open_model

__version__ = "0.1.0"
__all__ = ["Model", "PlannerError", "Verdict", "__version__", "open_model"]

_HOMES = {
    "Model": "planner_app.planner.api.handle",
    "open_model": "planner_app.planner.api.handle",
    "PlannerError": "planner_app.errors",
    "Verdict": "planner_app.core.estimate.verdict",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
