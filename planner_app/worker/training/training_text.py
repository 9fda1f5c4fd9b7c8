"""What was saved of a model's training, as a person would say it: "Adam (learning_rate 0.001)"."""

from collections.abc import Mapping, Sequence
from typing import Any

from planner_app.foreign_text import for_line
from planner_app.worker.training.optimizers import options_of

MAX_CHARACTERS = 200
TOLD = ("learning_rate", "momentum", "weight_decay", "clipnorm", "ema_momentum", "gradient_accumulation_steps")


def optimizer_text(training: Mapping[str, Any] | None) -> str | None:
    """The optimizer with the options that matter. Keras 3 calls the entry `optimizer`, Keras 2 `optimizer_config`."""
    saved = (training or {}).get("optimizer") or (training or {}).get("optimizer_config")
    if not isinstance(saved, Mapping):
        return _short(_name(saved))
    return _short(_with_options(str(_name(saved)), saved.get("config")))


def optimizers_text(optimizers: Sequence[Any]) -> str:
    """The optimizers that a model has. Of several, those it uses: Keras gives every compiled model one."""
    used = [each for each in optimizers if each.built] if len(optimizers) > 1 else optimizers
    texts = [_optimizer(each) for each in used or optimizers]
    return _short(" and ".join(texts)) or ""


def _optimizer(optimizer: Any) -> str:
    text = _with_options(type(optimizer).__name__, options_of(optimizer))
    inner = getattr(optimizer, "inner_optimizer", None)
    return text if inner is None else f"{text} of {_optimizer(inner)}"


def losses_text(model: Any) -> str:
    loss = getattr(model, "loss", None)
    if loss is None:
        return "of its own" if getattr(model, "compiled", False) else ""
    return _short(_called(loss)) or ""


def _called(loss: Any) -> str:
    if loss is None:
        return "none"
    if isinstance(loss, Mapping):
        return ", ".join(f"{key}: {_called(value)}" for key, value in loss.items())
    if isinstance(loss, (list, tuple)):
        return ", ".join(map(_called, loss))
    name = loss if isinstance(loss, str) else getattr(loss, "__name__", None) or type(loss).__name__
    return str(name)


def _with_options(name: str, options: Any) -> str:
    options = options if isinstance(options, Mapping) else {}
    if not options.get("use_ema"):
        options = {key: value for key, value in options.items() if key != "ema_momentum"}
    told = [f"{key} {_value(options[key])}" for key in TOLD if options.get(key)]
    return f"{name} ({', '.join(told)})" if told else name


def loss_text(training: Mapping[str, Any] | None) -> str | None:
    return _short(_name((training or {}).get("loss")))


def _name(saved: Any) -> str | None:
    """The name of one object, or of several in a list or by output."""
    if isinstance(saved, str):
        return saved
    if isinstance(saved, Mapping):
        if saved.get("class_name") == "function":
            return _name(saved.get("config"))
        if "class_name" in saved:
            return str(saved["class_name"]).rpartition(">")[2]
        return ", ".join(f"{key}: {_name(value)}" for key, value in saved.items()) or None
    if isinstance(saved, list):
        return ", ".join(str(_name(item)) for item in saved) or None
    return None


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(_name(value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) if isinstance(value, (int, str)) else type(value).__name__


def _short(text: str | None) -> str | None:
    if text is None:
        return None
    text = for_line(text)
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 3] + "..."
