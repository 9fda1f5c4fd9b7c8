"""What reads what others wrote, a module each:

KIND            what its inputs are: model files, plans, logs, ...
mutate          how an input is changed
seeds()         inputs that are as they should be
run(data)       reads one; answers "read", or why not. Anything that must not happen is raised.
"""

import importlib
from types import ModuleType

MODELS = (
    "model_archive",
    "model_config",
    "model_weights",
    "model_hdf5",
    "model_savedmodel",
    "model_types",
    "model_schema",
    "model_rebuild",
)
OTHERS = (
    *"python_code plan plan_schema trace measurement calibrations searches settings".split(),
    *"log log_packed devices prices events requests".split(),
)
NAMES = (*MODELS, *OTHERS)


def target(name: str) -> ModuleType:
    """Imported when it is needed: one of them takes TensorFlow along."""
    if name not in NAMES:
        raise LookupError(f"{name!r} is no target: expected one of {', '.join(NAMES)}")
    return importlib.import_module(f"fuzz_targets.{name}")
