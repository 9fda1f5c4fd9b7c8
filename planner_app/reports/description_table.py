"""A `ModelDescription` as a table."""

from collections import Counter

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.model.description import Layer, ModelDescription, TensorShape
from planner_app.units import format_bytes

NARROW = 90  # on fewer columns, classes and notes are left out
FORMATS = {
    "keras": "Keras file",
    "h5": "HDF5 file",
    "savedmodel": "SavedModel folder",
    "json": "JSON file, configuration only",
    "python": "made by your Python code",
}


def show(model: ModelDescription, console: Console) -> None:
    console.print(_title(model))
    console.print(_layers(model, narrow=console.width < NARROW))
    console.print(_totals(model))
    for warning in model.warnings:
        console.print(Text(f"! {warning}", style="yellow"))


def _title(model: ModelDescription) -> Text:
    text = Text(model.name, style="bold")
    version = f" written by Keras {model.keras_version}" if model.keras_version else ""
    text.append(f"  {model.class_name}, {FORMATS.get(model.format, model.format)}{version}\n", style="not bold")
    for word, tensors in (("takes", model.inputs), ("gives", model.outputs)):
        text.append(f"{word}  ", style="not bold dim")
        text.append("; ".join(map(_tensor, tensors)) or "not known", style="not bold")
        text.append("\n")
    return text


def _tensor(tensor: TensorShape) -> str:
    return f"{tensor.name} {_shape(tensor.shape)} {tensor.dtype}"


def _shape(shape: tuple[int | str, ...]) -> str:
    return " × ".join(map(str, shape))  # noqa: RUF001 - a multiplication sign is meant


def _layers(model: ModelDescription, *, narrow: bool) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("layer", overflow="fold")
    if not narrow:
        table.add_column("class", overflow="fold", style="dim")
    table.add_column("output", overflow="fold")
    table.add_column("parameters", justify="right", no_wrap=True)
    table.add_column("weights", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("", style="dim", no_wrap=True)
    usual = _usual_dtype(model)
    for layer in model.layers:
        outputs = Text("\n".join(map(_shape, layer.output_shapes)) or "-")
        counted = [f"{layer.trainable_params + layer.frozen_params:,}", format_bytes(layer.weight_bytes)]
        counted = counted if layer.weight_bytes else ["-", "-"]
        if narrow:
            table.add_row(Text(layer.path), outputs, *counted)
        else:
            table.add_row(Text(layer.path), Text(layer.class_name), outputs, *counted, _notes(layer, usual))
    return table


def _usual_dtype(model: ModelDescription) -> str:
    uses = Counter(layer.dtype for layer in model.layers if layer.weight_bytes)
    return uses.most_common(1)[0][0] if uses else ""


def _notes(layer: Layer, usual: str) -> str:
    """Anything unusual: a precision other than the model's, frozen weights, several uses."""
    notes = []
    if layer.weight_bytes and layer.dtype != usual:
        notes.append(layer.dtype)
    if not layer.trainable and layer.frozen_params:
        notes.append("frozen")
    if layer.shared:
        notes.append("shared")
    return ", ".join(notes)


def _totals(model: ModelDescription) -> Text:
    text = Text(f"\n{model.params:,} parameters", style="bold")
    text.append(f": {model.trainable_params:,} trainable, {model.frozen_params:,} frozen; ", style="not bold")
    text.append(f"{format_bytes(model.weight_bytes)} of weights")
    text.append(f" in {len(model.layers)} layers\n", style="not bold")
    saved = [f"{word} {value}" for word, value in (("optimizer", model.optimizer), ("loss", model.loss)) if value]
    if usual := _usual_dtype(model):
        text.append("precision  ", style="not bold dim")
        text.append(f"{usual}\n", style="not bold")
    text.append("saved with  ", style="not bold dim")
    text.append(", ".join(saved) or "no optimizer and no loss", style="not bold")
    if model.unknown_dims:
        text.append("\nunknown sizes  ", style="not bold dim")
        text.append(", ".join(model.unknown_dims), style="not bold")
    return text
