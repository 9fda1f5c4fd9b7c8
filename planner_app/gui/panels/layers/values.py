"""Every layer and its memory, as plain values."""

from dataclasses import dataclass, fields

from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.estimate import Estimate, LayerMemory
from planner_app.core.model.description import Layer, ModelDescription
from planner_app.gui.panels.layers.blocks import blocks, short_name

NO_LAYER = "(no layer)"
NO_LAYER_MEANING = "Inputs, constants, losses and metrics, the allocator's overhead: what belongs to no layer."


@dataclass(frozen=True, slots=True)
class LayerRow:
    """Attributes:
    path: "" for what belongs to no layer.
    shape: Of its output, without the batch.
    gradients_bytes: Of all its trained weights; at the peak some may be freed or not made yet.
    activation_bytes: Results of its forward pass that are kept at the peak.
    peak_bytes: All its memory at the peak; the sum over all rows is the peak.
    share: Of the peak.
    block: The block it belongs to; "" for none.
    """

    path: str
    class_name: str
    shape: str
    params: int
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activation_bytes: int
    peak_bytes: int
    share: float
    block: str = ""

    @property
    def short(self) -> str:
        """Its name inside its block."""
        return short_name(self.path, self.block) if self.path else NO_LAYER

    @property
    def name(self) -> str:
        return self.path or NO_LAYER

    @property
    def main_term(self) -> Term:
        """The term that takes most of its memory at the peak, which gives its colour."""
        if not self.path:
            return Term.OVERHEAD
        known = {
            Term.WEIGHTS: self.weights_bytes,
            Term.OPTIMIZER: self.optimizer_bytes,
            Term.ACTIVATIONS: self.activation_bytes,
        }
        known[Term.TEMPORARIES] = self.peak_bytes - sum(known.values())
        return max(known, key=lambda term: known[term])

    def matches(self, text: str) -> bool:
        """Whether every word of the filter occurs in its name or class."""
        where = f"{self.name} {self.class_name}".lower()
        return all(word in where for word in text.lower().split())


@dataclass(frozen=True, slots=True)
class LayersValues:
    """Attributes:
    title: The setup shown.
    note: What is being waited for, or went wrong.
    edges: Which layer's result goes into which; empty if that is not known.
    """

    title: str = ""
    rows: tuple[LayerRow, ...] = ()
    peak_bytes: int = 0
    note: str = ""
    edges: tuple[tuple[str, str], ...] = ()


SUMMED = tuple(field.name for field in fields(LayerRow) if field.name not in ("path", "class_name", "shape", "block"))


def layer_rows(estimate: Estimate, description: ModelDescription) -> tuple[LayerRow, ...]:
    """In the model's order; what belongs to no layer is last."""
    known = {layer.path: layer for layer in description.layers}
    block_of = blocks([each.name for each in estimate.layers if each.name])
    return tuple(
        _row(each, known.get(each.name), estimate.peak_bytes, block_of.get(each.name, "")) for each in estimate.layers
    )


def totals(rows: tuple[LayerRow, ...]) -> dict[str, int | float]:
    return {name: sum(getattr(row, name) for row in rows) for name in SUMMED}


def _row(memory: LayerMemory, layer: Layer | None, peak_bytes: int, block: str) -> LayerRow:
    return LayerRow(
        path=memory.name,
        class_name=memory.class_name or (layer.class_name if layer else ""),
        shape=_shapes(layer) if layer else "",
        params=layer.trainable_params + layer.frozen_params if layer else 0,
        weights_bytes=memory.weights_bytes,
        gradients_bytes=memory.gradients_bytes,
        optimizer_bytes=memory.optimizer_bytes,
        activation_bytes=memory.activation_bytes,
        peak_bytes=memory.peak_bytes,
        share=memory.peak_bytes / peak_bytes if peak_bytes else 0.0,
        block=block,
    )


def _shapes(layer: Layer) -> str:
    shapes = (shape[1:] if shape[:1] == ("batch",) else shape for shape in layer.output_shapes)
    return ", ".join("×".join(map(str, shape)) or "scalar" for shape in shapes)  # noqa: RUF001
