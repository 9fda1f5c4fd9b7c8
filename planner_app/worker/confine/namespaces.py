"""A world of its own: no network, no devices, every file system read-only but the worker's folder, homes out of sight.

A second wall behind Landlock and seccomp, and the first where the kernel is too old for Landlock. Linux gives it to
ordinary users together with a user namespace, unless the distribution has turned that off; root needs none.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from planner_app.worker.confine import syscalls

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 4096, 16384, 1 << 18, 2, 4
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
READ_ONLY, NO_DEVICES = 1, 4
MOUNT_SETATTR = 442  # the same on every machine; Linux 5.12
CAP_SYS_ADMIN = 1 << 21
# A read-only file system does not keep devices from being written.
DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
# Where people and services keep what is theirs.
HIDDEN = ("/home", "/root", "/mnt", "/media", "/srv", "/run/user", "/var/mail", "/var/spool", "/var/lib")


def apply(reads: Iterable[str], writes: str) -> None:
    """For this process and for good; before it has threads. Raises OSError where the system can't.

    Some systems let a process make a namespace and nothing in it, which would leave it without a user. So another
    process goes first.
    """
    places = tuple(reads)
    process = os.fork()
    if process == 0:
        os._exit(_trouble(places, writes))
    if code := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
        raise OSError(abs(code), os.strerror(abs(code)))
    _enter(places, writes)


def _trouble(reads: Iterable[str], writes: str) -> int:
    """Why it can't be done, as a number of the system's; 0 if it can."""
    try:
        _enter(reads, writes)
    except OSError as error:
        return (error.errno or errno.EPERM) & 0x7F
    except BaseException:  # this is a copy of the worker, and must not go on as one
        return errno.EINVAL
    return 0


def _enter(reads: Iterable[str], writes: str) -> None:
    user, group = os.geteuid(), os.getegid()
    privileged = bool(syscalls.capabilities() & CAP_SYS_ADMIN)
    flags = NEW_MOUNTS | NEW_IPC | NEW_NETWORK
    syscalls.unshare(flags if privileged else flags | NEW_USER)
    if not privileged:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    syscalls.mount("", "/", "", MS_REC | MS_PRIVATE)
    devices = [device for device in DEVICES if Path(device).exists()]
    for path in (writes, *devices):
        syscalls.mount(path, path, "", MS_BIND)
    needed = [os.path.realpath(path) for path in (*reads, writes)]
    for place in HIDDEN:
        if Path(place).is_dir() and not any(_within(path, place) for path in needed):
            syscalls.mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=4k,mode=0555")
    _set_attributes("/", on=READ_ONLY | NO_DEVICES, how=AT_RECURSIVE)
    for device in devices:
        _set_attributes(device, off=NO_DEVICES)
    _set_attributes(writes, off=READ_ONLY)


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def _set_attributes(path: str, *, on: int = 0, off: int = 0, how: int = 0) -> None:
    attributes = ctypes.create_string_buffer(struct.pack("=QQQQ", on, off, 0, 0))
    name = ctypes.create_string_buffer(os.fsencode(path))
    syscalls.syscall(MOUNT_SETATTR, AT_FDCWD, ctypes.addressof(name), how, ctypes.addressof(attributes), 32)
