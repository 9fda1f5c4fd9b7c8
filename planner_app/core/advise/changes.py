"""Single changes to a setup. Each is only a candidate until it has been traced."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from planner_app.core.advise.remat import activations_pay, paying_layers
from planner_app.core.advise.values import AdviceRequest, Change, Cost
from planner_app.core.estimate.breakdown import Held, Term
from planner_app.core.estimate.estimate import Estimate
from planner_app.core.model.setup import OWN, Backend, Jit, Optimizer, Precision, Setup
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import Mesh

STATE_WORTH_CHANGING = 0.05  # of the peak
ACTIVATIONS_WORTH_SHRINKING = 0.3
SHRUNK = ((3, 4), (1, 2))  # of each side of an image, or of a sequence
ROUNDED_TO = 16  # convolutional networks halve their input four times or more
SMALLEST_SIDE = 32
LORA_RANK = 8
SHARDED_OVER = (2, 4, 8)  # GPUs, as machines have them
ADAPTED = frozenset({"Dense", "EinsumDense", "MultiHeadAttention", "GroupedQueryAttention", "Embedding"})
STATEFUL = frozenset("adam adamw adamax nadam adadelta adafactor ftrl lamb schedulefreeadamw lion rmsprop".split())
HALVES = {
    Precision.FLOAT64: Precision.FLOAT32,
    Precision.FLOAT32: Precision.MIXED_BFLOAT16,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change and how it alters a setup. `solves`: its extent is calculated from what fits.

    `tier` 0 is tried first, later tiers only if the earlier ones give too few options.
    """

    change: Change
    apply: Callable[[Setup], Setup]
    solves: bool = False
    tier: int = 0


def candidates(request: AdviceRequest, base: Estimate, held: Iterable[Held]) -> list[Candidate]:
    """`held` is everything alive at the peak."""
    found = [
        *_accumulate(request),
        *_xla(request, base),
        *_precision(request),
        *_remat(held, base),
        *_batch(request),
        *_optimizer(request, base),
        *_lora(request, base),
        *_freeze(base),
        *_input(request, base),
        *_gpus(request),
        *_sharded(request, base),
    ]
    return sorted(found, key=lambda each: (each.tier, each.change.cost))


def _accumulate(request: AdviceRequest) -> Iterator[Candidate]:
    # Keras 3 raises under tf.distribute ("merge_call called while defining a new graph").
    mirrored = request.setup.gpus > 1 and request.setup.backend is Backend.TENSORFLOW
    if mirrored or request.setup.batch < 2 * request.setup.accumulate:
        return
    yield Candidate(
        accumulation(request.setup), lambda setup: replace(setup, accumulate=max(setup.accumulate, 2)), True
    )


def accumulation(setup: Setup) -> Change:
    optimizer = _written(setup.optimizer, f"gradient_accumulation_steps={setup.accumulate}")
    return Change(
        Cost.ACCUMULATE,
        f"Train {setup.per_gpu_batch} samples at a time and accumulate gradients over {setup.accumulate} steps: the "
        f"update still sees {setup.batch}",
        (f"model.compile(optimizer={optimizer}, ...)", f"model.fit(..., batch_size={setup.per_gpu_batch})"),
        "Batch normalisation sees only the samples of one step. A copy of the gradients is kept between steps.",
    )


def _xla(request: AdviceRequest, base: Estimate) -> Iterator[Candidate]:
    if not request.device.cuda or request.setup.backend is Backend.JAX:
        return
    on = not base.xla
    yield Candidate(
        Change(
            Cost.XLA,
            "Compile the step with XLA, which keeps fewer intermediate results"
            if on
            else "Train without XLA: the step then needs no single block of memory",
            (f"model.compile(..., jit_compile={on})",),
            "The first step takes longer, and again for every new shape." if on else "Steps are mostly slower.",
        ),
        lambda setup: replace(setup, jit=Jit.ON if on else Jit.OFF),
    )


def _precision(request: AdviceRequest) -> Iterator[Candidate]:
    lower = HALVES.get(request.setup.precision)
    if lower is None:
        return
    capability = request.device.compute_capability or (8, 0)
    if lower is Precision.MIXED_BFLOAT16 and request.device.cuda and capability[0] < 8:
        lower = Precision.MIXED_FLOAT16  # no bfloat16 units before Ampere
    if not request.device.cuda and lower is Precision.MIXED_BFLOAT16:
        lower = Precision.MIXED_FLOAT16  # not every CPU kernel of TensorFlow supports bfloat16
    caveat = "Weights stay in float32; compare the loss with that of a float32 run."
    if lower is Precision.MIXED_FLOAT16:
        caveat += " Keras scales the loss automatically."
    yield Candidate(
        Change(
            Cost.PRECISION,
            f"Train in {lower}: activations take half the memory",
            (f'keras.config.set_dtype_policy("{lower}")', "model = build_model()  # after the line above"),
            caveat,
        ),
        lambda setup: replace(setup, precision=lower),
    )


def _remat(held: Iterable[Held], base: Estimate) -> Iterator[Candidate]:
    classes = {layer.name: layer.class_name for layer in base.layers}
    if activations_pay(held, base.peak_bytes, classes):
        yield Candidate(
            Change(
                Cost.REMAT,
                "Rematerialise activations: recompute what gelu, silu and the like keep in the backward pass",
                ('with keras.RematScope(mode="activations"):', "    model = build_model()"),
                "The layers must be called inside the scope, so a loaded model has to be rebuilt.",
            ),
            lambda setup: replace(setup, remat="activations"),
        )
    for names in paying_layers(held, base.peak_bytes, classes):
        mode = f"list_of_layers:{'+'.join(names)}"
        yield Candidate(
            Change(
                Cost.REMAT,
                f"Rematerialise {_named(names)}: recompute their intermediate results in the backward pass",
                (
                    f'with keras.RematScope(mode="list_of_layers", layer_names={_short(names)}):',
                    "    model = build_model()",
                ),
                "The layers must be called inside the scope, so a loaded model has to be rebuilt.",
            ),
            lambda setup, mode=mode: replace(setup, remat=mode),  # type: ignore[misc]
        )


def _batch(request: AdviceRequest) -> Iterator[Candidate]:
    if request.setup.per_gpu_batch > 1:
        yield Candidate(smaller_batch(request.setup), lambda setup: setup, True)


def smaller_batch(setup: Setup) -> Change:
    return Change(
        Cost.BATCH,
        f"Use a batch of {setup.batch}",
        (f"model.fit(..., batch_size={setup.batch})",),
        "Each update sees fewer samples: lower the learning rate with it.",
    )


def _optimizer(request: AdviceRequest, base: Estimate) -> Iterator[Candidate]:
    state = base.breakdown.get(str(Term.OPTIMIZER), 0)
    if request.setup.optimizer.name not in STATEFUL | {OWN.name} or state < base.peak_bytes * STATE_WORTH_CHANGING:
        return
    for optimizer, kept in (
        (Optimizer("sgd", (("momentum", 0.9),)), "one number for each weight"),
        (Optimizer("sgd"), "nothing"),
    ):
        yield Candidate(
            Change(
                Cost.OPTIMIZER,
                f"Train with {optimizer}, which keeps {kept} from step to step",
                (f"model.compile(optimizer={_written(optimizer)}, ...)",),
                "Another optimizer trains differently: tune the learning rate again.",
            ),
            lambda setup, optimizer=optimizer: replace(setup, optimizer=optimizer),  # type: ignore[misc]
            tier=1,
        )


def _lora(request: AdviceRequest, base: Estimate) -> Iterator[Candidate]:
    """Worth it where weights' gradients and the optimizer's state are much of the peak."""
    able = [layer for layer in base.layers if layer.class_name in ADAPTED and layer.gradients_bytes]
    trained = sum(layer.gradients_bytes + layer.optimizer_bytes for layer in able)
    if request.setup.lora or trained < base.peak_bytes * STATE_WORTH_CHANGING:
        return
    yield Candidate(
        Change(
            Cost.LORA,
            f"Train low-rank adapters (LoRA of rank {LORA_RANK}) instead of the weights",
            (
                "for layer in model._flatten_layers(include_self=False):",
                "    layer.trainable = False",
                'for layer in adapted:  # Dense and EinsumDense layers, as in "query" and "value"',
                f"    layer.trainable = True; layer.enable_lora({LORA_RANK})",
            ),
            "For a model that is trained already: only the adapters learn.",
        ),
        lambda setup: replace(setup, lora=str(LORA_RANK)),
        tier=1,
    )


def _freeze(base: Estimate) -> Iterator[Candidate]:
    weighted = [layer.name for layer in base.layers if layer.name and layer.gradients_bytes]
    for count in dict.fromkeys((len(weighted) // 2, len(weighted) - 1)):
        if not 0 < count < len(weighted):
            continue
        names = tuple(weighted[:count])
        yield Candidate(
            Change(
                Cost.FREEZE,
                f"Train only the last {len(weighted) - count} of {len(weighted)} layers with weights",
                (f"for name in {_short(names)}:", "    model.get_layer(name).trainable = False  # then compile"),
                "Only for a pretrained model: frozen layers do not learn.",
            ),
            lambda setup, names=names: replace(setup, freeze=(*setup.freeze, *names)),  # type: ignore[misc]
            tier=1,
        )


def _input(request: AdviceRequest, base: Estimate) -> Iterator[Candidate]:
    kept = base.breakdown.get(str(Term.ACTIVATIONS), 0) + base.breakdown.get(str(Term.TEMPORARIES), 0)
    if kept < base.peak_bytes * ACTIVATIONS_WORTH_SHRINKING:
        return
    for over, under in SHRUNK:
        sizes = tuple((name, shrunk(shape, over, under)) for name, shape in request.inputs)
        if not sizes or all(small == shape for (_, small), (_, shape) in zip(sizes, request.inputs, strict=True)):
            continue
        written = ", ".join(f"{name} {' x '.join(map(str, shape))}" for name, shape in sizes)
        yield Candidate(
            Change(
                Cost.INPUT,
                f"Use smaller inputs: {written}",
                (f"inputs = keras.Input({sizes[0][1]})", "# and resize the data to match"),
                "The model sees less detail; layers after a Flatten change size.",
            ),
            lambda setup, sizes=sizes: replace(setup, sizes=sizes),  # type: ignore[misc]
            tier=1,
        )


def shrunk(shape: tuple[int, ...], over: int, under: int) -> tuple[int, ...]:
    """Scales the sides of an image or a volume, or the length of a sequence; channels and single numbers stay."""
    sides = len(shape) - 1 if len(shape) > 1 else len(shape)

    def smaller(side: int) -> int:
        return max(side * over // under // ROUNDED_TO * ROUNDED_TO, SMALLEST_SIDE)

    return tuple(smaller(size) if place < sides and size > SMALLEST_SIDE else size for place, size in enumerate(shape))


def _gpus(request: AdviceRequest) -> Iterator[Candidate]:
    setup = request.setup
    mirrors = request.device.cuda and setup.backend is Backend.TENSORFLOW
    if not mirrors or setup.accumulate > 1 or setup.batch < 2 * setup.gpus:
        return
    gpus = setup.gpus * 2
    yield Candidate(
        Change(
            Cost.GPUS,
            f"Train on {gpus} GPUs, {-(-setup.batch // gpus)} samples on each",
            ("with tf.distribute.MirroredStrategy().scope():", "    model = build_model(); model.compile(...)"),
            "Memory does not pool: each GPU holds all weights and its own share of the batch, and XLA is off.",
        ),
        lambda one: replace(one, gpus=gpus),
        tier=1,
    )


def _sharded(request: AdviceRequest, base: Estimate) -> Iterator[Candidate]:
    """The weights too are shared out, over the fewest GPUs on which a share of everything would fit."""
    setup, room = request.setup, base.capacity_bytes
    counts = [gpus for gpus in SHARDED_OVER if gpus > setup.gpus and not setup.batch % (gpus * setup.accumulate)]
    if not request.jax or not request.device.cuda or room is None or not counts:
        return
    alone = base.peak_bytes * setup.gpus
    mesh = Mesh(next((gpus for gpus in counts if alone <= gpus * room), counts[-1]))
    yield Candidate(
        Change(
            Cost.SHARDING,
            f"Share out weights, optimizer state and batch over {mesh.gpus} GPUs with Keras on JAX",
            (
                f"# plimsoll plan MODEL --backend jax --mesh {mesh} --layout {LayoutName.FSDP} ... -o it.plan.json",
                'plan = load_plan("it.plan.json")  # before Keras',
                "with plan.scope(): model = build_model(); model.compile(...)",
            ),
            "Weights travel between the GPUs in every step; max-batch --backend jax --mesh any compares layouts.",
        ),
        lambda one: one.on_mesh(mesh, Layout(LayoutName.FSDP)).with_batch(one.batch),
        tier=1,
    )


def _written(optimizer: Optimizer, *more: str) -> str:
    if optimizer == OWN:
        return f"<your optimizer>({', '.join(more)})"
    names = {"sgd": "SGD", "rmsprop": "RMSprop", "adamw": "AdamW"}
    options = [f"{key}={value!r}" for key, value in optimizer.options]
    return f"keras.optimizers.{names.get(optimizer.name, optimizer.name.capitalize())}({', '.join((*options, *more))})"


def _named(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{len(names)} layers ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"


def _short(names: tuple[str, ...]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:3])
    return f"[{shown}, ...]" if len(names) > 3 else f"[{shown}]"
