"""Classes of packages that the user trusts, looked up before anything of a file is rebuilt."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from keras.src.saving import object_registration

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError
from planner_app.worker.build.edit_config import copied

PREPROCESSORS = frozenset(
    {"preprocessor", "tokenizer", "image_converter", "audio_converter"}
)  # host work, not the step
INSTEAD = "Open the model as file.py:function instead, a function of yours that makes it."


def import_trusted(model: CheckedModel) -> None:
    """Imports the packages, and checks that what the configuration names of them is a class they registered."""
    for package in model.trusted:
        try:
            importlib.import_module(package)
        except (Exception, SystemExit) as error:
            raise ModelError(f"The package {package!r} can't be imported: {error} ({type(error).__name__}).") from error
    if model.trusted:
        for tree in (model.config, model.compile_config or {}):
            copied(tree, lambda node, _: _checked(node, model.trusted))
            for text in _texts(tree):
                _check_text(text, model.trusted)


def without_preprocessors(tree: Any) -> Any:
    """Preprocessing is the host's: tokenizers would ask for files that nobody reads here."""

    def change(node: dict[str, Any], _role: str) -> dict[str, Any]:
        config = node["config"]
        if isinstance(config, dict):
            node["config"] = {
                key: None if key in PREPROCESSORS and isinstance(value, Mapping) else value
                for key, value in config.items()
            }
        return node

    return copied(tree, change)


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, (Mapping, list, tuple)):
        for each in tree.values() if isinstance(tree, Mapping) else tree:
            yield from _texts(each)


def _check_text(text: str, packages: tuple[str, ...]) -> None:
    """Keras takes initializers, losses and the like by the name they are registered under, functions too."""
    registered = object_registration.GLOBAL_CUSTOM_OBJECTS.get(text)
    package = str(getattr(registered, "__module__", "")).partition(".")[0]
    if package in packages and not isinstance(registered, type):
        raise ModelError(
            f"The model names {text[:80]}, which is not a class: only registered classes of a trusted package may be "
            f"named by a file. {INSTEAD}"
        )


def _checked(node: dict[str, Any], packages: tuple[str, ...]) -> dict[str, Any]:
    module = node.get("module")
    package = module.partition(".")[0] if isinstance(module, str) else ""
    if package not in packages:
        return node
    registered = object_registration.GLOBAL_CUSTOM_OBJECTS.get(node.get("registered_name"))
    if (
        not isinstance(registered, type)
        or registered.__name__ != node["class_name"]
        or registered.__module__.partition(".")[0] != package
    ):
        raise ModelError(
            f"The model names {str(module)[:80]}.{str(node['class_name'])[:80]}, which {package} has not registered "
            "for Keras' serialization: only registered classes of a trusted package may be named by a file. "
            f"{INSTEAD}"
        )
    return node
