"""What a worker may touch, put on before anything foreign is read and before TensorFlow starts its threads:
threads that are already there would stay free.

It reads Python, its packages, the system's libraries and what the request names. It writes in its own folder. It has
no network, starts no programs, signals nobody. What could not be put on is said, and every start tries it out.
"""

import errno
import os
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import planner_app
from planner_app.worker.confine import landlock, seccomp
from planner_app.worker.confine import syscalls as kernel

SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/proc", "/sys")
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
RANDOM = ("/dev/urandom", "/dev/random", "/dev/zero")
GPU_FOLDERS = ("/opt/cuda", "/etc/nvidia", "/etc/OpenCL", "/run/nvidia-persistenced")
TOO_LATE = ("tensorflow", "h5py", "numpy")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What holds, and what does not and why; a few words each."""

    in_force: tuple[str, ...]
    missing: tuple[str, ...]


def apply(reads: tuple[str, ...], writes: str, *, gpu: bool = False, execute: bool = False) -> Sandbox:
    """Once for a process and for good. It takes a few milliseconds."""
    in_force: list[str] = []
    missing = [f"put on after {name}, whose threads stay free" for name in TOO_LATE if name in sys.modules]
    if threading.active_count() > 1:
        missing.append("put on after threads were started, which stay free")
    try:
        version = landlock.apply(_rules(reads, writes, gpu=gpu, execute=execute))
    except (OSError, AttributeError) as error:
        missing.append(f"files are not guarded: no Landlock ({error})")
    else:
        in_force.append(f"reads only its libraries and the model, writes only its own folder (Landlock {version})")
    try:
        kernel.drop_capabilities()
    except (OSError, AttributeError) as error:
        missing.append(f"it keeps its privileges ({error})")
    try:
        seccomp.apply(execute=execute)
    except (OSError, AttributeError) as error:
        missing.append(f"network and programs are not guarded: no seccomp ({error})")
    else:
        in_force.append("no network (seccomp)")
        in_force.append("no signals to others (seccomp)" if execute else "no other programs, no signals (seccomp)")
    return _tried(Sandbox(tuple(in_force), tuple(missing)), writes)


def _rules(reads: tuple[str, ...], writes: str, *, gpu: bool, execute: bool) -> Iterator[tuple[str | Path, int]]:
    library = landlock.READ | (landlock.EXECUTE if execute else 0)
    for path in (*SYSTEM, *_python()):
        yield path, library
    for path in (*ETC, *RANDOM, *reads):
        yield path, landlock.READ
    yield "/dev/null", landlock.READ | landlock.WRITE
    yield writes, landlock.WRITE
    if gpu:
        for path in (*GPU_FOLDERS, *os.environ.get("CUDA_HOME", "").split(os.pathsep)):
            yield path, library
        for device in (*Path("/dev").glob("nvidia*"), Path("/dev/dri")):
            yield device, landlock.DEVICE
        yield "/dev/shm", landlock.READ | landlock.WRITE  # NCCL's way between GPUs


def _python() -> Iterator[str]:
    """Where Python and its packages are. A relative or empty entry is the folder the user is in: not ours to read."""
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, *planner_app.__path__]
    places += os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return (place for place in dict.fromkeys(places) if place.startswith("/") and place != "/")


def _tried(sandbox: Sandbox, writes: str) -> Sandbox:
    """A sandbox that only says it holds is worse than none: try to get out."""
    leaks = list(sandbox.missing)
    guarded = " ".join(sandbox.in_force)
    if "Landlock" in guarded and _can_write(Path(writes).parent / "canary"):
        leaks.append("Landlock does not hold: a file was written outside")
    if "Landlock" in guarded and _can_list("/"):
        leaks.append("Landlock does not hold: a folder was listed outside")
    if "seccomp" in guarded and _can_connect():
        leaks.append("seccomp does not hold: a socket was opened")
    return Sandbox(sandbox.in_force, tuple(leaks))


def _can_write(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS)
    path.unlink()
    return True


def _can_list(folder: str) -> bool:
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        return False
    return True


def _can_connect() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError:
        return False
    return True
