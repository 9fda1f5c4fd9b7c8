"""What lines of a log can say: every kind of line that is recognised, in the spellings of TensorFlow 1.15 to 2.22.

A rule has a mark, plain bytes that the line must hold (most lines of most logs hold none and cost nothing), and a
pattern that the cleaned line must match. Prefixes (time, level, file) changed with every release: they are not read.
"""

import re
from dataclasses import dataclass

from planner_app.core.doctor.lines import Gates
from planner_app.units import MOST_BYTES

# HumanReadableNumBytes; "10.76G" was StreamExecutor's spelling until 2.16.
_SIZE = r"(?P<{0}>\d+(?:\.\d+)?) ?(?P<{0}_unit>[KMGTPE]?i?B(?![a-z])|[KMGTPE](?![a-zA-Z])|bytes)?"
_FACTORS: dict[str, int] = {"": 1, "B": 1, **{unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}}


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    mark: bytes
    pattern: re.Pattern[str]


def bytes_of(found: re.Match[str], name: str) -> int | None:
    """A size in a match, in whatever unit it was written; None if it is not there."""
    written: dict[str, str | None] = found.groupdict()
    number = written.get(name)
    if number is None:
        return None
    unit = (written.get(f"{name}_unit") or "").replace("bytes", "")
    return round(min(float(number), MOST_BYTES) * _FACTORS[unit[:1]])


def _rule(name: str, mark: str, pattern: str, flags: int = 0) -> Rule:
    sizes = {size: _SIZE.format(size) for size in re.findall(r"@(\w+)@", pattern)}
    for size, written in sizes.items():
        pattern = pattern.replace(f"@{size}@", written)
    return Rule(name, mark.encode(), re.compile(pattern, flags))


_DEVICE = r"(?P<device>/(?:job|device):\S*?(?:GPU|gpu|CPU|cpu):\d+)"

RULES = (
    # How far the run had come: first, since an error may stand on the line of a progress bar.
    _rule("epoch", "Epoch ", r"^\W*Epoch (?P<number>\d+)/(?P<of>\d+)"),
    _rule("step", "ETA", r"(?:^|\s|>)(?P<done>\d+)/(?P<of>\d+|Unknown) *\["),
    _rule("step", "/step", r"(?:^|\s|>)(?P<done>\d+)/(?P<of>\d+|Unknown) *[\[━-]"),
    _rule("step", "%|", r"(?P<done>\d+)/(?P<of>\d+) \[[\d:]+<"),
    _rule("step", "step = ", r"loss = \S+, step = (?P<done>\d+)(?P<of>)"),
    _rule("samples", "Train on ", r"Train on (?P<count>\d+) samples"),
    # The allocator, and its dump.
    _rule(
        "ran_out",
        "ut of memory trying to allocate",
        r"(?:Allocator \((?P<allocator>[^)\s]+)\) r|R)an out of memory trying to allocate @size@"
        r"(?: \(rounded to (?P<rounded>\d+)\))?(?: from the (?:lower|upper) end)?(?:.*?requested by op (?P<op>\S+))?",
    ),
    _rule("dump", "BFCAllocator dump", r"BFCAllocator dump for (?P<allocator>\S+)"),
    _rule("same_size", "Chunks of size", r"(?P<count>\d+) Chunks of size (?P<size>\d+) totalling"),
    _rule("in_use_sum", "Sum Total of in-use chunks", r"Sum Total of in-use chunks: @size@"),
    _rule(
        "pool",
        "memory_limit_:",
        r"(?:Total (?:bytes|size) in pool|total_region_allocated_bytes_): @pool@ memory_limit_: @limit@ "
        r"available (?:bytes|size): @available@",
    ),
    *(
        _rule("stat", f"{key}:  ", rf"(?:^|[\s>])(?P<key>{key}): +@value@$")
        for key in ("Limit", "InUse", "MaxInUse", "NumAllocs", "MaxAllocSize")
    ),
    _rule("occupancy", "*****", r"(?:^|[\s\]])(?P<map>[*x_]{100})$"),
    _rule("collected", "Garbage collection: deallocate", r"Garbage collection: deallocate free memory regions"),
    # cuda_malloc_async.
    _rule(
        "async_failed",
        "cuMemAllocAsync failed",
        r"(?P<allocator>\S+) cuMemAllocAsync failed to allocate (?P<size>\d+)",
    ),
    _rule("cuda_free", "Free memory/Total memory", r"Free memory/Total memory: (?P<free>\d+)/(?P<total>\d+)"),
    # What an operation says.
    _rule(
        "oom",
        "OOM when allocating",
        r"OOM when allocating (?P<temporary>temporary )?tensor (?:with|of) ?shape ?\[(?P<shape>[\d,]*)\]"
        rf"(?: and type (?P<dtype>\w+))?(?: on {_DEVICE})?(?: by allocator (?P<allocator>\w+))?",
    ),
    _rule("kernel", "OP_REQUIRES failed at", r"OP_REQUIRES failed at (?P<file>[\w./]+:\d+)"),
    _rule("unshaped", "failed to allocate memory", r"\bfailed to allocate memory\b"),
    _rule(
        "unshaped",
        "nable to allocate",
        r"(?:SameWorkerRecvDone unable to allocate output tensor|unable to allocate function argument)",
    ),
    _rule("node", "{{node ", r"\{\{node (?P<op>[^}\s]+)\}\}"),
    _rule("node", "[[node ", r"\[\[node (?P<op>[^\s(\]]+)"),
    _rule("node", "[[Node: ", r"\[\[Node: (?P<op>\S+) = (?P<type>\w+)\["),
    _rule("node", "Detected at node", r"Detected at node '?(?P<op>[^'\s]+)'? defined at"),
    _rule("node", "Node: '", r"^\W*Node: '(?P<op>[^'\s]+)'"),
    _rule("eager", "[Op:", r"\[Op:(?P<op>\w+)\]"),
    _rule("wrapped", "__wrapped__", r"\{\{function_node __wrapped__(?P<op>\w+?)_device_"),
    _rule("made", "keras/", r"keras/(?:src/)?(?:(?P<optimizers>optimizers)/|.*(?:initializers|tensorflow/random\.py))"),
    _rule("made", "keras\\", r"keras\\(?:src\\)?(?:(?P<optimizers>optimizers)\\|.*(?:initializers|random\.py))"),
    _rule(
        "during", ", in ", r", in (?P<what>evaluate|test_step|test_function|predict|predict_step|predict_function)\b"
    ),
    _rule(
        "usage", "Current usage from device", rf"Current usage from device: {_DEVICE}, allocator: (?P<allocator>\w+)"
    ),
    _rule("holder", "B from ", r"^\W*@size@ from (?P<op>[\w./\-:]+)$"),
    # Copies to the device.
    _rule("copy", "Dst tensor is not initialized", r"Dst tensor is not initialized"),
    _rule(
        "copy_of",
        "Failed copying input tensor",
        r"Failed copying input tensor from \S+ to (?P<device>\S+?:\d+) in order to run (?P<op>\w+)",
    ),
    # XLA.
    _rule("xla", "ut of memory while trying to allocate", r"Out of memory while trying to allocate @size@"),
    _rule(
        "xla_part",
        " allocation:",
        r"(?P<part>parameter|constant|maybe_live_out|preallocated temp|total) allocation: +@size@",
    ),
    _rule("xla_buffer", "Size: ", r"^\W*Size: @size@$"),
    _rule("xla_operator", "op_name=", r'Operator: .*?\bop_name="(?P<op>[^"]+)"'),
    _rule("xla_shape", "Shape: ", r"^\W*Shape: (?P<dtype>\w+)\[(?P<shape>[\d,]*)\]"),
    _rule("xla_on", "using XLA!", r"Compiled cluster using XLA!"),
    # The driver, the libraries, other processes.
    _rule(
        "driver_refused",
        "failed to alloc",
        r"failed to alloc(?:ate)? @size@ ?\((?P<exact>\d+) bytes\) from device: "
        r".*(?:OUT_OF_MEMORY|out of memory|OutOfMemory)",
    ),
    _rule(
        "no_context",
        "CUDA_ERROR_OUT_OF_MEMORY",
        r"(?:cuDevicePrimaryCtxRetain|cuCtxCreate|CUDA context|in-memory CUBIN).*CUDA_ERROR_OUT_OF_MEMORY",
    ),
    _rule(
        "no_context",
        "out of memory",
        r"(?:cudaSetDevice\(\) on|implicit initialization on) GPU:?(?P<gpu>\d+)? failed\. Status: out of memory",
    ),
    _rule("nccl", "NCCL WARN", r"NCCL WARN (?:Cuda failure|Failed to CUDA (?:m|c)alloc).*out of memory"),
    _rule("handle", "create cudnn handle", r"ould not create cudnn handle: (?P<status>\w+)"),
    _rule("handle", "create cublas handle", r"failed to create cublas handle: (?P<status>.{1,60})"),
    _rule("handle", "CUDNN_STATUS_ALLOC_FAILED", r"(?P<status>CUDNN_STATUS_ALLOC_FAILED)"),
    _rule("handle", "CUBLAS_STATUS_ALLOC_FAILED", r"(?P<status>CUBLAS_STATUS_ALLOC_FAILED)"),
    _rule("handle", "cuDNN failed to initialize", r"This is probably because (?P<status>cuDNN failed to initialize)"),
    _rule("handle", "failed to allocate the scratch", r"CUDNN (?P<status>failed to allocate the scratch space)"),
    _rule(
        "versions",
        "but source was compiled with",
        r"Loaded runtime CuDNN library: (?P<loaded>\S+) but source was compiled with: (?P<built>[\d.]+)",
    ),
    _rule(
        "created",
        "memory",
        rf"Created (?:TensorFlow )?device \(?{_DEVICE} with (?P<limit>\d+) MB memory\)?:? +-> (?:physical GPU \()?"
        r"device: \d+, name: (?P<name>[^,]+), pci bus id: [^,]+, compute capability: (?P<capability>[\d.]+)",
    ),
    _rule("free_at_start", "freeMemory:", r"totalMemory: @total@ freeMemory: @free@"),
    _rule("smi_process", "MiB |", r"^\W*\| +(?P<gpu>\d+) .* (?P<pid>\d+) +[CG+]+ +(?P<name>\S.*?) +(?P<mib>\d+)MiB \|"),
    # The host.
    _rule(
        "killed",
        "ut of memory: Kill",
        r"(?P<group>Memory cgroup out of memory|Out of memory): Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]+)\)"
        r"(?:.*?anon-rss:(?P<rss>\d+)kB)?",
    ),
    _rule("killed_by", "invoked oom-killer", r"(?P<name>\S+) invoked oom-killer"),
    _rule("killed_by", "oom-kill", r"\boom-kill (?:event|:constraint)|oom-kill:constraint"),
    _rule("killed_by", "oom_kill", r"\boom_kill event"),
    _rule("killed_by", "OOMKilled", r"\bOOMKilled\b"),
    _rule("killed_by", "xceeded", r"Exceeded (?:job|step) memory limit"),
    _rule("killed_word", "illed", r"^(?:(?:.*: line \d+: +|\[\d+\] +)\d* *[Kk]illed\b.*|Killed)$"),
    _rule("killed_word", "已", r"^已(?:杀死|终止)$"),
    _rule("memory_error", "MemoryError", r"(?:^|[\s.(])_?(?:Array)?MemoryError(?:: *(?:Unable to allocate @size@)?|$)"),
    _rule("memory_error", "std::bad_alloc", r"terminate called.*std::bad_alloc|what\(\): +std::bad_alloc"),
    _rule("memory_error", "Cannot allocate memory", r"(?:OSError|\[Errno 12\]|fork|mmap).*Cannot allocate memory"),
    _rule("memory_error", "pinned host memory", r"could not allocate pinned host memory of size: @size@"),
    _rule("host_warning", "% of ", r"Allocation of (?P<size>\d+) exceeds \d+% of (?:free )?system memory"),
    _rule("keras3", "step_on_", r"(?:one_step_on|multi_step_on|step_on_(?:data|iterator))"),
    _rule(
        "retraced",
        "triggered tf.function retracing",
        r"(?P<times>\d+) out of the last (?P<calls>\d+) calls to .*triggered tf.function retracing",
    ),
    _rule("exhausted", "xhausted", r"ResourceExhaustedError|Resource exhausted:"),
    _rule("exhausted", "RESOURCE_EXHAUSTED", r"(?<!device: )RESOURCE_EXHAUSTED:"),
    _rule("pytorch", "CUDA out of memory", r"CUDA out of memory\. Tried to allocate"),
)

# What a line must hold to be looked at: parts of the marks above, few and long, since each is looked for in every byte.
_FAILURES = "emory OF_MEMORY lloc OOM oom handle cuDNN NCCL ALLOC_FAILED initialized illed xceeded 已".split()
_ANYWHERE = ("Epoch ", "ETA", "/step", "%|", "step = ", "Train on ", "retracing", "xhausted", "EXHAUSTED", "step_on_")
_ALWAYS = tuple(gate.encode() for gate in (*_FAILURES, *_ANYWHERE, "compiled with", "at node", "MiB |", "% of "))
GATES = Gates(
    always=_ALWAYS,
    failures=frozenset(gate.encode() for gate in _FAILURES),
    later=tuple(dict.fromkeys(rule.mark for rule in RULES if not any(gate in rule.mark for gate in _ALWAYS))),
)
