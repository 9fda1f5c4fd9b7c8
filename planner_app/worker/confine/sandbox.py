"""What a worker may touch, put on before anything foreign is read and before TensorFlow starts its threads:
threads that are already there would stay free.

It reads Python, its packages, the system's libraries and what the request names. It writes in its own folder. It has
no network, starts no programs, signals nobody. Several layers see to it; which promises hold is found out by trying.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import planner_app
from planner_app.worker.confine import landlock, namespaces, probes, seccomp
from planner_app.worker.confine import syscalls as kernel

SYSTEM = tuple("/usr /bin /lib /lib32 /lib64 /nix/store /gnu/store".split())
MACHINE = tuple("/sys/devices /sys/bus /sys/fs/cgroup /sys/kernel/mm /sys/module /sys/class".split())
# Of /proc, what libraries ask about the machine and about this process; never what other processes are.
PROC = tuple(
    f"/proc/{name}"
    for name in (
        "self cpuinfo meminfo stat filesystems mounts version devices loadavg uptime sys/kernel sys/vm driver".split()
    )
)
# Of /etc, what the dynamic linker, glibc and the time zone need.
ETC = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/locale.alias",
    "/etc/alternatives",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/os-release",
)
RANDOM = ("/dev/urandom", "/dev/random")
GPU_FILES = ("/dev/zero", "/opt/cuda", "/etc/nvidia", "/etc/OpenCL", "/run/nvidia-persistenced")
TOO_LATE = ("tensorflow", "h5py", "numpy")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What holds, and what does not and why; a few words each."""

    in_force: tuple[str, ...]
    missing: tuple[str, ...]


def apply(reads: tuple[str, ...], writes: str, *, gpu: bool = False) -> Sandbox:
    """Once for a process and for good. It takes a few milliseconds."""
    late = [f"put on after {name}, whose threads stay free" for name in TOO_LATE if name in sys.modules]
    if threading.active_count() > 1:
        late.append("put on after threads were started, which stay free")
    # Found out before the filter: what can be asked of /proc and the environment afterwards is less.
    promises = tuple(probes.promises(writes))
    reachable = (*reads, *_python())
    layers: dict[str, Callable[[], object]] = {
        # Not around GPUs: drivers and what they talk to are somebody else's, and differ.
        **({} if gpu else {"namespaces": lambda: namespaces.apply(reachable, writes)}),
        "Landlock": lambda: landlock.apply(_rules(reads, writes, gpu=gpu)),
        "capabilities": kernel.drop_capabilities,
        "seccomp": lambda: seccomp.apply(gpu=gpu),
    }
    lacking = {name: why for name, layer in layers.items() if (why := _put_on(layer))}
    return _found(promises, lacking, late)


def _put_on(layer: Callable[[], object]) -> str:
    """Why it could not be; empty if it is on."""
    try:
        layer()
    except (OSError, AttributeError) as error:
        return str(getattr(error, "strerror", None) or error)
    return ""


def _found(promises: tuple[probes.Promise, ...], lacking: dict[str, str], late: list[str]) -> Sandbox:
    """A sandbox that only says it holds is worse than none: what is told is what was tried."""
    held = {promise: promise.holds() for promise in promises}
    in_force = [promise.words for promise, holds in held.items() if holds]
    broken = [promise.broken for promise, holds in held.items() if not holds]
    if broken and lacking:
        broken.append("here is " + " and ".join(f"no {name} ({reason})" for name, reason in lacking.items()))
    return Sandbox(tuple(in_force), (*late, *broken))


def _rules(reads: tuple[str, ...], writes: str, *, gpu: bool) -> Iterator[tuple[str | Path, int]]:
    for path in (*SYSTEM, *_python()):
        yield path, landlock.READ
    for path in (*ETC, *RANDOM, *MACHINE, *PROC, *reads):
        yield path, landlock.READ
    yield "/dev/null", landlock.READ | landlock.WRITE
    yield writes, landlock.WRITE
    if gpu:
        for path in (*GPU_FILES, *os.environ.get("CUDA_HOME", "").split(os.pathsep)):
            yield path, landlock.READ
        for device in (*Path("/dev").glob("nvidia*"), Path("/dev/dri")):
            yield device, landlock.DEVICE
        yield "/dev/shm", landlock.READ | landlock.WRITE  # NCCL's way between GPUs


def _python() -> Iterator[str]:
    """Where Python and its packages are. A relative or empty entry is the folder the user is in: not ours to read."""
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, *planner_app.__path__]
    places += os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return (place for place in dict.fromkeys(places) if place.startswith("/") and place != "/")
