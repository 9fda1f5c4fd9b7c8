"""Signs of the machine's own memory that Python, Windows or the driver refused the process itself."""

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.signs.host import LESS, PIECES, PIPELINE, WORKERS
from planner_app.core.doctor.signs.sign import Sign, spellings

PROCESS_SIGNS = (
    Sign(
        "batch_memory",
        Kind.HOST,
        Sure.CERTAIN,
        spellings("batch_memory", ("ailed to allocate memory for the batch of component",)),
        ("The machine's own memory ran out while tf.data put a batch together.",),
        ("Batches are made in the machine's memory, before they are copied to a GPU.",),
        ("Use a smaller batch, or smaller elements.", PIPELINE),
    ),
    Sign(
        "array_memory",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings(
                "array_memory",
                (
                    "MemoryError: Unable to allocate ",
                    r"@size@ for an array with shape \((?P<shape>\d[\d, ]{0,200}?),?\) "
                    r"and data type (?P<dtype>\w{1,40}+)",
                ),
                ("MemoryError: Unable to allocate ", r"@size@"),
                (  # numpy 1.17
                    "MemoryError: Unable to allocate array with shape ",
                    r"\((?P<shape>\d[\d, ]{0,200}?),?\) and data type (?P<dtype>\w{1,40}+)",
                ),
            ),
        ),
        (
            "The machine's own memory ran out: numpy asked for an array of {size} ({shape}, {dtype}).",
            "The machine's own memory ran out: numpy asked for an array of {size}.",
            "The machine's own memory ran out: numpy asked for an array of shape {shape}, {dtype}.",
            "The machine's own memory ran out: numpy asked for an array.",
        ),
        ("No GPU was involved.",),
        (PIECES, PIPELINE),
    ),
    Sign(
        "no_memory",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings(
                "no_memory",
                ("MemoryError", r"(?:$|:)(?!.{0,120}?(?:CUDA|cuda|HIP|hip))", r"(?:^|[\s.(])_?(?:Array)?$"),
                ("std::bad_alloc", r"(?!.{0,120}?(?:CUDA|cuda))", r"(?:terminate called.{0,80}|what\(\): +)$"),
            ),
            *spellings("no_memory", ("malloc of size ", r"@size@ failed"), ("C error: out of memory",)),
            *spellings("no_memory", ("(-4:Insufficient memory) Failed to allocate ", r"@size@")),
            *spellings("no_memory", ("memory allocation failed for raw data",)),
            *spellings(
                "no_memory",
                ("DefaultCPUAllocator: ", r"(?:can't allocate|not enough) memory: you tried to allocate @size@"),
            ),
            *spellings(
                "no_memory",
                (
                    "annot allocate memory",
                    "",
                    r"(?:OSError|Errno 12|fork|mmap|rror code 12|errno=12|bash|sh: |shared object: ).{0,100}$",
                ),
            ),
            *spellings("no_memory", ("exceed data ulimit ",)),
            *spellings("no_memory", ("MPI_Alloc_mem", r".{0,60}?out of memory")),
        ),
        (
            "The machine's own memory ran out, not a GPU's, when {size} were asked for.",
            "The machine's own memory ran out, not a GPU's.",
        ),
        (),
        (*LESS, "If `ulimit -v` is set or a job system limits the process, raise that limit."),
    ),
    Sign(
        "commit",
        Kind.HOST,
        Sure.CERTAIN,
        spellings("commit", ("aging file is too small",), ("WinError 1455",)),
        ("Windows had no memory left to promise: the machine's own and its paging file together are the limit.",),
        ("A process that loads CUDA's libraries is promised gigabytes, used or not; each loader worker loads them.",),
        (
            "Make the paging file larger (System > Advanced > Performance > Virtual memory), or let Windows manage it.",
            WORKERS,
            "Close other programs.",
        ),
    ),
    Sign(
        "pinned",
        Kind.HOST,
        Sure.LIKELY,
        (
            *spellings("pinned", ("could not allocate pinned host memory of size: ", r"@size@")),
            *spellings("pinned", ("failed to alloc ", r"@size@ on host: .{0,40}OUT_OF_MEMORY")),
        ),
        ("The driver refused {size} of pinned host memory, through which batches are copied to the GPU.",),
        (
            "Pinned memory is the machine's, not the GPU's. Windows Subsystem for Linux allows little of it, and a "
            "machine short of memory none.",
        ),
        (
            "Feed batches with tf.data instead of whole arrays: what is copied at once is what is pinned.",
            "TF_GPU_HOST_MEM_LIMIT_IN_MB=4096, set before TensorFlow is imported, keeps it from asking for more.",
            PIECES,
        ),
        recovers=True,
    ),
)
