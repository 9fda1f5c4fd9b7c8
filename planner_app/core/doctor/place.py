"""Whose operation: from a name in the graph to the layer, the phase of the step and the kind of memory.

Keras opens a name scope for each layer, the gradient tape one around its own, each optimizer one of its name:

    functional_1/conv2d_3_1/convolution                                Keras 3, forward pass
    gradient_tape/model/conv2d_3/Conv2D/Conv2DBackpropInput            Keras 2, backward pass
    training/Adam/gradients/conv2d_3/convolution_grad/Conv2DBackprop   TensorFlow 1.15, backward pass
    Adam/Adam/update_4/ResourceApplyAdam                               update
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from planner_app.core.estimate.breakdown import Term
from planner_app.core.model.choices import OPTIMIZERS
from planner_app.core.model.trace import Phase

_NUMBERED = re.compile(r"_\d+$")
# Scopes that wrap others: calls, loops, branches, replicas, training of Keras 2.
_WRAPPERS = re.compile(
    r"^(?:Stateful)?PartitionedCall(?:_\d+)?$|^replica_\d+$|^tower_\d+$|^training(?:_\d+)?$|^gradients?(?:_\d+)?$|"
    r"^gradient_tape$|^while(?:_\d+)?$|^body$|^cond(?:_\d+)?$|^(?:then|else)$|^_\d+$|^cluster(?:_\d+)*$|^compile_loss$|"
    r"^loss(?:_\d+)?$|^update(?:_\d+)?$|^metrics(?:_\d+)?$|^Identity$"
)
# Scopes that Keras' and TensorFlow's own functions open inside a layer. A layer's own name rarely begins so.
_INSIDE = re.compile(
    r"^(?:Conv[123]D\w*|MatMul|BatchMatMul\w*|BiasAdd|Relu\w*|Tensordot|Repeat|Softmax|FusedBatchNorm\w*|MaxPool\w*|"
    r"AvgPool\w*|Tile|Einsum|Pad|Mean|Sum|Mul|Add\w*|Sub|Cast|Reshape|Squeeze|ExpandDims|Sigmoid|Tanh|Gelu|add|sub|"
    r"mul|truediv|convolution|conv\dd_transpose|separable_conv2d|depthwise|einsum|softmax|moments|"
    r"batchnorm|normalize|activation|lstm_cell|gru_cell|simple_rnn_cell|embedding_lookup|resize|zeros|ones|"
    r"stateless_dropout|random_uniform|strided_slice|concat)(?:_\d+)*$"
)
_MODEL = re.compile(r"^(?:model|functional|sequential)(?:_\d+)*$")
_OPTIMIZERS = (*OPTIMIZERS, "loss_scale_optimizer", "lossscaleoptimizer", "schedule_free_adamw")
_OPTIMIZER = re.compile(rf"^(?:{'|'.join(_OPTIMIZERS)})(?:_\d+)?$", re.IGNORECASE)
_LOSS = re.compile(r"(?:^|/)(?:compile_)?loss(?:_\d+)?/")
_UPDATE = re.compile(rf"(?:^|/)(?:{'|'.join(_OPTIMIZERS)})(?:_\d+)?/", re.IGNORECASE)
_BACKWARD = re.compile(r"(?:^|/)(?:gradient_tape|gradients(?:_\d+)?)/|_grad/|Backprop|Grad(?:V\d)?(?:_\d+)?$")
_WEIGHT_GRADIENT = re.compile(r"BackpropFilter|BiasAddGrad|(?:^|/)MatMul(?:/MatMul)?_1$")
_REDUCTION = re.compile(r"Collective|AllReduce|all_reduce|NcclAll", re.IGNORECASE)
_PIPELINE = re.compile(r"IteratorGetNext|_EagerConst|^GatherV2(?:_\d+)?$|ParallelMap")
_MADE = {"weights": Term.WEIGHTS, "optimizer": Term.OPTIMIZER}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the step an operation stands. Empty is unknown.

    Attributes:
        scope: The innermost name scope that may be a layer's, as it is in the graph.
        layer: The layer: its path in the model if the model is known, else the scope without what Keras 3 adds.
    """

    operation: str
    scope: str = ""
    layer: str = ""
    phase: str = ""
    term: str = ""


def placed(
    operation: str,
    *,
    eager: bool = False,
    made: str = "",
    temporary: bool = False,
    shape: Sequence[int] | None = None,
    copied: bool = False,
    numbered: bool = False,
    layers: Sequence[str] = (),
) -> Place:
    """Args:
    eager: It ran by itself, outside of a graph: there is no scope.
    made: "weights" or "optimizer", where a traceback shows what it was making.
    temporary: The kernel wanted it as scratch.
    shape: Of the tensor: a convolution's weights have four sizes or five, its scratch has not.
    copied: It is a copy of something on the host.
    numbered: Keras 3 traced it, which puts a number behind each scope.
    layers: Paths of the model's layers, if it is known.
    """
    if not operation:
        return Place("", term=str(Term.INPUTS) if copied else "")
    phase = _phase(operation)
    scope = _scope(operation)
    if layers:
        layer = _layer_of(operation, layers, numbered)
    elif _LOSS.search(operation) or (phase is Phase.UPDATE and not scope):
        layer = ""
    else:
        layer = _NUMBERED.sub("", scope) if numbered else scope
    if copied or _PIPELINE.search(operation):
        return Place(operation, term=str(Term.INPUTS))
    if eager:
        return Place(operation, term=str(_MADE[made]) if made else "")
    if "/" not in operation and phase is Phase.FORWARD:
        return Place(operation, term=str(Term.SCRATCH) if temporary else "")  # outside of every layer
    return Place(operation, scope, layer, str(phase), str(_term(operation, phase, temporary, shape)))


def _phase(operation: str) -> Phase:
    if _BACKWARD.search(operation):
        return Phase.BACKWARD
    if _UPDATE.search(operation) or _REDUCTION.search(operation):
        return Phase.UPDATE
    return Phase.FORWARD


def _term(operation: str, phase: Phase, temporary: bool, shape: Sequence[int] | None) -> Term:
    if temporary or ("BackpropFilter" in operation and shape is not None and len(shape) not in (4, 5)):
        return Term.SCRATCH
    if _REDUCTION.search(operation):
        return Term.REDUCTION
    if phase is Phase.FORWARD:
        return Term.ACTIVATIONS
    if phase is Phase.BACKWARD and _WEIGHT_GRADIENT.search(operation):
        return Term.GRADIENTS
    return Term.TEMPORARIES


def _scope(operation: str) -> str:
    """The layer's scope: behind the model's own, before what the layer calls."""
    parts = operation.split("/")
    if len(parts) == 1:
        return ""
    kept = [part for part in parts[:-1] if not _WRAPPERS.match(part) and not _OPTIMIZER.match(part)]
    kept = [part.removesuffix("_grad") for part in kept]
    named = [part for part in kept if not _INSIDE.match(part)]
    # The first is the model's, but in Keras 2.3 and before, where layers stand alone.
    if len(kept) > 1 and named == kept[:1] and _MODEL.match(kept[0]):
        return kept[1]
    return named[-1] if named else kept[-1] if kept else ""


def _layer_of(operation: str, layers: Sequence[str], numbered: bool) -> str:
    """The innermost scope that is the name of a layer.

    Keras 3 opens each scope twice, so a number is always behind the name: "conv2d_1" is the scope of "conv2d", and
    "conv2d_1_1" that of "conv2d_1". Keras 2 adds one only where a layer is called again.
    """
    paths = {path.rpartition("/")[2]: path for path in reversed(layers)}
    for part in reversed(operation.split("/")[:-1]):
        name = part.removesuffix("_grad")
        shorter = _NUMBERED.sub("", name)
        for candidate in (shorter, name) if numbered else (name, shorter):
            if candidate in paths:
                return paths[candidate]
    return ""
