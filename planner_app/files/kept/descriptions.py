"""A disk cache of model descriptions, so that a known model is opened without TensorFlow."""

import hashlib
from collections.abc import Mapping

import msgspec

from planner_app.core.model.description import CheckedModel, ModelDescription
from planner_app.core.model.setup import StepSetup
from planner_app.files.kept.traces import TraceCache, trace_key


class DescriptionCache(TraceCache):
    """Shares the trace cache's folder and rules: an entry that does not match its digest is recomputed."""

    def description(self, key: str) -> ModelDescription | None:
        return self._read(key, "description", ModelDescription)

    def keep_description(self, key: str, found: ModelDescription) -> None:
        self._write(key, "description", found)
        self._prune()


def description_key(model: CheckedModel, sizes: Mapping[str, tuple[int, ...]], versions: Mapping[str, str]) -> str:
    """What a trace depends on, and what a description repeats of the file."""
    parts = [
        trace_key(model, StepSetup(sizes=tuple(sorted(sizes.items()))), versions),
        *(model.name, model.format, model.sha256, str(model.file_bytes), model.keras_version or ""),
        msgspec.json.encode([model.weights, model.warnings]).hex(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]
