"""Advice that changes the model or how it is run, derived from the figures without another trace."""

from collections.abc import Iterator

from planner_app.core.advise.loops import Loop, explain_loop
from planner_app.core.advise.values import AdviceRequest, Hint
from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.estimate import Estimate, LayerMemory
from planner_app.core.model.setup import OWN, Backend, Setup
from planner_app.units import format_bytes

DOMINATES = 0.25  # of the peak: a layer's weights, gradients and optimizer state together
FRAGMENTED = 0.05  # of the peak: what chunks have beyond the requested bytes
STATIC = ("weights_bytes", "gradients_bytes", "optimizer_bytes")


def hints(request: AdviceRequest, base: Estimate) -> Iterator[Hint]:
    yield from _embeddings(request.setup, base)
    yield from _convolutions(base)
    if request.setup.backend is Backend.JAX:
        yield Hint(
            "Several GPUs can share the weights and the optimizer's state on JAX: compare meshes and layouts in the "
            "Sharding panel, or with max-batch --backend jax --mesh any."
        )
    elif request.device.cuda:
        yield from _allocator(base)
        yield Hint(
            "The memory of several GPUs does not add up: each holds the whole model, and only the batch is divided. A "
            "model that does not fit at batch 1 does not fit on any number of them. With Keras on JAX they can share "
            "the weights: max-batch --backend jax --gpus 4 --mesh any."
        )


def loop_hint(peak_bytes: int, state_bytes: int, limit_bytes: int) -> Hint:
    """For a training that fits once: a hyperparameter search or a cross-validation trains several models."""
    text = explain_loop(Loop(peak_bytes, state_bytes), limit_bytes)
    return Hint(f"One model after the other in one process: {text[0].lower()}{text[1:]}")


def _static(layer: LayerMemory) -> int:
    return layer.weights_bytes + layer.gradients_bytes + layer.optimizer_bytes


def _embeddings(setup: Setup, base: Estimate) -> Iterator[Hint]:
    for layer in base.layers:
        if layer.class_name != "Embedding" or _static(layer) < DOMINATES * base.peak_bytes:
            continue
        yield Hint(
            f"The table of {layer.name} takes {format_bytes(layer.weights_bytes)}, with gradient and optimizer state "
            f"{format_bytes(_static(layer))}: half the vocabulary takes half of that (hash rare words, or drop them).",
            (f'{layer.name} = keras.layers.Embedding(vocabulary // 2, width, name="{layer.name}")',),
        )
        if setup.optimizer.name != "sgd" and (setup.optimizer != OWN or layer.optimizer_bytes):
            name = "The optimizer" if setup.optimizer == OWN else setup.optimizer.name
            yield Hint(
                f"{name} turns the sparse gradient of {layer.name} into a dense one as large as the "
                "table; plain SGD updates only the rows of the batch.",
                ("model.compile(optimizer=keras.optimizers.SGD(), ...)",),
            )


def _convolutions(base: Estimate) -> Iterator[Hint]:
    """k x k x in x out weights become k x k x in + in x out: about one k x k-th."""
    for layer in base.layers:
        if layer.class_name not in ("Conv2D", "Conv1D") or _static(layer) < DOMINATES * base.peak_bytes:
            continue
        kind = f"Separable{layer.class_name}"
        yield Hint(
            f"Weights, gradient and optimizer state of {layer.name} take {format_bytes(_static(layer))}: a {kind} of "
            "the same size has about a ninth of that with 3 x 3 filters, and less to compute. It keeps one more "
            "tensor for the backward pass.",
            (f'x = keras.layers.{kind}(filters, 3, padding="same", name="{layer.name}")(x)',),
        )


def _allocator(base: Estimate) -> Iterator[Hint]:
    overhead = base.breakdown.get(str(Term.OVERHEAD), 0)
    if overhead >= FRAGMENTED * base.peak_bytes:
        yield Hint(
            f"{format_bytes(overhead)} of the peak are holes and rounding: cuda_malloc_async allocates what is "
            "requested.",
            ('os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"', "import tensorflow  # after the line above"),
        )
    yield Hint(
        "Without set_memory_growth TensorFlow takes nearly all memory at once and cuts it into fewer pieces; with it, "
        "regions that were taken early may later be too small. Growth is for GPUs that are shared.",
    )
