"""The weights of a `.keras` file, an HDF5 file in a sound archive."""

import io
import zipfile

from fuzz_changes import changed_bytes as mutate

from fuzz_targets.common import corpus, written
from fuzz_targets.model_config import archive
from fuzz_targets.model_file import outcome

KIND = "model files"
CONFIG = corpus("models/functional.json")[0]
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return [_member(data) for data in corpus("models/*.keras")]


def run(data: bytes) -> str:
    return outcome(written(archive(CONFIG, data), "model.keras"))


def _member(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return file.read("model.weights.h5")
