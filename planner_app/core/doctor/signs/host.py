"""Signs of the machine's own memory: the kernel, containers, job systems, notebooks, Python."""

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.signs.sign import Sign, spellings

PIPELINE = "Make tf.data's buffers smaller: shuffle() and prefetch() keep as many elements as they say, cache() all."
PIECES = "Load data in pieces instead of one array; use float32 or uint8 where numpy made float64."
WORKERS = "Use fewer loader workers and a shorter queue: each worker holds batches of its own."
LESS = (PIPELINE, PIECES, WORKERS)
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
# earlyoom: 'sending SIGTERM to process 2001 uid 1000 "python": badness 1000, VmRSS 28100 MiB'.
_CHOSEN = (
    r"(?:.{0,40}?VmRSS (?P<held>\d{1,12}+) ?(?P<held_unit>MiB))?",
    r"sending SIG(?:TERM|KILL) to process (?P<pid>\d{1,10}).{0,40}?\"(?P<process>[^\"]{1,60})\"$",
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
            *spellings("container_killed", ("oom-kill:constraint=CONSTRAINT_MEMCG",)),
            *spellings("container_killed", ("killed as a result of limit of ",)),
        ),
        (
            "The container's or job's memory limit was reached, and the kernel killed {process}, which held {held}.",
            "The container's or job's memory limit was reached, and the kernel killed {process}.",
            "The container's or job's memory limit was reached, and the kernel killed a process.",
        ),
        ("That is memory of the machine, not of a GPU; the limit is the control group's, not the machine's.",),
        ("Give the container or job a higher memory limit.", *LESS),
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
        ),
        (
            "The machine ran out of its own memory, and the system killed {process}, which held {held}.",
            "The machine ran out of its own memory, and the system killed {process}.",
            "The machine ran out of its own memory, and the system killed a process.",
        ),
        ("That is memory of the machine, not of a GPU.",),
        (*LESS, "Close what else takes memory, or train on a machine with more of it."),
    ),
    Sign(
        "daemon_killed",
        Kind.HOST,
        Sure.CERTAIN,
        (
            *spellings("daemon_killed", ("due to memory pressure for ", "", r"illed .{0,90}$")),
            *spellings("daemon_killed", ("due to memory used (", "", r"illed .{0,110}$")),
            *spellings(
                "daemon_killed",
                ("systemd-oomd", r".{0,20}?: Killed .{1,1500}? due to memory (?:pressure|used)"),
                ("systemd-oomd killed ", r"[1-9]\d{0,6} process"),
            ),
            *spellings("daemon_killed", (": badness ", *_CHOSEN), ("ow memory! ",)),
        ),
        (
            "The machine ran short of its own memory, and a daemon that guards it killed {process}, which held {held}.",
            "The machine ran short of its own memory, and a daemon that guards it killed {process}.",
            "The machine ran short of its own memory, and a daemon that guards it killed programs.",
        ),
        (
            "That is memory of the machine, not of a GPU. systemd-oomd and earlyoom kill before the kernel must: "
            "systemd-oomd all programs of a terminal or session at once.",
        ),
        (*LESS, "Close what else takes memory, or train on a machine with more of it."),
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
                ("OUT_OF_MEMORY", r"(?! \))", r"(?:State|state|\d)\S{0,12}\s{1,40}$"),
            ),
            *spellings("job_killed", ("OUT_OF_ME+",), ("TERM_MEMLIMIT",), ("for exceeding memory limits",)),
            *spellings("job_killed", ("job killed: ", r"v?mem \d{1,20}+(?:[kmg]?b)? exceeded limit")),
            *spellings("job_killed", ("has gone over memory limit of ",), ("has gone over cgroup memory limit of ",)),
            *spellings("job_killed", ("group mem limit exceeded",), ("exceeded MEM usage hard limit",)),
            *spellings(
                "job_killed", (") exceeded request", "", r"emory usage \(.{1,40}$"), ("exceeded request_memory",)
            ),
            *spellings("job_killed", ("exceeds job hard limit ", r"\W{0,3}(?:h|s)_(?:vmem|rss|data)")),
        ),
        ("The job reached the memory limit that it asked the job system for, and was killed.",),
        ("That is memory of the machine, not of a GPU.",),
        (
            "Ask the job system for more memory; of Slurm with --mem or --mem-per-cpu, where "
            "`sacct -j JOB -o MaxRSS,ReqMem,State` shows its peak.",
            *LESS,
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
            *LESS,
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
        (*LESS, "Or choose a session with more RAM."),
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
        ("Run fewer tasks at once on a node, or give each worker more memory.", *LESS),
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
)
