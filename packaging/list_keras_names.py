"""Write planner_app/data/keras_names.json: every class and function a model's configuration may name.

The reader of foreign files checks configurations against this list without importing Keras. Run it again when the
supported Keras changes; a test compares the list with the installed Keras.

    python packaging/list_keras_names.py
"""

import inspect
import json
from pathlib import Path
from typing import Any

import keras
from keras.src import (
    api_export,
    constraints,
    dtype_policies,
    initializers,
    layers,
    losses,
    metrics,
    optimizers,
    quantizers,
    regularizers,
)
from keras.src.saving.keras_saveable import KerasSaveable

TARGET = Path(__file__).parent.parent / "planner_app" / "data" / "keras_names.json"

# What a configuration is made of. Callbacks, trainers, export and dataset helpers are no part of a model.
BASES = (
    keras.Operation,
    keras.initializers.Initializer,
    keras.regularizers.Regularizer,
    keras.constraints.Constraint,
    keras.losses.Loss,
    keras.metrics.Metric,
    keras.optimizers.Optimizer,
    keras.optimizers.schedules.LearningRateSchedule,
    keras.DTypePolicy,
    dtype_policies.DTypePolicyMap,
    keras.Quantizer,
    keras.quantizers.QuantizationConfig,
    keras.random.SeedGenerator,
)
# Run code or read files named in the configuration. Lambda is looked at by itself: its function decides.
REFUSED = {"TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "Lambda"}
# Operations by inheritance, but no parts of a saved model.
NO_MODEL_PARTS = {"FeatureSpace", "Distiller", "CompileLoss", "CompileMetrics", "MetricsList", "Function"}
# They quantise by running the model on data, which a file does not have.
NO_MODEL_PARTS |= {"GPTQConfig", "AWQConfig"}
FUNCTION_MODULES = ("keras.activations.", "keras.losses.", "keras.metrics.")
NO_PARTS = {"get", "serialize", "deserialize"}


def is_part(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BASES) and value.__name__ not in REFUSED | NO_MODEL_PARTS


def subclasses(base: type) -> set[type]:
    return {base}.union(*(subclasses(child) for child in base.__subclasses__()))


def collect() -> dict[str, Any]:
    exported = api_export.REGISTERED_NAMES_TO_OBJS
    classes = {name for name, value in exported.items() if is_part(value)}
    # Operations of a functional graph and models have no exported name: Keras finds them by their module.
    classes |= {
        f"{cls.__module__}.{cls.__name__}"
        for cls in subclasses(KerasSaveable)
        if is_part(cls) and cls.__module__.startswith("keras.src.")
    }
    functions = {
        name
        for name, value in exported.items()
        if inspect.isfunction(value) and name.startswith(FUNCTION_MODULES) and value.__name__ not in NO_PARTS
    }
    # Where no module is written (Keras 2, and Keras 3 in HDF5 files) each kind of object has its own table of names.
    tables = [
        initializers.ALL_OBJECTS_DICT,
        regularizers.ALL_OBJECTS_DICT,
        constraints.ALL_OBJECTS_DICT,
        losses.ALL_OBJECTS_DICT,
        metrics.ALL_OBJECTS_DICT,
        optimizers.ALL_OBJECTS_DICT,
        dtype_policies.ALL_OBJECTS_DICT,
        quantizers.ALL_OBJECTS_DICT,
        vars(layers),
    ]
    parts = [(name, value) for table in tables for name, value in table.items() if is_part(value)]
    bare = {name for name, _ in parts} | {value.__name__ for _, value in parts}
    bare |= {"Functional", "Model", "Sequential"}
    return {
        "keras_version": keras.__version__,
        "classes": sorted(classes),
        "functions": sorted(functions),
        "bare_classes": sorted(bare),
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(collect(), indent=1) + "\n", encoding="utf-8")
