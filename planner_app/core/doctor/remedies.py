"""What to do about each kind of failure, the cheapest first, in words; only what can help.

Changes to the setup are worked out by `core/advise`.
"""

from collections.abc import Iterator

from planner_app.core.doctor.cause import kept_alike
from planner_app.core.doctor.diagnosis import Framework, Kind
from planner_app.core.doctor.sentences import PINNED, Told
from planner_app.core.doctor.signs.device import KERAS_ONLY, LIMIT, LOOK, NO_TRIALS, NOW
from planner_app.core.doctor.signs.host import PIECES, PIPELINE
from planner_app.core.estimate.breakdown import Term

ASYNC = "Set TF_GPU_ALLOCATOR=cuda_malloc_async before TensorFlow is imported: its pool is not cut into pieces."
PREALLOCATE = "Let TensorFlow take the memory at once (no set_memory_growth): one region is cut into fewer pieces."
OWN_PROCESS = "Run each training in a process of its own: a process that ends gives everything back."
SAME_SHAPES = "Keep shapes the same from step to step: drop the last, smaller batch."
ADVISE = "`plimsoll advise MODEL --batch N --device ...` works out which changes make it fit, and what they cost."
SMALLER_BATCH = "Use a smaller batch, with gradient accumulation if the update must stay the same."
FEWER_ACTIVATIONS = (
    'Keep fewer activations: mixed precision (keras.config.set_dtype_policy("mixed_bfloat16")), keras.RematScope.'
)
RECOMPUTE = "Keep fewer activations: keras.RematScope computes them again."
SMALLER_INPUT = "Make the input smaller: crops, patches, shorter sequences."
KEPT = (
    "Look for tensors that are kept: losses or outputs gathered in a list (call float(...) or .numpy()), callbacks "
    "that hold batches."
)
BROADCAST = "Look for an array that became larger than meant: [n, 1] with [1, n] makes n x n numbers."
GIB = 1 << 30


def of(told: Told) -> tuple[str, ...]:
    if told.framework is Framework.PYTORCH:
        return (*_of_pytorch(told), KERAS_ONLY)
    if told.framework is Framework.JAX and told.kind in (Kind.SHORTAGE, Kind.XLA, Kind.TOO_LARGE, Kind.FRAGMENTED):
        return tuple(_of_jax(told))
    match told.kind:
        case Kind.LEAK:
            return _of_leak(told)
        case Kind.HOST:
            return tuple(_of_host(told))
        case Kind.SHORTAGE if told.report.sign == "scratch":
            return (*_of_batch(told), LOOK, ADVISE)
        case Kind.SHORTAGE:
            kept = (KEPT,) if kept_alike(told.report) else ()
            return (_of_term(told), ADVISE) if _of_term(told) else (*kept, *_of_batch(told), ADVISE)
        case Kind.TOO_LARGE:
            return tuple(_of_too_large(told))
        case Kind.FRAGMENTED:
            return (ASYNC, PREALLOCATE, SAME_SHAPES)
        case Kind.OTHER_PROCESS:
            return (LOOK, NOW, *_what_is_left(told))
        case Kind.COPIED_ARRAY:
            return (
                "Make the data set under `with tf.device('CPU:0'):`, as "
                "tf.data.Dataset.from_tensor_slices(...).batch(N).",
                "Or hand out batches one by one, from a keras.utils.PyDataset or a generator.",
            )
        case Kind.XLA if told.report.space:
            return (*_of_batch(told), _fewer_activations(told))
        case Kind.XLA:
            return (
                *((NO_TRIALS,) if told.seen.autotuned else ()),
                "Try compile(jit_compile=False): without XLA no single block of that size is needed.",
                *(() if told.batch_is_one else ("Use a smaller batch; `plimsoll advise` compares both.",)),
            )
        case Kind.LIBRARIES:
            return (LOOK, LIMIT)
    return ()


def _of_batch(told: Told) -> Iterator[str]:
    if told.batch_is_one:
        yield SMALLER_INPUT
        yield _fewer_activations(told)
    elif told.report.during:
        yield "Use a smaller batch there: validation_batch_size of fit(), batch_size of evaluate() and predict()."
    elif told.epoch_had_ended:
        yield "If it was validation, use a smaller batch there: validation_batch_size of fit()."
        yield SMALLER_BATCH
    else:
        yield SMALLER_BATCH


def _fewer_activations(told: Told) -> str:
    return RECOMPUTE if told.is_half or told.seen.precision else FEWER_ACTIVATIONS


def _of_too_large(told: Told) -> Iterator[str]:
    fits = told.first_size_that_fits
    if fits:
        yield (
            f"Make the tensor's first size {fits} at most, if that is the batch: at {fits} it alone fills the memory, "
            "so take far less."
        )
    yield "Split that layer or its input: no setting of the allocator can help."
    shape = told.report.shape or ()
    if (not told.place.layer and told.place.term is not Term.WEIGHTS) or (len(shape) == 2 and shape[0] == shape[1]):
        yield BROADCAST
    yield ADVISE


def _of_host(told: Told) -> Iterator[str]:
    on_cpu = told.report.on_host or told.report.allocator not in PINNED
    if on_cpu and (told.report.made == "weights" or (told.report.made and told.report.eager)):
        yield "The model's own variables do not fit: a smaller batch changes nothing."
    elif on_cpu and not told.batch_is_one:
        yield "On the CPU the step's own tensors lie in the machine's memory: a smaller batch takes less."
    if told.framework is not Framework.JAX:
        yield PIPELINE
    yield PIECES
    if told.progress.fits > 1:
        yield OWN_PROCESS


def _of_leak(told: Told) -> tuple[str, ...]:
    found = []
    if told.progress.fits > 1:
        found += [
            "del model and keras.backend.clear_session() before the next one: that frees what nothing refers to.",
            OWN_PROCESS,
        ]
    else:
        found.append(KEPT)
        if not told.seen.retraced:
            found.append(
                "Where inputs differ in size or length the largest batch needs the most: cap it (crop, pad, bucket)"
                f"{'' if told.batch_is_one else ', or use a smaller batch'}."
            )
    if told.seen.retraced:
        found.append(
            "Give shapes that repeat: pad to a few lengths, batch(drop_remainder=True), or an input_signature."
        )
    return (*found, "`plimsoll measure` runs steps and tells whether memory grows from one to the next.")


def _of_term(told: Told) -> str:
    """Where a smaller batch is not what helps."""
    match told.place.term:
        case Term.WEIGHTS | Term.OPTIMIZER:
            return "The model's own variables do not fit: a smaller batch changes nothing."
        case Term.REDUCTION:
            return "Gradients are packed into one buffer to be added up over GPUs: it does not shrink with the batch."
        case Term.SCRATCH if "Conv" in told.place.operation or "conv" in told.place.operation:
            return "Scratch of a kernel: TF_CUDNN_WORKSPACE_LIMIT_IN_MB makes it smaller, perhaps slower."
    if told.place.phase == "update":
        return "The update wants room for each weight: an optimizer with less state helps, a smaller batch does not."
    return ""


def _of_jax(told: Told) -> Iterator[str]:
    if told.seen.autotuned:
        yield NO_TRIALS
    if told.kind is Kind.FRAGMENTED:
        yield "Let JAX take the memory at once (no XLA_PYTHON_CLIENT_PREALLOCATE=false): one region, fewer pieces."
    if told.kind is Kind.TOO_LARGE:
        yield BROADCAST
    if not told.batch_is_one:
        yield "Use a smaller batch, and add up gradients over several if the update must stay the same."
    if told.seen.counts["keras_on_jax"]:
        yield _fewer_activations(told)
    else:
        yield "jax.checkpoint (jax.remat) around blocks computes activations again instead of keeping them."
    if told.kind is Kind.TOO_LARGE:
        return
    if not told.seen.counts["keras_on_jax"]:
        yield "donate_argnums for parameters and optimizer state lets the step write over them instead of copying."
    if not told.report.space and told.report.sign != "async_failed":
        yield "JAX takes 75 % of a GPU by default: XLA_PYTHON_CLIENT_MEM_FRACTION=.95, set before the import, is more."


def _of_pytorch(told: Told) -> Iterator[str]:
    match told.kind:
        case Kind.OTHER_PROCESS:
            yield from (LOOK, NOW)
        case Kind.FRAGMENTED:
            yield "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (2.1 and newer) keeps memory from being cut up."
        case Kind.TOO_LARGE:
            yield "Split that layer or its input: no setting of the allocator can help."
        case _:
            yield "Use a smaller batch, torch.autocast, or torch.utils.checkpoint."


def _what_is_left(told: Told) -> Iterator[str]:
    """A size to plan for is named only where the log tells one."""
    report, seen = told.report, told.seen
    left = told.numbers.limit_bytes
    if report.cuda_free is not None:
        left = report.cuda_free + (told.numbers.in_use_bytes or 0)
    elif seen.free_at_start:
        left = seen.free_at_start[1]
    elif told.refused_by_driver:
        left = None
    if left is not None and left >= GIB:
        yield f"Or plan for what was left: `plimsoll estimate MODEL --device {left / GIB:.1f}GiB`."
