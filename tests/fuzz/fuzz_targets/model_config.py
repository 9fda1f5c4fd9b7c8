"""The configuration of a model, as text: in a sound archive, beside sound weights."""

import io
import zipfile
from functools import cache

from fuzz_changes import changed_json as mutate

from fuzz_targets.common import corpus, written
from fuzz_targets.model_file import outcome

KIND = "model files"
__all__ = ["KIND", "archive", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("models/*.json")


def run(data: bytes) -> str:
    return outcome(written(archive(data), "model.keras"))


def archive(config: bytes, weights: bytes | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        file.writestr("config.json", config)
        file.writestr("model.weights.h5", _weights() if weights is None else weights)
    return buffer.getvalue()


@cache
def _weights() -> bytes:
    with zipfile.ZipFile(io.BytesIO(corpus("models/half.keras")[0])) as file:
        return file.read("model.weights.h5")
