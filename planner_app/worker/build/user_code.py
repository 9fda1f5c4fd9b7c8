"""The user's own Python file, run because the user named it: custom classes, or a function that makes the model."""

import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from planner_app.errors import ModelError

NOT_THE_USERS = frozenset({"keras", "tensorflow", "numpy", "builtins"})
MODULE_NAME = "plimsoll_user_code"


def split_target(target: str) -> tuple[Path, str]:
    """`file.py:function` in two. The last colon counts: a path may hold others."""
    path, _, function = target.rpartition(":")
    if not path or not function.isidentifier():
        raise ModelError(f"{target!r} is not of the form file.py:function, as in models.py:build_model.")
    return Path(path), function


def load_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path.name!r} can't be imported: expected a Python file whose name ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module
    sys.path.insert(0, str(path.parent.resolve()))  # so that the file finds its neighbours, as `python file.py` does
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError as error:
        raise ModelError(f"There is no file {str(path)!r}: name the Python file that holds the classes.") from error
    except (Exception, SystemExit) as error:
        raise _raised(path, "was imported", error) from error
    finally:
        sys.path.pop(0)
    return module


def custom_objects(module: ModuleType) -> dict[str, Any]:
    """Classes and functions the file defines, or imports from its neighbours, by their names."""
    return {
        name: value
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and str(value.__module__).split(".")[0] not in NOT_THE_USERS
    }


def call_function(target: str) -> Any:
    """What the user's function returns when called with nothing."""
    path, name = split_target(target)
    function = getattr(load_module(path), name, None)
    if not callable(function):
        raise ModelError(f"{path.name!r} has no function {name!r}: name one that takes nothing and returns the model.")
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise _raised(path, f"ran {name}()", error) from error


def _raised(path: Path, doing: str, error: BaseException) -> ModelError:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    where = f" at line {lines[-1]}" if lines else ""
    said = str(error).strip().splitlines()
    what = f"{type(error).__name__}: {said[0][:300]}" if said else type(error).__name__
    return ModelError(
        f"While {path.name!r} {doing}, it raised {what}{where}. Mend the file, or name another one.",
        detail="".join(traceback.format_exception(error)),
    )
