"""From what a file holds to what may be rebuilt."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner_app.core.model.description import CheckedModel, WeightShape
from planner_app.foreign_text import for_line
from planner_app.worker.inspect.allowed.names import keras_names
from planner_app.worker.inspect.allowed.objects import refuse_unknown, walk
from planner_app.worker.inspect.allowed.trusted import package_of
from planner_app.worker.inspect.allowed.user_names import UserNames
from planner_app.worker.inspect.dialects import is_keras_2, normalised
from planner_app.worker.inspect.refusal import Refused
from planner_app.worker.inspect.sense import check_sense

MOST_LETTERS = 40  # of a name in a warning


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds, not yet checked."""

    format: str
    config: dict[str, Any]
    training: dict[str, Any] | None = None
    keras_version: str | None = None
    weights: tuple[WeightShape, ...] = ()
    warnings: list[str] = field(default_factory=list)


def checked(
    contents: Contents, path: Path, custom: Path | None, custom_names: UserNames, digest: str, size: int
) -> CheckedModel:
    names = keras_names()
    config, training = contents.config, contents.training
    keras_2 = is_keras_2(config, contents.keras_version)
    if keras_2 or "module" not in config:
        config, training = (normalised(tree, names, keras_2=keras_2) for tree in (config, training))
    if not isinstance(config.get("class_name"), str) or not isinstance(config.get("config"), (dict, list)):
        raise Refused("its configuration has no 'class_name' and 'config': it describes no Keras model")
    findings = walk(config, names, custom_names)
    refuse_unknown(findings, custom_names)
    check_sense(findings.nodes)
    training, warnings = _checked_training(training, custom_names)
    if _is_newer(contents.keras_version, names.version):
        warnings.append(f"The file was written by Keras {contents.keras_version}, newer than {names.version} here.")
    inner = config["config"]
    name = inner.get("name") if isinstance(inner, dict) else None
    return CheckedModel(
        name=name if isinstance(name, str) else path.stem,
        format=contents.format,
        config=config,
        legacy="module" not in config,
        compile_config=training,
        keras_version=contents.keras_version,
        sha256=digest,
        file_bytes=size,
        weights=contents.weights,
        custom=str(custom) if custom else None,
        trusted=tuple(sorted({package_of(node.value) for node in findings.nodes} & custom_names.packages)),
        warnings=(*contents.warnings, *warnings),
    )


def _checked_training(
    training: dict[str, Any] | None, custom_names: UserNames
) -> tuple[dict[str, Any] | None, list[str]]:
    """The saved optimizer, loss and metrics. Parts that are not on the list are left out: nothing needs them."""
    if training is None:
        return None, []
    kept: dict[str, Any] = {}
    warnings = []
    for key, value in training.items():
        try:
            refuse_unknown(walk({key: value}, keras_names(), custom_names), what="classes or functions")
            kept[key] = value
        except Refused:
            what = for_line(key[:MOST_LETTERS])
            warnings.append(f"The saved {what} is not Keras' own and is left out; say which one to use.")
    return kept, warnings


def _is_newer(version: str | None, known: str) -> bool:
    def key(text: str) -> list[int]:
        return [int(part) if part.isdecimal() else 0 for part in text.split(".")[:3]]

    return version is not None and key(version) > key(known)
