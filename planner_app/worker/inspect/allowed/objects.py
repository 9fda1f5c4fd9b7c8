"""The walk over a configuration: every object in it must be on the list, wherever it stands."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from planner_app.worker.inspect.allowed.names import PLAIN_VALUES, RUNS_CODE, KerasNames
from planner_app.worker.inspect.allowed.trusted import advice as of_packages
from planner_app.worker.inspect.allowed.trusted import is_of
from planner_app.worker.inspect.allowed.user_names import HOW_TO_OFFER, UserNames
from planner_app.worker.inspect.refusal import Refused

MAX_NAMED = 20  # classes spelled out in one sentence
KERAS_2_ONLY = frozenset({"TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer", "ClassMethod", "InstanceMethod"})
FILE_FIELDS = ("vocabulary", "filepath", "merges", "proto")  # the last two of tokenizers in packages
NOTHING_CUSTOM = UserNames()
NUMERIC = ("float", "bfloat", "int", "uint", "bool", "complex", "string")


@dataclass(frozen=True, slots=True)
class Node:
    """An object of the tree and the layer it belongs to."""

    value: dict[str, Any]
    layer: str
    class_name: str
    keras_own: bool


@dataclass(slots=True)
class Findings:
    """What the walk has met: objects in order, names nobody knows with the layers that use them."""

    nodes: list[Node] = field(default_factory=list)
    unknown: dict[str, list[str]] = field(default_factory=dict)


def walk(tree: Any, names: KerasNames, custom: UserNames = NOTHING_CUSTOM) -> Findings:
    """Every object of a configuration, checked. What would run code is refused at once; unknown names are gathered."""
    findings = Findings()
    stack: list[tuple[Any, str]] = [(tree, "")]
    while stack:
        value, layer = stack.pop()
        if isinstance(value, str):
            _check_text(value, layer)
        elif isinstance(value, list):
            stack += [(item, layer) for item in reversed(value)]
        elif isinstance(value, dict):
            layer = _layer_name(value) or layer
            if "class_name" in value:
                _check_object(value, layer, names, custom, findings)
            for key, item in reversed(value.items()):
                _check_text(key, layer)
                stack.append((item, layer))
    return findings


def refuse_unknown(findings: Findings, custom: UserNames = NOTHING_CUSTOM, *, what: str = "classes") -> None:
    if not findings.unknown:
        return
    listed = [f"{name!r}{_of_layers(layers)}" for name, layers in list(findings.unknown.items())[:MAX_NAMED]]
    more = len(findings.unknown) - len(listed)
    advice = "Name the Python file that defines them with --custom file.py"
    advice = of_packages(findings.unknown, custom.packages) or advice
    if any(_bare(name) in custom.private for name in findings.unknown):
        advice = HOW_TO_OFFER
    if KERAS_2_ONLY & findings.unknown.keys():
        advice = (
            "Keras 2 kept TensorFlow functions in a model that way, and Keras 3 can't: write them as layers of Keras"
        )
    raise Refused(
        f"it uses {what} that are not Keras' own: {', '.join(listed)}{f' and {more} more' if more else ''}. {advice}"
    )


def _of_layers(layers: list[str]) -> str:
    shown = [repr(name) for name in dict.fromkeys(layers) if name][:3]
    more = len(set(layers)) - len(shown)
    return f" (layer {', '.join(shown)}{', ...' if more > 0 else ''})" if shown else ""


def _bare(name: str) -> str:
    """`mine.Scale` and `shop>Scale` without what stands before the name."""
    return name.rpartition(">")[2].rpartition(".")[2]


def _layer_name(value: dict[str, Any]) -> str:
    config = value.get("config")
    name = value.get("name") or (config.get("name") if isinstance(config, dict) else None)
    return name if isinstance(name, str) and "class_name" in value else ""


def _check_object(value: dict[str, Any], layer: str, names: KerasNames, custom: UserNames, findings: Findings) -> None:
    name = value["class_name"]
    if not isinstance(name, str):
        raise Refused(f"a class in it is named by a {type(name).__name__}, expected a name{_at(layer)}")
    if name in PLAIN_VALUES:
        _check_plain(value, name, layer)
        return
    if name == "function":
        _check_function(value, layer, names, custom, findings)
        return
    module = value.get("module")
    bare = name.rpartition(">")[2]  # Keras 2 wrote "package>Name" for registered classes
    if name == "Lambda":
        _check_lambda(value, layer, names, custom)
        findings.nodes.append(Node(value, layer, name, keras_own=True))
        return
    if name in RUNS_CODE:
        raise Refused(f"its layer {layer!r} is a {name}: {RUNS_CODE[name]}. Nothing of a model file is ever run")
    if names.has_class(module if isinstance(module, str) else None, name, module_written="module" in value):
        _check_registered(value, name, layer)
        _check_files(value, layer)
        findings.nodes.append(Node(value, layer, name, keras_own=True))
    elif bare in custom.classes and not str(module or "").startswith("keras"):
        _check_registered(value, name, layer, custom.classes)
        if "module" in value:
            # Found among the file's own classes, or not at all: older releases of Keras import what is named here.
            value["module"] = None
        findings.nodes.append(Node(value, layer, name, keras_own=False))
    elif is_of(value, custom.packages):
        _check_files(value, layer)
        findings.nodes.append(Node(value, layer, name, keras_own=False))
    else:
        shown = name if module is None or not isinstance(module, str) else f"{module}.{name}"
        findings.unknown.setdefault(shown, []).append(layer)


def _check_plain(value: dict[str, Any], name: str, layer: str) -> None:
    config = value.get("config")
    dtype = config.get("dtype") if isinstance(config, dict) else None
    if dtype is not None and not (isinstance(dtype, str) and dtype.startswith(NUMERIC)):
        raise Refused(f"a {name} in it has the dtype {dtype!r:.60}, expected one of Keras' dtypes{_at(layer)}")


def _check_function(
    value: dict[str, Any], layer: str, names: KerasNames, custom: UserNames, findings: Findings
) -> None:
    name, module = value.get("config"), value.get("module")
    if isinstance(name, str) and names.has_function(module if isinstance(module, str) else None, name):
        _check_registered(value, name, layer)
        return
    bare = str(name).rpartition(">")[2]
    if bare in custom.functions and not str(module or "").startswith("keras"):
        _check_registered(value, bare, layer, custom.functions)
        return
    findings.unknown.setdefault(f"{module}.{name}" if module else str(name), []).append(layer)


def _check_lambda(value: dict[str, Any], layer: str, names: KerasNames, custom: UserNames) -> None:
    """A Lambda layer is fine if it only names an activation of Keras' or a function of the user's file."""
    config = value.get("config")
    function = config.get("function") if isinstance(config, dict) else None
    if isinstance(function, str) and function in custom.functions:
        return
    why = RUNS_CODE["Lambda"]
    if isinstance(function, dict) and function.get("class_name") == "function":
        found = Findings()
        _check_function(function, layer, names, custom, found)
        if not found.unknown:
            return
        called = next(iter(found.unknown))
        why = f"it would call {called!r:.120}, which is not an activation of Keras"
        if _bare(called) in custom.private:
            raise Refused(f"its layer {layer!r} is a Lambda, and {why}. {HOW_TO_OFFER}")
    raise Refused(
        f"its layer {layer!r} is a Lambda: {why}, and nothing of a model file is ever run. "
        "Write the layer as a class, save the model again and name the class's file with --custom file.py"
    )


def _check_registered(value: dict[str, Any], name: str, layer: str, others: frozenset[str] = frozenset()) -> None:
    """Keras looks for the registered name first: it must say the same, or be one that may be named itself."""
    registered = value.get("registered_name")
    allowed = {name, name.rpartition(">")[2], value["class_name"], *others}
    if registered is not None and (not isinstance(registered, str) or registered.rpartition(">")[2] not in allowed):
        raise Refused(f"it calls {name!r} also {registered!r:.80}, and readers differ on which counts{_at(layer)}")


def _check_files(value: dict[str, Any], layer: str) -> None:
    config = value.get("config")
    for key in FILE_FIELDS:
        if isinstance(config, dict) and isinstance(config.get(key), str):
            raise Refused(
                f"its layer {layer!r} would read the file {config[key]!r:.120} ({key}). "
                "Files that a model names are never opened: save the model with the words themselves"
            )


def _check_text(text: str, layer: str) -> None:
    """JSON can spell halves of characters, which nothing can write out again."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Refused(f"a text in it is not valid Unicode: {text!r:.80}{_at(layer)}") from None


def _at(layer: str) -> str:
    return f" (layer {layer!r})" if layer else ""


def layers_of(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The layers of a model's object, of either shape that Keras wrote."""
    config = value.get("config")
    layers = config.get("layers") if isinstance(config, dict) else config
    if isinstance(layers, list):
        yield from (layer for layer in layers if isinstance(layer, dict))
