"""A configuration all the way: read, and what is let through rebuilt by Keras and described, with TensorFlow."""

from fuzz_changes import changed_json as mutate

from fuzz_targets.common import READ, corpus, refused, shown, written
from fuzz_targets.model_file import answered, read_model
from planner_app.core.model.description import ModelDescription
from planner_app.errors import PlannerError
from planner_app.jobs.protocol import Describe

KIND = "model files"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("models/functional.json", "models/mixed_bag.json", "models/old_cnn.json")


def run(data: bytes) -> str:
    import keras

    try:
        checked = read_model(written(data, "model.json"))
        found = answered(Describe(model=checked), ModelDescription)
    except PlannerError as error:
        return refused(error)
    finally:
        keras.backend.clear_session()
    shown(found.name, *found.warnings, *(layer.path for layer in found.layers), *(t.name for t in found.inputs))
    return READ
