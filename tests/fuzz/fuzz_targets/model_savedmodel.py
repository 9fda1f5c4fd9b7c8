"""SavedModel folders of Keras 2: `keras_metadata.pb`, beside a graph that nobody reads."""

from fuzz_changes import changed_bytes as mutate

from fuzz_targets.common import corpus, emptied
from fuzz_targets.model_file import outcome

KIND = "model files"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("models/keras_metadata.pb")


def run(data: bytes) -> str:
    place = emptied("saved_model")
    (place / "saved_model.pb").write_bytes(b"a graph")
    (place / "keras_metadata.pb").write_bytes(data)
    return outcome(place)
