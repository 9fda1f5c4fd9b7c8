"""What to do about each kind of failure, the cheapest first, in words. Changes to the setup are `core/advise`'s."""

from planner_app.core.doctor.diagnosis import Kind
from planner_app.core.doctor.sentences import Told
from planner_app.core.estimate.breakdown import Term

ASYNC = "Set TF_GPU_ALLOCATOR=cuda_malloc_async before TensorFlow is imported: its pool is not cut into pieces."
PREALLOCATE = "Let TensorFlow take the memory at once (no set_memory_growth): one region is cut into fewer pieces."
GROWTH = (
    "tf.config.experimental.set_memory_growth(gpu, True) leaves memory to the libraries: TensorFlow then takes only "
    "what it needs."
)
OWN_PROCESS = "Run each training in a process of its own: a process that ends gives everything back."
LOOK = "nvidia-smi shows who holds the memory; end that process, or choose another GPU with CUDA_VISIBLE_DEVICES."

ADVISE = "`plimsoll advise MODEL --batch N --device ...` works out which changes make it fit, and what they cost."

_OF_KIND = {
    Kind.SHORTAGE: (
        "Use a smaller batch, with gradient accumulation if the update must stay the same.",
        ADVISE,
    ),
    Kind.TOO_LARGE: ("Use a smaller batch or input, or split that layer: no setting of the allocator can help.",),
    Kind.FRAGMENTED: (ASYNC, PREALLOCATE, "Keep shapes the same from step to step: drop the last, smaller batch."),
    Kind.OTHER_PROCESS: (LOOK, "Or plan for what is left: `plimsoll estimate --device 8GiB`."),
    Kind.LIBRARIES: (GROWTH, LOOK, "Or give TensorFlow a limit with LogicalDeviceConfiguration(memory_limit=MiB)."),
    Kind.COPIED_ARRAY: (
        "Make the data set under `with tf.device('CPU:0'):`, as tf.data.Dataset.from_tensor_slices(...).batch(N).",
        "Or hand out batches one by one, from a keras.utils.PyDataset or a generator.",
    ),
    Kind.XLA: (
        "Try compile(jit_compile=False): without XLA no single block of that size is needed.",
        "Use a smaller batch; `plimsoll advise` compares both.",
    ),
}


def of(told: Told) -> tuple[str, ...]:
    if told.kind is Kind.LEAK:
        return _of_leak(told)
    if told.kind is Kind.HOST:
        return _of_host(told)
    if told.kind is Kind.SHORTAGE and (special := _of_term(told)):
        return (special, ADVISE)
    return _OF_KIND.get(told.kind, ())


def _of_leak(told: Told) -> tuple[str, ...]:
    found = []
    if told.progress.fits > 1:
        found += [
            "del model and keras.backend.clear_session() before the next one: that frees what nothing refers to.",
            OWN_PROCESS,
        ]
    else:
        found.append(
            "Look for tensors that are kept: losses or outputs gathered in a list (call float(...) or .numpy()), "
            "callbacks that hold batches."
        )
    if told.seen.retraced:
        found.append(
            "Give shapes that repeat: pad to a few lengths, batch(drop_remainder=True), or an input_signature."
        )
    return (*found, "`plimsoll measure` runs steps and tells whether memory grows from one to the next.")


def _of_host(told: Told) -> tuple[str, ...]:
    return (
        "Make tf.data's buffers smaller: shuffle() and prefetch() keep as many elements as they say, cache() all.",
        "Load data in pieces instead of one array; use float32 or uint8 where numpy made float64.",
        *([OWN_PROCESS] if told.progress.fits > 1 else []),
    )


def _of_term(told: Told) -> str:
    """Where a smaller batch is not what helps."""
    match told.place.term:
        case Term.WEIGHTS | Term.OPTIMIZER:
            return "The model's own variables do not fit: a smaller batch changes nothing."
        case Term.REDUCTION:
            return "Gradients are packed into one buffer to be added up over GPUs: it does not shrink with the batch."
        case Term.SCRATCH if "Conv" in told.place.operation:
            return "Scratch of a kernel: TF_CUDNN_WORKSPACE_LIMIT_IN_MB makes it smaller, perhaps slower."
    if told.place.phase == "update":
        return "The update wants room for each weight: an optimizer with less state helps, a smaller batch does not."
    return ""
