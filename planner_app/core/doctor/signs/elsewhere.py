"""Signs of errors that look like a shortage of memory and are another."""

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.signs.sign import Sign, spellings

ELSEWHERE_SIGNS = (
    Sign(
        "shared_memory",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        (
            *spellings(
                "shared_memory", ("insufficient shared memory (shm)",), ("unable to open shared memory object",)
            ),
            *spellings("shared_memory", ("workers are out of shared memory",), ("creating shared memory segment ",)),
            *spellings("shared_memory", ("posix_fallocate failed",), ("failed to extend /dev/shm",)),
        ),
        ("Not the GPU's memory: the space that processes share (/dev/shm) is too small.",),
        ("NCCL and loader workers pass data through it.",),
        ("Start the container with more: docker run --shm-size=8g; or use fewer workers.",),
    ),
    Sign(
        "bus_error",
        Kind.OTHER_ERROR,
        Sure.POSSIBLE,
        spellings(
            "bus_error",
            ("Bus error", r"(?: \(core dumped\)|: 10|$)"),
            ("SIGBUS", r"\b", r"(?:signal |Signals\.|\()$"),
        ),
        ("A bus error: a page of a file or of /dev/shm that the program had mapped could not be had.",),
        ("Mostly the disk, or the space that processes share (/dev/shm), was full; not the GPU's memory.",),
        ("`df -h` and `df -h /dev/shm` show what is full; in a container docker run --shm-size=8g gives more.",),
        asks="Was the disk or /dev/shm full when it happened?",
    ),
    Sign(
        "disk",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        (
            *spellings("disk", ("No space left on device",), ("isk quota exceeded",)),
            *spellings("disk", (".tempstate", r"\d{5,30}", r"(?:xhausted|EXHAUSTED).{0,120}$")),
            *spellings("disk", (".tempstate", r"\d{5,30}")),
        ),
        ("Not memory: the disk, or the quota on it, is full. TensorFlow calls that a resource exhausted, too.",),
        ("A checkpoint or a file could not be written.",),
        ("Delete old checkpoints, keep fewer (max_to_keep), or write to another disk.",),
    ),
    Sign(
        "on_chip",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        (
            *spellings("on_chip", ("Shared memory size limit exceeded",), ("out of resource: shared memory",)),
            *spellings(
                "on_chip",
                ("too much shared data (",),
                ("Ran out of memory in memory space vmem",),
                ("memory space smem",),
            ),
        ),
        ("Not the GPU's main memory: one kernel wants more of the chip's own fast memory than there is.",),
        ("A smaller batch does not help: it is the size of the tiles that a kernel works on.",),
        ("Use smaller blocks in a kernel of your own; in a library, another version or kernel.",),
    ),
    Sign(
        "wrong_kernels",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        spellings("wrong_kernels", ("All configs failed during profiling", r".{0,3900}?WRONG RESULTS")),
        ("Not memory: of the kernels that XLA's autotuner tried, none gave the right result.",),
        ("Several processes that tune on one GPU at once disturb each other; it may be a bug of that release, too.",),
        ("XLA_FLAGS=--xla_gpu_autotune_level=0 chooses kernels without trying them; or use another release.",),
    ),
    Sign(
        "message_size",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        spellings("message_size", ("message larger than max (",)),
        ("Not memory: a message between processes is larger than gRPC allows.",),
        (),
        ("Send less at once, or raise the channel's largest message size.",),
    ),
    Sign(
        "quota",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        spellings(
            "quota",
            ("Quota exceeded for",),
            ("uota exceeded", "", r"(?:EXHAUSTED|xhausted).{0,110}$"),
            ("Too Many Requests",),
        ),
        ("Not memory: a service refused the request because a quota is used up.",),
    ),
    Sign(
        "files",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        spellings("files", ("Too many open files",)),
        ("Not memory: the process has too many files open.",),
        (),
        ("Raise the limit (ulimit -n), or open fewer files at once.",),
    ),
    Sign(
        "threads",
        Kind.OTHER_ERROR,
        Sure.LIKELY,
        spellings(
            "threads",
            ("can't start new thread",),
            ("pthread_create failed",),
            ("Thread creation via pthread_create() failed",),
        ),
        ("Probably not memory: the system refused the process another thread.",),
        ("That is a limit on the number of processes and threads (ulimit -u, or the container's).",),
        ("Raise that limit, or use fewer workers and threads.",),
    ),
    Sign(
        "time",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        spellings(
            "time",
            ("DUE TO TIME LIMIT",),
            ("DUE TO PREEMPTION",),
            ("DUE TO NODE FAILURE",),
            ("job killed: walltime",),
            ("TERM_RUNLIMIT",),
        ),
        ("Not memory: the job system ended the job (time limit, preemption or a lost node).",),
        (),
        ("Ask for more time, and save checkpoints to go on from.",),
    ),
    Sign(
        "busy",
        Kind.OTHER_ERROR,
        Sure.CERTAIN,
        spellings(
            "busy",
            ("CUDA-capable device(s) is/are busy or unavailable",),
            ("CUDA-capable devices are busy or unavailable",),
        ),
        ("Not memory: the GPU does not take another process (exclusive mode), or does not answer.",),
        (),
        ("`nvidia-smi -q -d COMPUTE` shows the mode; nvidia-smi shows who uses the GPU.",),
    ),
)
