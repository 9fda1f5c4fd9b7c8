"""Which kind of file it is, by its first bytes and not by its name, and what to take out of it."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError
from planner_app.foreign_text import for_line
from planner_app.jobs import protocol
from planner_app.worker.inspect import archive, hdf5, savedmodel
from planner_app.worker.inspect.allowed.trusted import checked_packages
from planner_app.worker.inspect.allowed.user_names import UserNames, names_in, parsed
from planner_app.worker.inspect.check import Contents, checked
from planner_app.worker.inspect.refusal import Refused
from planner_app.worker.inspect.source import Source, folder_files, folder_sha256, handed_over, open_source, sha256
from planner_app.worker.inspect.text import MAX_JSON_BYTES, parse_object

ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
EXPECTED = "expected a .keras, .h5 or .json file, a SavedModel folder of Keras 2, or file.py:function"
USUAL_SUFFIXES = {"keras": (".keras", ".zip"), "h5": (".h5", ".hdf5", ".keras2"), "json": (".json",)}

Report = Callable[[int, int, str], None]


def inspect(request: protocol.Inspect, report: Report) -> CheckedModel:
    """Reads and checks a model file.

    Raises:
        ModelError: The file can't be read, or holds what must not be rebuilt. The sentence says why and what to do.
    """
    report(0, 2, "reading the file")
    path = Path(request.path)
    custom = None
    try:
        if request.custom is not None:
            custom = Path(request.custom).absolute()
    except OSError as error:
        raise ModelError(f"{request.custom!r} can't be found: {error.strerror}.") from error
    custom_names = _custom_names(custom)
    try:
        custom_names = replace(custom_names, packages=checked_packages(request.trust))
        if not path.exists() and ".py:" in path.name:
            return _python(request.path)
        if path.suffix == ".py":
            raise Refused(f"say which function makes the model, as in {path.name}:build_model")
        source = handed_over()
        if source is None and path.is_dir():
            contents, digest, size = _folder(path, report)
        else:
            contents, digest, size = _file(path, source or open_source(path), report)
        report(1, 2, "checking the configuration")
        return checked(contents, path, custom, custom_names, digest, size)
    except Refused as refused:
        raise ModelError(f"{path.name!r} can't be opened: {refused}.") from None
    except OSError as error:
        raise ModelError(f"{path.name!r} can't be opened: the system says {error.strerror!r}.") from error
    except (MemoryError, RecursionError) as error:
        raise ModelError(f"{path.name!r} can't be opened: it is too large or too deep to be read safely.") from error


def _hashing(report: Report) -> Callable[[], None]:
    """Said after every piece, since a large file takes minutes and a silent reader is taken for a hanging one."""
    return lambda: report(0, 2, "reading the file")


def _custom_names(custom: Path | None) -> UserNames:
    if custom is None:
        return UserNames()
    try:
        return names_in(custom)
    except Refused as refused:
        raise ModelError(f"{custom.name!r}, named with --custom, can't be opened: {refused}.") from None


def _python(target: str) -> CheckedModel:
    name, _, function = target.rpartition(":")
    path = Path(name).absolute()
    if not function.isidentifier():
        raise Refused("expected file.py:function, as in models.py:build_model")
    tree = parsed(path)
    defined = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    imports = any(isinstance(node, (ast.ImportFrom, ast.Assign, ast.If, ast.Try)) for node in tree.body)
    if function not in defined and not imports:
        raise Refused(f"the file defines no function {function!r}; it defines {', '.join(sorted(defined)) or 'none'}")
    source = open_source(path)
    try:
        digest, size = sha256(source), source.size_bytes
    finally:
        source.close()
    return CheckedModel(
        name=function,
        format="python",
        config={},
        sha256=digest,
        file_bytes=size,
        custom=f"{path}:{function}",
        warnings=(f"The code of {path.name} is run to make the model: name only files you trust.",),
    )


def _folder(path: Path, report: Report) -> tuple[Contents, str, int]:
    savedmodel.check_folder(path)
    files = folder_files(path)
    source = open_source(path / savedmodel.METADATA, follow=False)
    try:
        metadata = savedmodel.read_metadata(source)
        digest, size = folder_sha256(path, files, _hashing(report), {path / savedmodel.METADATA: source})
    finally:
        source.close()
    model = metadata.get("model_config")
    if not isinstance(model, dict):
        model = {key: metadata[key] for key in ("class_name", "config") if key in metadata}
    if not isinstance(model.get("config"), (dict, list)):
        raise Refused("the model's class gave Keras no configuration: only its graph was saved, and graphs are not run")
    contents = Contents(
        "savedmodel",
        model,
        training=_dictionary(metadata.get("training_config")),
        keras_version=_text(metadata.get("keras_version")),
        warnings=[
            "A SavedModel's graph is a program, and is not run: the model is rebuilt from the configuration beside it.",
            "The weights' shapes in a SavedModel folder are not compared with its configuration.",
        ],
    )
    return contents, digest, size


def _file(path: Path, source: Source, report: Report) -> tuple[Contents, str, int]:
    try:
        first = source.read(16)
        if first.startswith(ZIP_MAGIC):
            contents = _keras(source)
        elif first.startswith(hdf5.MAGIC):
            contents = _hdf5(source)
        elif first.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n").startswith(b"{"):
            contents = _json(source)
        else:
            raise Refused(f"it is none of the kinds of file that hold a Keras model: {EXPECTED}")
        digest = sha256(source, _hashing(report))
        source.check_unchanged()
    finally:
        source.close()
    if path.suffix.lower() not in USUAL_SUFFIXES[contents.format]:
        contents.warnings.append(
            f"The file's name says {for_line(path.suffix) or 'nothing'}, its contents say {contents.format}."
        )
    return contents, digest, source.size_bytes


def _keras(source: Source) -> Contents:
    opened = archive.open_archive(source)
    config = parse_object(opened.read("config.json"), "config.json")
    metadata = parse_object(opened.read("metadata.json"), "metadata.json") if "metadata.json" in opened.members else {}
    contents = Contents(
        "keras",
        {key: value for key, value in config.items() if key != "compile_config"},
        training=_dictionary(config.get("compile_config")),
        keras_version=_text(metadata.get("keras_version")),
    )
    window = opened.window(archive.WEIGHTS) if archive.WEIGHTS in opened.members else None
    if window is None:
        contents.warnings.append("The file holds no weights that can be compared with its configuration.")
        return contents
    with hdf5.opened(window) as file:
        return replace(contents, weights=hdf5.weights(file))


def _hdf5(source: Source) -> Contents:
    with hdf5.opened(source.window()) as file:
        config = hdf5.text_attribute(file, "model_config")
        if config is None:
            raise Refused(
                "it holds weights and no configuration, as save_weights() writes it. "
                "Save the whole model with model.save('name.keras') and open that"
            )
        training = hdf5.text_attribute(file, "training_config")
        version = hdf5.text_attribute(file, "keras_version")
        return Contents(
            "h5",
            parse_object(config, "model_config"),
            training=parse_object(training, "training_config") if training else None,
            keras_version=_text(version.decode("utf-8", "replace")) if version else None,
            weights=hdf5.weights(file),
        )


def _json(source: Source) -> Contents:
    if source.size_bytes > MAX_JSON_BYTES:
        raise Refused(f"it is larger than {MAX_JSON_BYTES >> 20} MiB, which no configuration is")
    config = parse_object(source.read(source.size_bytes), "text")
    return Contents(
        "json",
        {key: value for key, value in config.items() if key not in ("compile_config", "keras_version", "backend")},
        training=_dictionary(config.get("compile_config")),
        keras_version=_text(config.get("keras_version")),
    )


def _dictionary(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value[:64] if isinstance(value, str) and value.isprintable() else None
