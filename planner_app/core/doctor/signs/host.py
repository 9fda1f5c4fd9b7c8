"""Signs of the machine's own memory: the kernel, containers, job systems, notebooks, Python."""

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.signs.sign import Sign, spellings

PIPELINE = "Make tf.data's buffers smaller: shuffle() and prefetch() keep as many elements as they say, cache() all."
PIECES = "Load data in pieces instead of one array; use float32 or uint8 where numpy made float64."
WORKERS = "Use fewer loader workers and a shorter queue: each worker holds batches of its own."
_LESS = (PIPELINE, PIECES, WORKERS)
LOOK_AT_KERNEL = (
    "Does the kernel's log name this process? `dmesg -T | grep -i 'killed process'` (in a container "
    "`kubectl describe pod` or `docker inspect`) tells: if it does, memory ran out; if not, somebody killed it."
)
_KILLED_PROCESS = (
    r"(?:ed)? process (?P<pid>\d{1,10}+),? \((?P<process>[^)]{1,60}+)\)(?:.{0,200}?anon-rss:(?P<held>\d{1,15}+)"
    r"(?P<held_unit>kB))?"
)

_VICTIM = (
    r"(?P<pid>\d{1,10}+),? \((?P<process>[^)]{1,60}+)\),? (?=total-vm|UID)"
    r"(?:.{0,200}?anon-rss:(?P<held>\d{1,15}+)(?P<held_unit>kB))?"
)

# What a progress bar may end with: a shell's word stands right behind it.
_BAR = r"(?:\d|it/s|s/it|ETA.{0,60}|/step.{0,90}|[\]=━>.])"
# "./job.sh: line 3: 12345 " in the languages that bash speaks.
_SHELL_LINE = (
    r":? (?:Zeile|ligne|riga|linha|línea|строка|рядок|wiersz|linia|řádek|行) ?\d{1,9}(?: ?行)?[ \u00a0]?: +\d{1,10} +$"
)

HOST_SIGNS = (
    Sign(
        "container_killed",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings("container_killed", ("Memory cgroup out of memory: Kill", _KILLED_PROCESS)),
            *spellings(
                "container_killed", ("oom-kill:constraint=CONSTRAINT_MEMCG", r".{0,300}?task=(?P<process>[^,]{1,60}+)")
            ),
            *spellings("container_killed", ("killed as a result of limit of ",)),
        ),
        (
            "The container's or job's memory limit was reached, and the kernel killed {process}, which held {held}.",
            "The container's or job's memory limit was reached, and the kernel killed {process}.",
            "The container's or job's memory limit was reached, and the kernel killed a process.",
        ),
        ("That is memory of the machine, not of a GPU; the limit is the control group's, not the machine's.",),
        ("Give the container or job a higher memory limit.", *_LESS),
    ),
    Sign(
        "kernel_killed",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings("kernel_killed", ("ut of memory: Kill", _KILLED_PROCESS, r"(?<!group o)$")),
            *spellings("kernel_killed", ("Killed process ", _VICTIM, r"\W$"), ("Killed process ", _VICTIM, "^$")),
            *spellings(
                "kernel_killed", ("oom-kill:constraint=", r"(?!CONSTRAINT_MEMCG).{0,300}?task=(?P<process>[^,]{1,60}+)")
            ),
            *spellings(
                "kernel_killed",
                (" invoked oom-killer",),
                ("oom_reaper: reaped process ", r"\d{1,10}+ \((?P<process>[^)]{1,60}+)\)"),
            ),
            *spellings("kernel_killed", ("has been killed by the OOM killer",), ("Failed with result 'oom-kill'",)),
            *spellings("kernel_killed", ("due to memory pressure for ", "", r"illed .{0,90}$")),
            *spellings("kernel_killed", ("due to memory used (", "", r"illed .{0,110}$"), ("ow memory! ",)),
        ),
        (
            "The machine ran out of its own memory, and the system killed {process}, which held {held}.",
            "The machine ran out of its own memory, and the system killed {process}.",
            "The machine ran out of its own memory, and the system killed a process.",
        ),
        ("That is memory of the machine, not of a GPU.",),
        (*_LESS, "Close what else takes memory, or train on a machine with more of it."),
    ),
    Sign(
        "job_killed",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings("job_killed", ("oom-kill event",), ("oom_kill event",), ("have been OOM Killed",)),
            *spellings("job_killed", ("Exceeded job memory limit",), ("Exceeded step memory limit",)),
            *spellings("job_killed", (" exceeded memory limit (",), (" exceeded virtual memory limit (",)),
            *spellings(
                "job_killed",
                (": Out Of Memory", "", r"(?:task|srun).{0,80}$"),
                ("OUT_OF_MEMORY", r"(?! \))", r"(?:State|state|\d)\S{0,3}\s{1,20}$"),
            ),
            *spellings("job_killed", ("OUT_OF_ME+",), ("TERM_MEMLIMIT",), ("for exceeding memory limits",)),
            *spellings("job_killed", ("job killed: ", r"v?mem \d{1,20}+(?:[kmg]?b)? exceeded limit")),
            *spellings("job_killed", ("has gone over memory limit of ",), ("has gone over cgroup memory limit of ",)),
        ),
        ("The job reached the memory limit that it asked the job system for, and was killed.",),
        ("That is memory of the machine, not of a GPU.",),
        (
            "Ask the job system for more memory; of Slurm with --mem or --mem-per-cpu, where "
            "`sacct -j JOB -o MaxRSS,ReqMem,State` shows its peak.",
            *_LESS,
        ),
    ),
    Sign(
        "pod_killed",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings("pod_killed", ("OOMKilled", r"(?!['\"]?\s{0,3}[:=]\s{0,3}[\"']?(?:false|False|0))(?!\(\))")),
            *spellings(
                "pod_killed", ("OOM Killed", "", r"(?:ontainer|od) .{0,90}$"), ("The node was low on resource: memory",)
            ),
            *spellings(
                "pod_killed", ("container oom ",), ("replica is out of memory",), ("killed due to memory usage",)
            ),
            *spellings("pod_killed", ("emory limit ", r"(?:of )?\(?@size@\)? exceeded")),
            *spellings("pod_killed", (" ran out-of-memory and exited with a non-zero status",)),
        ),
        ("The container reached its memory limit (or its node ran out), and was killed.",),
        ("That is memory of the machine, not of a GPU. GPU memory that runs out raises an error instead.",),
        (
            "Raise the limit: resources.limits.memory of the pod, or `docker run --memory`.",
            *_LESS,
        ),
    ),
    Sign(
        "session_memory",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings("session_memory", ("crashed after using all available RAM",)),
            *spellings("session_memory", ("tried to allocate more memory than is available",)),
            *spellings("session_memory", ("used more memory than available",)),
            *spellings("session_memory", ("use an instance type with more memory",)),
        ),
        ("The machine behind the session ran out of its own memory, and the session was ended.",),
        ("That is memory of the machine (RAM), not of its GPU.",),
        (*_LESS, "Or choose a session with more RAM."),
    ),
    Sign(
        "worker_memory",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings("worker_memory", ("node running low on memory",), ("nodes running low on memory",)),
            *spellings(
                "worker_memory", ("System memory low at node",), ("% of the memory on node ", r".{1,200}? is used")
            ),
            *spellings(
                "worker_memory",
                (" killed due to memory pressure (OOM)", "", r"(?:^|\D)[1-9]\d{0,6} Workers \(tasks / actors\)$"),
                ("% memory budget", "", r"exceeded \d{1,3}$"),
            ),
        ),
        ("A node ran short of its own memory, and the framework that runs the workers ended one of them.",),
        ("That is memory of the machine, not of a GPU. Ray and Dask end workers before the kernel does.",),
        ("Run fewer tasks at once on a node, or give each worker more memory.", *_LESS),
    ),
    Sign(
        "object_store",
        Kind.HOST,
        Sure.CERTAIN,
        spellings("object_store", ("ObjectStoreFullError",)),
        ("Ray's object store is full: memory of the machine that its processes share.",),
        ("Objects stay in it as long as a reference to them is held.",),
        (
            "Drop references to results that are no longer needed, and pass data sets in pieces.",
            "Give it more: ray.init(object_store_memory=BYTES).",
        ),
    ),
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
                    r"@size@ for an array with shape \((?P<shape>[\d, ]{1,200}+)\) and data type (?P<dtype>\w{1,40}+)",
                ),
                ("MemoryError: Unable to allocate ", r"@size@"),
            ),
        ),
        (
            "The machine's own memory ran out: numpy asked for an array of {size} ({shape}, {dtype}).",
            "The machine's own memory ran out: numpy asked for an array of {size}.",
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
        (*_LESS, "If `ulimit -v` is set or a job system limits the process, raise that limit."),
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
    Sign(
        "killed",
        Kind.KILLED,
        Sure.LIKELY,
        (
            *spellings("killed", ("Killed", "$", r"^$"), ("Killed", r": 9$", r"^(?:.{0,80}: )?\d{0,10} ?$")),
            *spellings("killed", ("Killed", "$", rf"{_BAR}\s{{0,8}}$")),
            *spellings("killed", ("Killed", "$", r"(?:\*\*\* \[[^\]]{1,80}\]|tasks? [\d,-]{1,40}:) $")),
            *spellings(
                "killed",
                ("illed  ", "", r"(?:: line \d{1,9}: +\d{0,10} +|\[\d{1,6}\][+-]? +(?:\d{1,10} +)?|zsh: )[Kk]$"),
            ),
            *spellings("killed", ("illed", "$", r"(?:: line \d{1,9}: +\d{0,10} +|zsh: )[Kk]$")),
            *spellings("killed", ("illed", r"\s{1,60}+\S", r"line \d{1,9}: +\d{1,10} [Kk]$")),
            *spellings(
                "killed",
                *(
                    (word, after, before)
                    for after, before in (("$", rf"(?:^|{_BAR}\s{{0,8}})$"), (r"(?:$|\s{1,60}+\S)", _SHELL_LINE))
                    for word in (
                        "已杀死",
                        "已终止",
                        "Getötet",
                        "Tué",
                        "Processus arrêté",
                        "Terminado (killed)",
                        "強制終了",
                        "죽었음",
                        "Убито",
                        "Вбито",
                        "Ucciso",
                        "Morto",
                        "Unicestwiony",
                        "Zabit",
                    )
                ),
            ),
            *spellings(
                "killed",
                ("SIGKILL: 9",),
                ("terminated by signal SIGKILL",),
                ("terminated by SIGKILL",),
                ("status=9/KILL",),
                ("via signal [SIGKILL]",),
                ("(SIGKILL)", "", r"(?:ignal 9|by signal 9|xit.{0,60}|ode.{0,40}) ?$"),
            ),
            *spellings(
                "killed",
                ("signal 9", r"\b", r"(?:interrupted by|killed by|terminated by|with|on|Received) ?(?:the )?$"),
            ),
            *spellings("killed", ("killed by signal: Killed",), ("signal: killed",)),
            *spellings("killed", ("SIGKILL(-9)",)),
        ),
        ("The process was killed from outside (SIGKILL): it had no chance to write why.",),
        (
            "A training that dies like that mostly met the machine's memory limit, or its container's or job's; GPU "
            "memory that runs out raises an error instead.",
        ),
        (*_LESS, "Give the machine, the container or the job more memory."),
        asks=LOOK_AT_KERNEL,
    ),
    Sign(
        "exit_code",
        Kind.KILLED,
        Sure.LIKELY,
        (
            *spellings(
                "exit_code",
                *(
                    (words, r"(?: is)?[\s\"':=(]{0,6}+(?P<code>137|247|-9)(?!\d|\.\d)")
                    for words in (
                        *(
                            "xit code",
                            "xit status",
                            "xitcode",
                            "xit_code",
                            "xitCode",
                            "xit Code",
                            "xited (",
                            "eturn code",
                        ),
                        *("xited with code", "xited with status", "tatus code", "xited with exit code"),
                        *("xit_status", "non-zero status of"),
                    )
                ),
                (" Error 137", "", r"\*\*\* .{0,100}$"),
            ),
        ),
        ("A process ended with the exit code of SIGKILL: it was killed from outside and had no chance to write why.",),
        (
            "137 is 128 + 9, the number of SIGKILL; 247 and -9 are the same. In containers that is mostly the memory "
            "limit, but whoever stops a container late uses SIGKILL, too.",
        ),
        (*_LESS, "Give the machine, the container or the job more memory."),
        asks=LOOK_AT_KERNEL,
    ),
    Sign(
        "kernel_restarted",
        Kind.KILLED,
        Sure.POSSIBLE,
        (
            *spellings(
                "kernel_restarted",
                ("KernelRestarter: restarting kernel",),
                (" appears to have died", "", r"ernel.{0,90}$"),
            ),
            *spellings("kernel_restarted", (" restarted", "", r"kernel [0-9a-f-]{36}$"), ("Kernel Restarting",)),
            *spellings("kernel_restarted", ("ernel crashed while executing code",), ("Your session crashed",)),
            *spellings("kernel_restarted", ("he kernel died. Error",)),
            *spellings("kernel_restarted", ("Kernel died",), ("kernel died unexpectedly",), ("DeadKernelError",)),
        ),
        ("The notebook's kernel died and was started again; nothing in the log says why.",),
        ("The usual cause is the machine's memory (RAM), which all notebooks of a session share.",),
        (*_LESS, "Restart the kernel between trainings: a cell that is run twice may keep both data sets."),
        asks="Was the session's RAM gauge full when it restarted? If so, memory ran out; if not, look for a crash.",
    ),
    Sign(
        "worker_lost",
        Kind.KILLED,
        Sure.POSSIBLE,
        (
            *spellings("worker_lost", ("process pool was terminated abruptly",), ("BrokenProcessPool",)),
            *spellings("worker_lost", ("The worker died unexpectedly while executing",), ("KilledWorker: ",)),
            *spellings("worker_lost", ("its worker process has died",), ("actor died unexpectedly before",)),
            *spellings("worker_lost", ("worker died or was killed while executing a task",)),
            *spellings(
                "worker_lost",
                ("TerminatedWorkerError",),
                ("exited unexpectedly", "", r"(?:DataLoader worker|memory thread).{0,90}$"),
            ),
        ),
        ("A worker process ended abruptly while it had work to do; the log does not say why.",),
        ("Mostly the kernel kills the largest process when memory runs out; a crash in native code looks the same.",),
        (WORKERS, PIECES),
        asks=LOOK_AT_KERNEL,
    ),
)
