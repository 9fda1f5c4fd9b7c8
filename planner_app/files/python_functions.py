"""The functions of a Python file that can be called without arguments, read without running it."""

import ast
from dataclasses import dataclass
from pathlib import Path

from planner_app.errors import ModelError
from planner_app.files.reading import read_at_most

MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class FoundFunction:
    """Attributes:
    summary: The first line of its docstring; may be empty.
    """

    name: str
    summary: str


def functions_in(path: str) -> tuple[FoundFunction, ...]:
    """Functions and classes of the module, in the order of the file.

    Raises:
        ModelError: The file can't be read, or is not Python.
    """
    file = Path(path)
    try:
        code = read_at_most(file, MOST_BYTES)
        if len(code) > MOST_BYTES:
            raise ModelError(f"{file.name!r} has more than {MOST_BYTES:,} bytes: expected a Python file.")
        tree = ast.parse(code)
    except OSError as error:
        raise ModelError(f"{file.name!r} can't be read: {error.strerror}.") from error
    except (SyntaxError, ValueError) as error:
        raise ModelError(f"{file.name!r} is not valid Python: {error}.") from error
    except (RecursionError, MemoryError) as error:
        raise ModelError(f"{file.name!r} is nested too deeply to be read.") from error
    return tuple(
        FoundFunction(node.name, (ast.get_docstring(node) or "").partition("\n")[0])
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and _takes_nothing(node.args)
    )


def _takes_nothing(arguments: ast.arguments) -> bool:
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return required == 0 and all(default is not None for default in arguments.kw_defaults)
