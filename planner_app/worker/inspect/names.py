"""Which classes and functions a configuration may name: Keras' own, from a list, and what the user's file defines."""

import ast
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from planner_app.worker.inspect.refusal import Refused
from planner_app.worker.inspect.source import open_source

MAX_PYTHON_BYTES = 4 << 20
# Values that Keras writes as objects; each holds plain data only.
PLAIN_VALUES = frozenset({"__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"})
# Run code, or read files, that the configuration names.
RUNS_CODE = {
    "Lambda": "it holds Python code that would run when the model is opened",
    "__lambda__": "it holds Python code that would run when the model is opened",
    "TFSMLayer": "it runs a TensorFlow program from another folder",
    "TorchModuleWrapper": "it unpickles a PyTorch module, which can run any code",
    "JaxLayer": "it holds Python code for JAX",
    "FlaxLayer": "it holds Python code for Flax",
}
# Where Keras 2 kept the classes that Keras 3 finds elsewhere. What is named there is looked up by its bare name.
KERAS_2_MODULES = ("keras.engine.", "keras.src.engine.", "tf_keras.", "tensorflow.keras.", "tensorflow.python.keras.")
OPERATIONS, APPLICATIONS = "keras.src.ops.", "keras.src.applications."
FUNCTION_MODULES = ("builtins", "keras.activations", "keras.losses", "keras.metrics")


@dataclass(frozen=True, slots=True)
class KerasNames:
    """Names of one version of Keras: with their modules, and bare as Keras 2 wrote them."""

    version: str
    classes: frozenset[str]
    bare_classes: frozenset[str]
    functions: frozenset[str]

    def has_class(self, module: str | None, name: str, *, module_written: bool) -> bool:
        if not module_written:
            return name in self.bare_classes
        return module is not None and f"{module}.{name}" in self.classes

    def module_of(self, name: str, within: str) -> str | None:
        """The module of the class of this name in a part of Keras, if there is exactly one."""
        found = [full for full in self.classes if full.startswith(within) and full.endswith(f".{name}")]
        return found[0].rpartition(".")[0] if len(found) == 1 else None

    def has_function(self, module: str | None, name: str) -> bool:
        return module in FUNCTION_MODULES and name in self.functions


@cache
def keras_names() -> KerasNames:
    data = json.loads(files("planner_app.data").joinpath("keras_names.json").read_text(encoding="utf-8"))
    return KerasNames(
        version=data["keras_version"],
        classes=frozenset(data["classes"]),
        bare_classes=frozenset(data["bare_classes"]),
        functions=frozenset(name.rpartition(".")[2] for name in data["functions"]),
    )


def names_in(path: Path) -> frozenset[str]:
    """What a Python file defines, or imports from elsewhere than Keras, found without running it."""
    tree = parsed(path)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] not in ("keras", "tensorflow"):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(found)


def parsed(path: Path) -> ast.Module:
    source = open_source(path)
    try:
        if source.size_bytes > MAX_PYTHON_BYTES:
            raise Refused(f"it is larger than {MAX_PYTHON_BYTES >> 20} MiB. Name a Python file")
        return ast.parse(source.read(source.size_bytes), filename=path.name)
    except SyntaxError as error:
        raise Refused(f"it is not valid Python: {error.msg} at line {error.lineno}. Mend it first") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"it is not valid Python: {error}. Name a Python file") from None
    finally:
        source.close()
