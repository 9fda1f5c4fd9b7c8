"""`.h5` files of Keras 2 and 3."""

from fuzz_changes import changed_bytes as mutate

from fuzz_targets.common import corpus, written
from fuzz_targets.model_file import outcome

KIND = "model files"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("models/*.h5")


def run(data: bytes) -> str:
    return outcome(written(data, "model.h5"))
