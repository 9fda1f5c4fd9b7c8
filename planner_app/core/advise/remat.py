"""Which layers are worth rematerialising.

Keras rematerialises layer by layer: only the inputs of such a layer are kept for the backward pass. Its output is kept
all the same if the next layer needs it. So it pays for layers that keep several tensors of their own, such as a
normalisation or a gelu activation, but not for a convolution followed by relu.

Layers called with keyword arguments can't be rematerialised: tf.recompute_grad refuses them in a graph
("custom_gradient decorator currently supports keywords arguments only when eager execution is enabled"). Keras hands
`training` and masks over as such, so dense layers, dropout, batch normalisation, attention and models inside of the
model are out. Of dense layers the activation alone can be computed again: the mode "activations".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from planner_app.core.estimate.breakdown import Held, Term

WORTH_IT = 0.005  # of the peak
FEW_SHARE = 0.5  # of the total saving, if the largest layers alone reach it
# Keras classes whose call takes only tensors.
CAN_BE = frozenset(
    "Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose DepthwiseConv1D "
    "DepthwiseConv2D SeparableConv1D SeparableConv2D LayerNormalization GroupNormalization RMSNormalization "
    "UnitNormalization Activation ReLU LeakyReLU PReLU ELU".split()
)
# Classes with an activation of their own.
ACTIVATED = CAN_BE | {"Dense", "EinsumDense"}


def activations_pay(held: Iterable[Held], peak_bytes: int, classes: Mapping[str, str]) -> bool:
    """Whether activations keep more than their output."""
    return sum(inside(held, classes, ACTIVATED).values()) >= peak_bytes * WORTH_IT


def paying_layers(held: Iterable[Held], peak_bytes: int, classes: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Sets of layers, smaller first: those that save most, and all that save enough.

    `classes` are those of the model's layers, by path.
    """
    saved = {name: size for name, size in inside(held, classes).items() if size >= peak_bytes * WORTH_IT}
    order = sorted(saved, key=lambda name: -saved[name])
    if not order:
        return
    few, sum_bytes = 0, 0
    while sum_bytes < FEW_SHARE * sum(saved.values()):
        sum_bytes += saved[order[few]]
        few += 1
    if few < len(order):
        yield tuple(order[:few])
    yield tuple(order)


def inside(alive: Iterable[Held], classes: Mapping[str, str], among: frozenset[str] = CAN_BE) -> dict[str, int]:
    """Bytes that a layer keeps besides its largest tensor, which is usually what the next layer reads."""
    kept: dict[str, list[int]] = defaultdict(list)
    for held in alive:
        if held.term is Term.ACTIVATIONS and classes.get(held.layer) in among:
            kept[held.layer.rpartition("/")[2]].append(held.size_bytes)
    found = {name: sum(sizes) - max(sizes) for name, sizes in kept.items()}
    return {name: size for name, size in found.items() if size}
