"""Signs of programs that XLA compiled, outside of the allocator: loading them, recording them, trying kernels."""

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.signs.device import FRACTION, GROWTH, NO_TRIALS, NO_XLA, OUT
from planner_app.core.doctor.signs.sign import Sign, spellings

COMPILED_SIGNS = (
    Sign(
        "cubin",
        Kind.XLA,
        Sure.LIKELY,
        spellings("cubin", ("ailed to load in-memory CUBIN", OUT), ("cuModuleLoadData", OUT)),
        ("The GPU had no room left to load a program that XLA had compiled.",),
        (
            "A compiled program is loaded into memory outside of the allocator, which had taken nearly all of the GPU. "
            "Each new shape is compiled again and adds a program.",
        ),
        (NO_XLA, GROWTH, "Keep shapes the same from step to step: drop the last, smaller batch."),
        (FRACTION, "Keep shapes the same from step to step: each new one is compiled and loaded again."),
    ),
    Sign(
        "graphs",
        Kind.XLA,
        Sure.CERTAIN,
        spellings(
            "graphs",
            ("ut of memory trying to instantiate ", r".{0,20}?graph"),
            ("cuGraphInstantiate", OUT),
            ("CUDA graph", OUT),
        ),
        ("The GPU had no room left for a CUDA graph of a program that XLA had compiled.",),
        ("XLA records programs as CUDA graphs, which take memory outside of the allocator.",),
        ("XLA_FLAGS=--xla_gpu_enable_command_buffer= (nothing behind it) turns them off.", NO_XLA, GROWTH),
        ("XLA_FLAGS=--xla_gpu_enable_command_buffer= (nothing behind it) turns them off.", FRACTION),
    ),
    Sign(
        "autotuner",
        Kind.AUTOTUNER,
        Sure.LIKELY,
        (
            *spellings("autotuner", ("No reference output found",)),
            *spellings(
                "autotuner", ("Autotuning failed for HLO", r".{0,3900}?ut of memory while trying to allocate @size@")
            ),
            *spellings("autotuner", ("Autotuning failed for HLO", r"(?!.{0,3900}?(?:No valid config|WRONG RESULTS))")),
            *spellings("autotuner", ("All algorithms tried for ", r".{0,4000}? failed\.(?! Falling)")),
            *spellings("autotuner", ("All algorithms tried for ", "", r"Error: .{0,100}$")),
            *spellings("autotuner", ("ailed to determine best cudnn convolution algorithm", r"(?: for|: )")),
            *spellings("autotuner", ("Couldn't get temp CUBIN file name",)),
        ),
        (
            "XLA's autotuner found no memory to try kernels in: {size} were asked for.",
            "XLA's autotuner failed while it tried kernels for a step: mostly it found no memory to try them in.",
        ),
        (
            "To choose a kernel, XLA runs candidates with inputs, outputs and scratch of their own, on top of what the "
            "training holds: what has no room fails, until none is left.",
        ),
        (
            NO_XLA,
            NO_TRIALS,
            GROWTH,
            "A smaller batch makes the candidates' buffers smaller, too.",
        ),
        (
            NO_TRIALS,
            FRACTION,
            "A smaller batch makes the candidates' buffers smaller, too.",
        ),
    ),
    Sign(
        "no_kernel",
        Kind.AUTOTUNER,
        Sure.POSSIBLE,
        spellings("no_kernel", ("Autotuning failed for HLO", r".{0,3900}?No valid config")),
        ("XLA's autotuner found no kernel that runs for a step. The log does not say why: often it had no memory.",),
        ("Other causes are a driver or a release of XLA that does not fit the GPU.",),
        (NO_TRIALS, NO_XLA, GROWTH),
        (NO_TRIALS, FRACTION),
        asks="Does the log say RESOURCE_EXHAUSTED further up? If it does, it was memory.",
    ),
)
