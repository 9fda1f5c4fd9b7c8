"""`.keras` files, byte by byte: the archive itself."""

from fuzz_changes import changed_bytes as mutate

from fuzz_targets.common import corpus, written
from fuzz_targets.model_file import outcome

KIND = "model files"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("models/*.keras")


def run(data: bytes) -> str:
    return outcome(written(data, "model.keras"))
