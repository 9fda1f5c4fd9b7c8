"""Lines that tell something about a failure or about the run: the allocators' dumps, operations, XLA, progress.

In the spellings of TensorFlow 1.0 to 2.22, JAX and PyTorch. Lines that are a failure by themselves are in `signs`.
"""

from planner_app.core.doctor.log.matching import Rule, rule

_DEVICE = r"(?P<device>/(?:job|device|replica|task|gpu|cpu)[^\s,\"]{0,120}?(?:GPU|gpu|CPU|cpu|TPU|DML|dml):\d{1,4})"
_OP = r"(?P<op>[^\s}\]('\",&]{1,300}+)"
# "step 120/400: ", "Iter: 7, ".
_COUNTED = r"(?:ation)?[ :#=]{1,3}(?P<done>\d{1,12}+)(?:/(?P<of>\d{1,12}+))?[\W_]"

RULES: tuple[Rule, ...] = (
    # How far the run had come: first, since an error may stand on the line of a progress bar.
    rule("epoch", "Epoch ", r"(?P<number>\d{1,9})/(?P<of>\d{1,9})", before=r"^\W*$"),
    rule("step", "step = ", r"(?P<done>\d{1,12}+)", before=r"loss = \S{1,30}, $"),
    rule("step", "global step ", r"(?P<done>\d{1,12}+): loss"),
    # Loops of the user's own.
    *(
        rule("step", word, rf"{_COUNTED}.{{0,60}}?[lL]oss", before=r"(?:^|[\s\[(|,])$")
        for word in ("step", "Step", "iter", "Iter", "batch", "Batch")
    ),
    rule("own_epoch", "Epoch", r"[ :#=\[]{1,3}(?P<done>\d{1,9}+)(?![/\d]).{0,60}?[lL]oss", before=r"^\W*$"),
    rule("step", "Epoch", r":? ?\[\d{1,9}\]\[ ?(?P<done>\d{1,9})/(?P<of>\d{1,9})\]"),
    rule("samples", "Train on ", r"(?P<count>\d{1,12}+) samples"),
    rule("buffer_filled", "illing up shuffle buffer", r"[^:]{0,60}: (?P<done>\d{1,12}+) of (?P<of>\d{1,12}+)"),
    # The allocator, and its dump.
    rule(
        "ran_out",
        "Allocator (",
        r"(?P<allocator>[^)\s]{1,80}+)\) ran out of memory trying to allocate @size@"
        r"(?: \(rounded to (?P<rounded>\d{1,20}+)\))?+(?: from the (?:lower|upper) end)?+"
        r"(?:.{0,120}?requested by op (?P<op>[^\s\"<]{1,300}+))?",
    ),
    rule(
        "ran_out",
        "Ran out of memory trying to allocate ",
        r"@size@(?: \(rounded to (?P<rounded>\d{1,20}+)\))?+",
    ),
    rule("dump", "BFCAllocator dump for ", r"(?P<allocator>\S{1,80}+)"),
    rule("bin", "Bin (", r"(?P<size>\d{1,20}+)\):\s{1,4}Total Chunks: (?P<count>\d{1,12}+), Chunks in use: "),
    rule("same_size", " Chunks of size ", r"(?P<size>\d{1,20}+) totalling", before=r"(?P<count>\d{1,12})$"),
    rule("in_use_sum", "Sum Total of in-use chunks: ", r"@size@"),
    rule(
        "pool",
        "memory_limit_: ",
        r"@limit@ available (?:bytes|size): @available@",
        before=r"(?:Total (?:bytes|size) in pool|total_region_allocated_bytes_): @pool@ $",
    ),
    *(
        rule("stat", f"{key}:  ", r" {0,40}+@value@$", before=r"(?:^|[\s>])$", key=key)
        for key in ("Limit", "InUse", "MaxInUse", "NumAllocs", "MaxAllocSize")
    ),
    rule("occupancy", "*****"),
    rule("occupancy", "_____"),
    rule("nothing_taken", "<allocator contains no memory>"),
    rule("not_oom_killed", "OOMKilled", r"['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?:false|False)"),
    rule("collected", "Garbage collection: deallocate free memory regions"),
    rule(
        "async_failed",
        "cuMemAllocAsync failed to allocate ",
        r"(?P<size>\d{1,20}+)",
        before=r"(?P<allocator>[^\s]{1,80}) $",
    ),
    rule("cuda_free", "Free memory/Total memory: ", r"(?P<free>\d{1,20}+)/(?P<total>\d{1,20}+)"),
    rule("cuda_free", "Memory usage: ", r"(?P<free>\d{1,20}+) bytes free, (?P<total>\d{1,20}+) bytes total"),
    rule("profiling", "Profiling failure on ", r".{1,80}?: (?:.{0,60}?trying to allocate @size@)?"),
    rule("suboptimal", "onvolution performance may be suboptimal"),
    rule("suboptimal", "Falling back to default algorithm"),
    # What an operation says.
    rule(
        "oom",
        "OOM when allocating ",
        r"(?P<temporary>temporary )?tensor (?:with|of) ?shape ?\[(?P<shape>[\d,]{0,200}+)\]"
        rf"(?: and type (?P<dtype>\w{{1,40}}+))?+(?: on {_DEVICE})?(?: by allocator (?P<allocator>\w{{1,80}}+))?+",
    ),
    rule("kernel", "OP_REQUIRES failed at ", r"(?P<file>[\w./]{1,120}+:\d{1,9}+)"),
    rule("unshaped", "failed to allocate memory", before=r"(?:^|\W)$", quotable=True),
    rule(
        "unshaped", "OOM when allocating tensor with shape", quotable=True
    ),  # 0.x wrote the sizes on lines of their own
    rule("unshaped", "SameWorkerRecvDone unable to allocate output tensor"),
    rule("unshaped", "unable to allocate function argument"),
    rule("unshaped", "Ran out of GPU memory", quotable=True),
    rule("node", "{{node ", r"(?P<op>[^}\s]{1,300}+)\}\}"),
    rule("node", "[[node ", _OP),
    rule("node", "[[Node: ", rf"{_OP} = (?P<type>\w{{1,60}}+)\["),
    rule("device_of_node", '_device="', rf'{_DEVICE}"'),
    rule("announced", "Detected at node ", rf"'?{_OP}'? defined at"),
    rule("announced", "Node: '", r"(?P<op>[^'\s]{1,300}+)'", before=r"^\W*$"),
    rule("eager", "[Op:", r"(?P<op>\w{1,120}+)\]"),
    rule("wrapped", "{{function_node __wrapped__", r"(?P<op>\w{1,120}?)_(?:device|dtypes|N)_"),
    rule("made", "keras", r"[/\\](?:src[/\\])?(?P<optimizers>optimizers)[/\\]"),
    rule("made", "keras", r"[/\\].{0,80}?(?:initializers|tensorflow[/\\]random\.py)"),
    rule(
        "during", ", in ", r"(?P<what>evaluate|test_step|test_function|predict|predict_step|predict_function)(?![\w.])"
    ),
    rule("usage", "Current usage from device: ", rf"{_DEVICE}, allocator: (?P<allocator>\w{{1,80}}+)"),
    rule("holder", " from ", r"(?P<op>[\w./\-:]{1,200}+)$", before=r"^\W{0,12}@size@$"),
    # Copies to the device.
    rule("copy", "Dst tensor is not initialized", quotable=True),
    rule(
        "copy_of",
        "Failed copying input tensor from ",
        r"\S{1,120}+ to (?P<device>\S{1,120}?:\d{1,4}) in order to run (?P<op>\w{1,120}+)",
    ),
    # XLA.
    rule("xla", "memory while trying to allocate ", r"@size@"),
    rule("xla", "ut of memory allocating ", r"(?!\d{1,3},)@size@"),
    rule("xla", "ailed to allocate request for ", r"@size@(?: \((?P<exact>\d{1,20}+)B\))?+"),
    rule("xla", "ailed to allocate ", r"(?P<size>\d{1,20}+) bytes for new constant"),
    *(
        rule("xla_part", f"{part} allocation: ", r" {0,40}+@size@", part=part)
        for part in ("parameter", "constant", "maybe_live_out", "preallocated temp", "total")
    ),
    rule("xla_buffer", "Size: ", r"@size@$", before=r"^\W*(?:\d{1,3}\. )?$"),
    rule("xla_operator", 'op_name="', r'(?P<op>[^"]{1,300}+)', before=r"Operator: .{0,80}$"),
    rule("xla_shape", "Shape: ", r"(?P<dtype>\w{1,20}+)\[(?P<shape>[\d,]{0,200}+)\]", before=r"^\W*$"),
    rule("xla_on", "Compiled cluster using XLA!"),
    rule(
        "arguments",
        "input/output arguments (",
        r"(?P<size>\d{1,20}+)\) exceeds the base limit \((?P<limit>\d{1,20}+)\)",
    ),
    rule("hbm", "Used ", r"@size@ of @limit@ (?P<space>hbm|vmem|smem|sflag)\b", before=r"in memory space \w{1,20}\. $"),
    # PyTorch.
    rule("torch", " out of memory. Tried to allocate ", r"@size@", before=r"(?P<platform>CUDA|HIP|XPU)$"),
    rule("torch_older", "(GPU ", r"(?P<gpu>\d{1,4}); @total@ total capacity; @used@ already allocated; @free@ free"),
    rule("torch_newer", "GPU ", r"(?P<gpu>\d{1,4}) has a total capaci?ty of @total@ of which @free@ is free"),
    rule("torch_process", "this process has ", r"@used@ memory in use"),
    rule("torch_other", "Process ", r"(?P<pid>\d{1,10}+) has @used@ memory in use"),
    rule("torch_allocated", "Of the allocated memory ", r"@used@ is allocated by PyTorch(?:, and @idle@ is reserved)?"),
    rule("torch_reserved", " reserved in total by PyTorch", before=r"@reserved@$"),
    # The driver, the machine's GPUs, other processes.
    rule(
        "refused",
        "failed to alloc",
        r"(?:ate)? @size@ ?\((?P<exact>\d{1,20}+) bytes\) from device: .{0,60}?"
        r"(?:OUT_OF_MEMORY|out of memory|OutOfMemory|hipError_t\(1002\))",  # how ROCm 1 and 2 say it
    ),
    rule(
        "created",
        "Created ",
        rf"(?:TensorFlow )?device \(?{_DEVICE} with (?P<limit>\d{{1,12}}+) MB memory\)?:? {{1,4}}-> "
        r"(?:physical GPU \()?"
        r"device: \d{1,4}, name: (?P<name>[^,]{1,80}+), pci bus id: [^,]{1,60}+"
        r"(?:, compute capability: (?P<capability>[\d.]{1,8}+))?+",  # ROCm tells none
    ),
    rule("gpu_name", " memoryClockRate", before=r"name: (?P<name>[^:,]{3,60}) major: \d{1,2} minor: \d{1,2}$"),
    rule("gpu_name", " computeCapability: ", before=r"name: (?P<name>[^:,]{3,60})$"),
    rule("free_at_start", "totalMemory: ", r"@total@ freeMemory: @free@"),
    rule("total_at_start", "Total memory: ", r"@total@$", before=r"^\W*$"),
    rule("left_at_start", "Free memory: ", r"@free@$", before=r"^\W*$"),
    rule("device_size", "deviceMemorySize: ", r"@total@"),
    rule(
        "smi_process",
        "MiB |",
        before=r"\| +(?P<gpu>\d{1,4}) .*\s(?P<pid>\d{1,10}) +[CG+]{1,3} +(?P<name>\S.{0,60}?) +(?P<mib>\d{1,9})$",
    ),
    rule(
        "versions",
        "Loaded runtime CuDNN library: ",
        r"(?P<loaded>[\d.]{3,40}+) but source was compiled with: (?!(?P=loaded)\.?(?:\s|$))",
    ),
    # What the run was made of.
    *(
        rule("version", words, r"[:\s=]{0,4}+v?(?P<number>[12]\.\d{1,2}\.\d{1,2})")
        for words in ("ensorFlow version", "ensorflow version", "TF version", "ensorflow==", "ensorflow-gpu==")
    ),
    rule("policy", "mixed_", r"(?P<what>bfloat16|float16)\b"),
    rule("batch", "batch_size", r"['\"]?\s?[=:]\s?(?P<size>\d{1,7}+)\b(?!\.)"),
    rule("program", "cpu_feature_guard"),
    rule("program", "absl::InitializeLog()"),
    rule("keras3", "one_step_on"),
    rule("keras3", "multi_step_on"),
    rule("keras3", "step_on_", r"(?:data|iterator)"),
    rule("jax", "jax", r"(?:lib[./]|[/\\]_src|\.errors|[/\\]interpreters)"),
    rule("jax", "XLA_PYTHON_CLIENT_"),
    rule("keras_on_jax", "jax", r"[/\\]trainer\.py", before=r"keras[/\\]src[/\\]backend[/\\]$"),
    rule("jax", "/jit(main)/"),
    rule("jax", "JaxRuntimeError"),
    rule("jax", "XlaRuntimeError"),
    rule("jax", "external/", r"(?:org_tensorflow|xla/xla)/"),  # where jaxlib builds XLA; TensorFlow's paths are others
    rule("torch_seen", "torch.", r"(?:cuda|nn|distributed|OutOfMemoryError|utils)"),
    rule("torch_seen", "RuntimeError: CUDA error: "),
    rule("torch_seen", "MPS backend out of memory"),
    rule("torch_seen", "DataLoader worker (pid"),
    rule(
        "retraced",
        " out of the last ",
        r"(?P<calls>\d{1,9}+) calls to .{0,300}?triggered tf.function retracing",
        before=r"(?P<times>\d{1,9})$",
    ),
    rule("host_warning", "Allocation of ", r"(?P<size>\d{1,20}+) exceeds \d{1,3}% of (?:free )?system memory"),
    rule("host_warning", "tcmalloc: large alloc ", r"(?P<size>\d{1,20}+) bytes"),
    rule("remat_short", "Can't reduce memory use below ", r"@target@.{0,80}?only reduced to @reached@"),
    rule("exhausted", "ResourceExhaustedError"),
    rule("exhausted", "Resource exhausted:"),
    rule("exhausted", "RESOURCE_EXHAUSTED:", before=r"(?<!device: )$"),
    rule("ended_badly", "Traceback (most recent call last)"),
    rule("ended_badly", "(core dumped)"),
    rule("ended_badly", "Fatal Python error"),
    rule("ended_badly", "Error", r"(?::|\s{4,60}+Traceback)"),
    rule("ended_badly", " Check failed: "),
)
