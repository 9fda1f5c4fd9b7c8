"""Which classes and functions of Keras a configuration may name: those on a list, and none that runs code."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

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
