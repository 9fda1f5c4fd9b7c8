"""Signs of a process that was killed and could not say why."""

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.signs.host import LESS, LOOK_AT_KERNEL, PIECES, WORKERS
from planner_app.core.doctor.signs.sign import Sign, spellings

# What a progress bar may end with: a shell's word stands right behind it.
_BAR = r"(?:\d|it/s|s/it|ETA.{0,60}|/step.{0,90}|[\]=━>.])"
# "./job.sh: line 3: 12345 " in the languages that bash speaks.
_SHELL_LINE = (
    r":? (?:Zeile|ligne|riga|linha|línea|строка|рядок|wiersz|linia|řádek|行) ?\d{1,9}(?: ?行)?[ \u00a0]?: +\d{1,10} +$"
)

KILLED_SIGNS = (
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
            *spellings("killed", ("illed", r"(?:: 9)?\s{1,60}+\S", r"line \d{1,9}: +\d{1,10} [Kk]$")),
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
            *spellings("killed", ("KILLED BY SIGNAL: 9",), ("EXIT STRING: Killed",)),
            *spellings("killed", ("SIGKILL(-9)",)),
        ),
        ("The process was killed from outside (SIGKILL): it had no chance to write why.",),
        (
            "A training that dies like that mostly met the machine's memory limit, or its container's or job's; GPU "
            "memory that runs out raises an error instead.",
        ),
        (*LESS, "Give the machine, the container or the job more memory."),
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
        (*LESS, "Give the machine, the container or the job more memory."),
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
        (*LESS, "Restart the kernel between trainings: a cell that is run twice may keep both data sets."),
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
