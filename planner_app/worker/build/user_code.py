"""The user's own Python file, run because the user named it: custom classes, or a function that makes the model."""

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import keras
from keras.src.saving.object_registration import GLOBAL_CUSTOM_NAMES

from planner_app.errors import ModelError
from planner_app.jobs.interpreter import MENU, VARIABLE
from planner_app.worker.build.said import line
from planner_app.worker.inspect.allowed.names import RUNS_CODE
from planner_app.worker.inspect.allowed.trusted import KNOWN
from planner_app.worker.inspect.allowed.user_names import LISTED

# What a model is made of and trained with. Callbacks and data sets are Keras classes too, and not part of a model.
KERAS_KINDS = (
    keras.Operation,  # layers and models as well
    keras.losses.Loss,
    keras.metrics.Metric,
    keras.optimizers.Optimizer,
    keras.optimizers.schedules.LearningRateSchedule,
    keras.initializers.Initializer,
    keras.regularizers.Regularizer,
    keras.constraints.Constraint,
    keras.dtype_policies.DTypePolicy,
)
# A class derived from these would run what the model file says.
RUN_CODE = tuple(getattr(keras.layers, name) for name in RUNS_CODE if hasattr(keras.layers, name))
MODULE_NAME = "plimsoll_user_code"


def split_target(target: str) -> tuple[Path, str]:
    """`file.py:function` in two. The last colon counts: a path may hold others."""
    path, _, function = target.rpartition(":")
    if not path or not function.isidentifier():
        raise ModelError(f"{target!r} is not of the form file.py:function, as in models.py:build_model.")
    return Path(path), function


def load_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise ModelError(f"{path.name!r} can't be imported: it is not a regular file. Name a Python file.")
    if spec is None or spec.loader is None:
        raise ModelError(f"{path.name!r} can't be imported: expected a Python file whose name ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module
    try:
        with _beside(path):
            spec.loader.exec_module(module)
    except FileNotFoundError as error:
        raise ModelError(f"There is no file {str(path)!r}: name the Python file that holds the classes.") from error
    except (Exception, SystemExit) as error:
        raise _raised(path, "was imported", error) from error
    return module


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """The file finds its neighbours, as `python file.py` does."""
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # it may have tidied up by itself
            sys.path.remove(folder)


def custom_objects(module: ModuleType) -> dict[str, Any]:
    """What a model may name of the file, by `inspect.user_names`' rule, now that the classes themselves are there."""
    listed = vars(module).get(LISTED)
    offered = {name: value for name, value in vars(module).items() if _is_offered(value)}
    if isinstance(listed, dict):
        offered |= {str(name): value for name, value in listed.items() if _is_class_or_function(value)}
    return offered


def _is_offered(value: Any) -> bool:
    try:
        if not _is_class_or_function(value) or value.__module__ != MODULE_NAME:
            return False
        if value in GLOBAL_CUSTOM_NAMES:
            return True
        return isinstance(value, type) and issubclass(value, KERAS_KINDS) and not issubclass(value, RUN_CODE)
    except Exception:  # a metaclass may answer these questions with anything
        return False


def _is_class_or_function(value: Any) -> bool:
    """By its type: what an object says of itself may be a proxy's guess, or raise."""
    return issubclass(type(value), (type, FunctionType))


def call_function(target: str) -> Any:
    """What the user's function returns when called with nothing."""
    path, name = split_target(target)
    function = getattr(load_module(path), name, None)
    if not callable(function):
        raise ModelError(f"{path.name!r} has no function {name!r}: name one that takes nothing and returns the model.")
    try:
        with _beside(path):  # it may import them where it needs them
            return function()
    except (Exception, SystemExit) as error:
        raise _raised(path, f"ran {name}()", error) from error


def _raised(path: Path, doing: str, error: BaseException) -> ModelError:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    where = f" at line {lines[-1]}" if lines else ""
    what = type(error).__name__
    if str(error).strip():
        what += f": {line(error)}"
    if package := _missing_package(error):
        said = (
            f"{path.name!r} needs {package!r}{where}, which this Python ({sys.executable}) does not have: install it "
            f"there ({KNOWN.get(package, f'pip install {package}')}), put it beside the file if it is yours, or choose "
            f"another Python under {MENU} or in {VARIABLE}."
        )
    else:
        said = f"While {path.name!r} {doing}, it raised {what}{where}. Fix the file, or name another one."
    return ModelError(said, detail="".join(traceback.format_exception(error)))


def _missing_package(error: BaseException) -> str:
    """The package whose import failed because it is not there; "" if that was not the trouble."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    package = name.partition(".")[0] if isinstance(name, str) else ""
    return package if package.isidentifier() and find_spec(package) is None else ""
