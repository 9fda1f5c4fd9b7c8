"""Why a training process has ended, from its exit code, its last words and the kernel's counters."""

import re
import signal
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

VMSTAT = Path("/proc/vmstat")
MEMORY = re.compile(
    r"OOM when allocating|RESOURCE_EXHAUSTED|ResourceExhaustedError|[Oo]ut of memory|OUT_OF_MEMORY|std::bad_alloc"
    r"|Memory ran out (?:on this host|in the middle of a step)|MemoryError|Cannot allocate memory"
)
LAST_RUNG = re.compile(r"Memory ran out on the plan's last rung|Memory ran out while the weights were updated")
DEVICE = re.compile(
    r"CUDA_ERROR_(?:NO_DEVICE|UNKNOWN|DEVICE_UNAVAILABLE|ECC_UNCORRECTABLE|ILLEGAL_ADDRESS|LAUNCH_FAILED|NOT_PERMITTED)"
    r"|fallen off the bus|Xid"
)
PEER = re.compile(r"UnavailableError|Connection (?:reset|refused)|failed to connect|worker .* (?:restarted|preempted)")
CHECK = re.compile("Check failed")
TRACEBACK = "Traceback (most recent call last):"
FROM_ANOTHER = ("another exception occurred:", "direct cause of the following exception:")  # of two tracebacks
NATIVE = re.compile(r"^(?:tensorflow|jaxlib)\.[\w.]+: ", re.MULTILINE)  # it may have logged more than it raises
SURVIVED = re.compile(r"Memory ran out with \d+ samples at a time .*")
CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
WORDS = 200


class End(StrEnum):
    """What ended a process, and so what helps."""

    FINISHED = "finished"
    MEMORY = "memory"  # the next rung needs less
    KILLED = "killed"  # the same again
    DEVICE = "device"  # the same again, perhaps on another device
    PEER = "peer"  # another host's process has ended first
    ERROR = "error"  # it would happen again


@dataclass(frozen=True, slots=True)
class Death:
    """Attributes:
    code: As a shell would say it: 128 and the signal's number, where a signal ended the process.
    sentence: For people: what happened.
    """

    end: End
    code: int
    sentence: str


def death_of(returncode: int, last_words: str, by_kernel: bool) -> Death:
    """`returncode` as subprocess has it; `by_kernel` says that the kernel has killed a process for memory meanwhile."""
    if returncode == 0:
        return Death(End.FINISHED, 0, "finished")
    code = 128 - returncode if returncode < 0 else returncode
    last_words = SURVIVED.split(last_words)[-1]
    if returncode > 0:
        last_words = _raised(last_words)
    said = _words(last_words)
    name = _signal(returncode)
    if LAST_RUNG.search(last_words) and returncode > 0:
        return Death(End.ERROR, code, said or "memory ran out on the last rung")
    if returncode == -signal.SIGKILL:
        if by_kernel:
            return Death(End.MEMORY, code, "the kernel killed it: the host's memory ran out")
        return Death(End.KILLED, code, "somebody killed it (SIGKILL)")
    if MEMORY.search(last_words):
        return Death(End.MEMORY, code, f"memory ran out ({said or name})")
    if returncode == -signal.SIGABRT:
        why = said if CHECK.search(said) else name  # any other last line says nothing of the end
        return Death(End.MEMORY, code, f"it aborted ({why}), as TensorFlow does when XLA has no memory")
    if DEVICE.search(last_words):
        return Death(End.DEVICE, code, f"the device was lost ({said})")
    if returncode == -signal.SIGINT:  # Ctrl-C, or a KeyboardInterrupt of the script: somebody wants it to end
        return Death(End.ERROR, code, f"it was interrupted ({name})")
    if returncode < 0:
        kind = "crashed" if -returncode in CRASHES else "was ended"
        return Death(End.KILLED, code, f"it {kind} ({name})")
    if PEER.search(last_words):
        return Death(End.PEER, code, f"another host was lost ({said})")
    return Death(End.ERROR, code, said or f"exit code {code}")


def reason_of(error: BaseException) -> str:
    """TensorFlow's own words for what did not fit."""
    for line in str(error).splitlines():
        start = line.find("OOM when allocating")
        if start >= 0:
            return " ".join(line[start:].split(" on /job")[0].split())[:160]
    said = str(error).strip().splitlines()
    return " ".join(said[0].partition(" [Op:")[0].split())[:160] if said else "out of memory"


def kernel_kills() -> int:
    """How many processes the kernel has killed for memory since it started; 0 where it does not say."""
    with suppress(OSError, ValueError):
        for line in VMSTAT.read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _raised(text: str) -> str:
    """The last error of Python and those that it came from; all of it where there is none, or where we can't know."""
    parts = text.split(TRACEBACK)
    first = len(parts) - 1
    while first > 1 and parts[first - 1].rstrip().endswith(FROM_ANOTHER):
        first -= 1
    found = TRACEBACK.join(parts[first:])
    return text if NATIVE.search(found) else found


def _signal(returncode: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-returncode).name
    return f"exit code {returncode}"


def _words(text: str) -> str:
    """The line that says most: about memory, a failed check, or the last one."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    for pattern in (MEMORY, CHECK, DEVICE):
        found = [line for line in lines if pattern.search(line)]
        if found:
            match = pattern.search(found[-1])
            start = match.start() if match else 0
            return found[-1][max(0, start - 40) :][:WORDS]
    return lines[-1][:WORDS] if lines else ""
