"""Signs of a GPU's memory that come from the driver and the CUDA libraries, not from an allocator."""

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.signs.sign import Sign, spellings

LOOK = "nvidia-smi shows who holds the memory; end that process, or choose another GPU with CUDA_VISIBLE_DEVICES."
NOW = "`plimsoll doctor --now` shows who holds which GPU's memory at this moment."
GROWTH = (
    "tf.config.experimental.set_memory_growth(gpu, True) leaves memory to the libraries: TensorFlow then takes only "
    "what it needs."
)
FRACTION = (
    "Leave more to the libraries: XLA_PYTHON_CLIENT_MEM_FRACTION=.6 (JAX takes 75 % at once by default), or "
    "XLA_PYTHON_CLIENT_PREALLOCATE=false; set it before JAX is imported."
)
NO_XLA = "Train without XLA: model.compile(..., jit_compile=False)."
ANOTHER = "Was another program using this GPU when it failed? nvidia-smi, run beside the training, tells."
LIMIT = "Or give TensorFlow a limit with LogicalDeviceConfiguration(memory_limit=MiB)."
NO_TRIALS = "XLA_FLAGS=--xla_gpu_autotune_level=0 chooses kernels without trying them."
KERAS_ONLY = "Estimates and advice of this program are for Keras models; of PyTorch it knows this message only."
OUT = r".{0,200}?(?:OUT_OF_MEMORY|out of memory)"

DEVICE_SIGNS = (
    Sign(
        "no_context",
        Kind.OTHER_PROCESS,
        Sure.LIKELY,
        (
            *spellings("no_context", ("cuDevicePrimaryCtxRetain", OUT), ("cuCtxCreate", OUT), ("CUDA context", OUT)),
            *spellings(
                "no_context", ("implicit initialization on GPU:", r"(?P<gpu>\d{1,4})? failed\. Status: out of memory")
            ),
            *spellings("no_context", ("cudaSetDevice() on GPU:", r"(?P<gpu>\d{1,4})? failed\. Status: out of memory")),
            *spellings("no_context", ("cudaGetDevice() failed. Status: out of memory",)),
        ),
        (
            "GPU:{gpu} had no room even for CUDA's own context: another process holds nearly all of it.",
            "The GPU had no room even for CUDA's own context: another process holds nearly all of it.",
        ),
        ("A context takes a few hundred MiB before any tensor. A run that crashed may still hold the memory.",),
        (LOOK, NOW),
    ),
    Sign(
        "no_driver_start",
        Kind.UNKNOWN,
        Sure.LIKELY,
        spellings("no_driver_start", ("cuInit: CUDA_ERROR_OUT_OF_MEMORY",)),
        ("CUDA could not start at all (cuInit: out of memory): the machine refused it memory, or the GPU is full.",),
        ("cuInit reserves a large range of the machine's addresses: a limit on virtual memory (ulimit -v) stops it.",),
        ("Raise the limit on virtual memory (`ulimit -v unlimited`) where one is set.", LOOK),
        asks="What does `ulimit -v` say in the shell or job that starts the training?",
    ),
    Sign(
        "unified",
        Kind.UNIFIED,
        Sure.LIKELY,
        spellings(
            "unified",
            ("failed to alloc", r"(?:ate)? @size@ unified memory; result: .{0,60}?(?:OUT_OF_MEMORY|out of memory)"),
        ),
        ("{size} of unified memory were refused: probably more than GPU and machine can back together.",),
        (
            "Unified memory is on where more than the whole GPU is asked for: TF_FORCE_UNIFIED_MEMORY=1, a memory "
            "fraction above 1 (XLA_PYTHON_CLIENT_MEM_FRACTION=4.0, per_process_gpu_memory_fraction), or a "
            "memory_limit above the card's memory.",
        ),
        (
            "Ask for less: a fraction at or below 1, without TF_FORCE_UNIFIED_MEMORY.",
            "Where the oversubscription is wanted, the machine needs that much free memory (RAM) as well; Windows "
            "Subsystem for Linux does not support it.",
        ),
        recovers=True,
    ),
    Sign(
        "nccl",
        Kind.LIBRARIES,
        Sure.CERTAIN,
        (
            *spellings("nccl", ("NCCL WARN Cuda failure", r".{0,40}?out of memory")),
            *spellings("nccl", ("NCCL WARN Failed to CUDA ", r"(?:m|c|host m|host c)alloc")),
            *spellings("nccl", ("Cuda failure ", r".{0,20}?'out of memory'")),
        ),
        ("NCCL found no memory of its own on a GPU.",),
        ("NCCL takes its buffers outside of the framework's allocator, which had taken nearly all of the device.",),
        (GROWTH, LIMIT, LOOK),
        (FRACTION, LOOK),
    ),
    Sign(
        "library_refused",
        Kind.LIBRARIES,
        Sure.CERTAIN,
        (
            *spellings(
                "library_refused",
                ("CUDNN_STATUS_ALLOC_FAILED",),
                ("CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",),
                status="cuDNN: ALLOC_FAILED",
            ),
            *spellings("library_refused", ("CUBLAS_STATUS_ALLOC_FAILED",), status="cuBLAS: ALLOC_FAILED"),
            *spellings("library_refused", ("CUFFT_ALLOC_FAILED",), status="cuFFT: ALLOC_FAILED"),
            *spellings("library_refused", ("CUSOLVER_STATUS_ALLOC_FAILED",), status="cuSOLVER: ALLOC_FAILED"),
            *spellings(
                "library_refused", ("CUDNN failed to allocate the scratch space",), status="cuDNN: no scratch space"
            ),
        ),
        ("CUDA's libraries found no memory of their own on the GPU ({status}).",),
        (
            "cuDNN, cuBLAS and NCCL take memory outside of the framework's allocator, which takes nearly all "
            "of the device at once; another process may hold the rest.",
        ),
        (GROWTH, LOOK, LIMIT),
        (FRACTION, LOOK),
    ),
    Sign(
        "library_start",
        Kind.LIBRARIES,
        Sure.LIKELY,
        (
            *spellings("library_start", ("ould not create cudnn handle: ", r"(?P<status>\w{1,60}+)")),
            *spellings("library_start", ("failed to create cublas handle: ", r"(?P<status>.{1,60})")),
            *spellings("library_start", ("DNN library initialization failed",), status="cuDNN could not start"),
            *spellings("library_start", ("gpusolverDnCreate", r"\(&handle\) failed: (?P<status>[\w ]{1,60}+)")),
            *spellings(
                "library_start",
                ("cuDNN failed to initialize", "", r"This is probably because $"),
                status="cuDNN failed to initialize",
            ),
            *spellings(
                "library_start",
                ("CUBLAS_STATUS_NOT_INITIALIZED", "", r"(?:failed|rror).{0,100}$"),
                status="CUBLAS_STATUS_NOT_INITIALIZED",
            ),
        ),
        ("A CUDA library could not start on the GPU ({status}): mostly that is memory.",),
        (
            "The library takes memory outside of the framework's allocator, which by default takes nearly all of the "
            "device; or another process holds it.",
            "If the device was nearly empty, the installed library or driver does not match.",
        ),
        (GROWTH, LOOK, LIMIT),
        (FRACTION, LOOK),
        asks=ANOTHER,
    ),
    Sign(
        "gemm",
        Kind.LIBRARIES,
        Sure.POSSIBLE,
        (
            *spellings(
                "gemm",
                ("Blas GEMM launch failed",),
                ("Blas xGEMM launch failed",),
                ("Blas xGEMMBatched launch failed",),
            ),
            *spellings("gemm", ("using StreamExecutor without BLAS support",)),
        ),
        ("cuBLAS could not run a matrix product. The log does not say why; often it had found no memory to start.",),
        ("Other causes are an unfit CUDA version and a GPU that is too new for it.",),
        (GROWTH, LOOK),
        asks=ANOTHER,
    ),
    Sign(
        "no_algorithm",
        Kind.LIBRARIES,
        Sure.POSSIBLE,
        spellings("no_algorithm", ("No algorithm worked!",)),
        ("cuDNN found no way to run a convolution. The log does not say why; often it had no memory to try one.",),
        ("Other causes are an unfit cuDNN version and a layout of the data that the device does not support.",),
        (GROWTH, LOOK),
        asks=ANOTHER,
    ),
    Sign(
        "amd_full",
        Kind.UNKNOWN,
        Sure.CERTAIN,
        (
            *spellings(
                "amd_full",
                ("Memory not available to allocate buffer: ", r"@size@", r"MIOpen.{0,150}$"),
                ("hipErrorOutOfMemory",),
                ("HIP error: out of memory",),
                ("HIP_ERROR_OutOfMemory",),
            ),
        ),
        (
            "The GPU's memory ran out: the driver refused {size}.",
            "The GPU's memory ran out: the driver refused a request.",
        ),
        ("The log does not tell who held the memory: this process, or another one.",),
        ("rocm-smi --showpids shows who holds the memory; HIP_VISIBLE_DEVICES chooses another GPU.",),
        asks="Was another program using this GPU when it failed? rocm-smi, run beside the training, tells.",
        recovers=True,
    ),
    Sign(
        "apple_full",
        Kind.UNKNOWN,
        Sure.CERTAIN,
        (
            *spellings(
                "apple_full",
                ("MPS backend out of memory", r"(?: \(MPS allocated: @used@.{0,80}?max allowed: @limit@\))?"),
                ("kIOGPUCommandBufferCallbackErrorOutOfMemory",),
            ),
        ),
        (
            "The Mac's GPU ran out of memory: {used} of {limit} that it may take were in use.",
            "The Mac's GPU ran out of memory.",
        ),
        ("GPU and machine share one memory there: other programs that are open take from it, too.",),
        ("Use a smaller batch or smaller inputs.", "Close other programs; Activity Monitor shows what they hold."),
        asks="Were other programs open that hold much memory? Activity Monitor tells.",
    ),
    Sign(
        "other_pool",
        Kind.UNKNOWN,
        Sure.CERTAIN,
        (
            *spellings("other_pool", ("Out of GPU memory trying to allocate ", r"@size@")),
            *spellings("other_pool", ("Out of memory allocating ", r"@size@ \(allocated so far: @used@")),
            *spellings(
                "other_pool",
                (
                    "Out of memory error on GPU ",
                    r"(?P<gpu>\d{1,4}+)\. Cannot allocate @size@ memory on GPU.{1,60}?@used@ memory has been allocated "
                    r"and available memory is only @free@",
                ),
                ("Out of memory error on GPU ", r"(?P<gpu>\d{1,4}+)\. Cannot allocate @size@"),
            ),
        ),
        (
            "The GPU's memory ran out: {size} were asked for with {free} free; the program held {used}.",
            "The GPU's memory ran out: {size} were asked for; the program held {used}.",
            "The GPU's memory ran out: {size} were asked for.",
        ),
        ("The message is not TensorFlow's: what else was on the device, it does not tell.",),
        ("Work on less at once: a smaller batch, or pieces.", LOOK, NOW),
        asks=ANOTHER,
    ),
    Sign(
        "gpu_full",
        Kind.UNKNOWN,
        Sure.CERTAIN,
        (
            *spellings(
                "gpu_full",
                ("CUDA_ERROR_OUT_OF_MEMORY",),
                ("cudaErrorMemoryAllocation",),
                ("CUDA error: out of memory",),
                ("Cuda Driver (out of memory)",),
            ),
            *spellings("gpu_full", ("cuda runtime error (2)",), ("cupy.cuda.memory.OutOfMemoryError",)),
            *spellings("gpu_full", ("std::bad_alloc: out_of_memory: CUDA error",)),
            *spellings("gpu_full", ("torch.cuda.OutOfMemoryError",), ("torch.OutOfMemoryError",)),
            *spellings("gpu_full", ("cudaMalloc failed: out of memory",), ("cublasCreate_v2 failed: out of memory",)),
        ),
        ("The GPU's memory ran out: the driver refused a request.",),
        ("The log does not tell who held the memory: this process, or another one.",),
        (LOOK, NOW),
        asks=ANOTHER,
        recovers=True,
    ),
    Sign(
        "tpu",
        Kind.SHORTAGE,
        Sure.CERTAIN,
        spellings(
            "tpu",
            ("Attempting to reserve ", r"@size@.{0,80}?There are @free@ free"),
            ("Attempting to allocate ", r"@size@.{0,80}?There are @free@ free"),
        ),
        ("The TPU's memory ran out: {size} were asked for with {free} free.",),
        (),
        ("Use a smaller batch on each core, bfloat16, or more cores.",),
    ),
)

VAGUE_SIGNS = (
    Sign(
        "some_memory",
        Kind.UNKNOWN,
        Sure.POSSIBLE,
        (
            *spellings(
                "some_memory",
                *(
                    (
                        word,
                        "",
                        r"(?:Error|ERROR|error|Exception|FATAL|[Ff]atal|failed|exhausted|EXHAUSTED|nternal|tatus)\b.{0,110}$",
                    )
                    for word in (
                        "out of memory",
                        "ut of memory",
                        "OutOfMemory",
                        "nsufficient memory",
                        "ot enough memory",
                        "unable to allocate",
                        "nable to allocate",
                    )
                ),
            ),
            *spellings(
                "some_memory",
                ("OutOfMemoryError",),
                ("ailed to allocate memory", "", r"(?:Error|ERROR|error|xception)\b.{0,110}$"),
                ("ailed to allocate memory for requested buffer of size",),
                ("is less than desired GPU memory utilization",),
            ),
        ),
        ("An error says that memory ran out, in words that this program does not know.",),
        (),
        (),
        asks="Which program wrote this line, and was it a GPU's memory or the machine's?",
    ),
)
