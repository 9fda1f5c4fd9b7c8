"""What the user's own Python file offers to a model: found without running it.

A model may name, of the file given with --custom:

    class Scale(keras.layers.Layer): ...                    # classes derived from Keras' that the file defines
    @keras.saving.register_keras_serializable()             # whatever the file defines and registers
    def swish2(x): ...
    custom_objects = {"clip": helpers.clip}                 # whatever the user lists, wherever it comes from

Never what the file merely imports or defines for itself: a model could call `os.makedirs` that way.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from planner_app.worker.inspect.refusal import Refused
from planner_app.worker.inspect.source import open_source

MAX_PYTHON_BYTES = 4 << 20
REGISTER = "register_keras_serializable"
MAX_ALIASES = 8  # of one name: an alias of an alias of an import
LISTED = "custom_objects"  # as Keras calls it
HOW_TO_OFFER = (
    "Only Keras classes that the file defines and what it registers may be named by a model. Decorate it there with "
    f"@keras.saving.{REGISTER}(), or list it in a dictionary `{LISTED} = {{...}}`"
)


@dataclass(frozen=True, slots=True)
class UserNames:
    """Names a model may use, and those that are in the file and not for models."""

    classes: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()  # installed ones that the user trusts


@dataclass(slots=True)
class _Found:
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)  # local name: the dotted name it stands for
    registered: dict[str, str] = field(default_factory=dict)  # name in the file: name in Keras' registry
    listed: set[str] = field(default_factory=set)


def names_in(path: Path) -> UserNames:
    found = _Found()
    statements = list(_at_top(parsed(path).body))
    for statement in statements:
        _note_definition(statement, found)
    for statement in statements:
        _note_registered(statement, found)
    classes = _keras_classes(found)
    classes |= {alias for name, alias in found.registered.items() if name in found.classes}
    classes |= found.registered.keys() & found.classes.keys()
    functions = {name for pair in found.registered.items() if pair[0] in found.functions for name in pair}
    everything = found.classes.keys() | found.functions.keys() | found.origins.keys()
    offered = classes | functions | found.listed
    return UserNames(
        frozenset(classes | found.listed), frozenset(functions | found.listed), frozenset(everything - offered)
    )


def parsed(path: Path) -> ast.Module:
    source = open_source(path)
    try:
        if source.size_bytes > MAX_PYTHON_BYTES:
            raise Refused(f"it is larger than {MAX_PYTHON_BYTES >> 20} MiB. Name a Python file")
        return ast.parse(source.read(source.size_bytes), filename=path.name)
    except SyntaxError as error:
        raise Refused(f"it is not valid Python: {error.msg} at line {error.lineno}. Fix it first") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"it is not valid Python: {error}. Name a Python file") from None
    finally:
        source.close()


def _at_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that define the module's own names, also those that depend on a condition."""
    stack = list(reversed(body))
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            inner = [*statement.body, *getattr(statement, "orelse", []), *getattr(statement, "finalbody", [])]
            inner += [each for handler in getattr(statement, "handlers", []) for each in handler.body]
            stack += reversed(inner)


def _note_definition(statement: ast.stmt, found: _Found) -> None:
    if isinstance(statement, ast.ClassDef):
        found.classes[statement.name] = statement
    elif isinstance(statement, ast.FunctionDef):
        found.functions[statement.name] = statement
    elif isinstance(statement, ast.ImportFrom):
        dots = "." * statement.level + (statement.module or "")
        found.origins |= {alias.asname or alias.name: f"{dots}.{alias.name}" for alias in statement.names}
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            local = alias.asname or alias.name.partition(".")[0]
            found.origins[local] = alias.name if alias.asname else local
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                found.origins[target.id] = _dotted(statement.value) or "?"


def _note_registered(statement: ast.stmt, found: _Found) -> None:
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
        for decorator in statement.decorator_list:
            if _registers(decorator, found):
                found.registered[statement.name] = _registered_as(decorator) or statement.name
    elif isinstance(statement, (ast.Expr, ast.Assign)) and _registers(getattr(statement.value, "func", None), found):
        call = statement.value  # register_keras_serializable("shop")(Scale)
        if isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(call.args[0], ast.Name):
            found.registered[call.args[0].id] = _registered_as(call.func) or call.args[0].id
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(statement.value, ast.Dict):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(isinstance(target, ast.Name) and target.id == LISTED for target in targets):
            keys = [key.value for key in statement.value.keys if isinstance(key, ast.Constant)]
            found.listed |= {key for key in keys if isinstance(key, str)}


def _registers(node: ast.expr | None, found: _Found) -> bool:
    """`register_keras_serializable(...)`, under whatever name it was imported."""
    if not isinstance(node, ast.Call):
        return False
    return _origin(_dotted(node.func), found).rpartition(".")[2] == REGISTER


def _registered_as(node: ast.expr) -> str | None:
    assert isinstance(node, ast.Call)
    given = [keyword.value for keyword in node.keywords if keyword.arg == "name"] or node.args[1:2]
    return given[0].value if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str) else None


def _keras_classes(found: _Found) -> set[str]:
    """Classes that may be of Keras' kinds. A base from a neighbouring file may be one; the worker looks again."""
    derived: set[str] = set()
    for name, definition in found.classes.items():  # in their order: a base stands before what derives from it
        bases = [_dotted(base) for base in definition.bases]
        if any(base in derived or (base not in found.classes and _may_be_keras(base, found)) for base in bases):
            derived.add(name)
    return derived


def _may_be_keras(base: str, found: _Found) -> bool:
    imported = base.partition(".")[0] in found.origins
    return imported and _origin(base, found).partition(".")[0] not in sys.stdlib_module_names


def _origin(dotted: str, found: _Found) -> str:
    for _ in range(MAX_ALIASES):
        head, dot, rest = dotted.partition(".")
        known = found.origins.get(head)
        if known is None or known.partition(".")[0] == head:
            break
        dotted = known + dot + rest
    return dotted


def _dotted(node: ast.AST) -> str:
    """`keras.layers.Layer` as text; empty for anything but names joined by dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ""
