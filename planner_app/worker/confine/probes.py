"""Each promise of the sandbox, tried from inside at every start. What is told to be in force is what was just refused.

    promise: no network
    tries:   make a socket of this kind and of that; each must fail as forbidden

A try does no harm if it works: a signal 0, a program that is not there, a time that is set to what it is.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from planner_app.worker.confine import syscalls

FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_SUCH_PROGRAM = "/nonexistent/plimsoll-probe"
SIGNAL_0 = 0  # delivered to nobody, but permission is checked


@dataclass(frozen=True, slots=True)
class Promise:
    """Attributes:
    words: As it is told where it holds.
    broken: As it is told where it does not.
    tries: Each must be refused.
    """

    words: str
    broken: str
    tries: tuple[Callable[[], object], ...]

    def holds(self) -> bool:
        return all(refused(attempt) for attempt in self.tries)


def promises(own_folder: str) -> Iterator[Promise]:
    """`own_folder` is where a worker may write; its parent is the user's, and out of reach."""
    outside = Path(own_folder).parent
    yield Promise(
        "reads only its libraries and the model",
        "it can read files outside its folder",
        (lambda: _list("/"), lambda: _open(outside / "lock", os.O_RDONLY), *_other_processes()),
    )
    yield Promise(
        "writes only in its own folder",
        "it can write outside its folder",
        (lambda: _create(outside / "canary"), _write_to_a_device),
    )
    yield Promise(
        "changes no time stamps or permissions",
        "it can change time stamps and permissions of files",
        (lambda: os.utime(outside), lambda: outside.chmod(0o700)),
    )
    yield Promise(
        "no network",
        "it can open sockets",
        (*(partial(_socket, *kind) for kind in _sockets()), _pair_of_datagram_sockets),
    )
    yield Promise("no other programs", "it can start programs", (_execute, _fork))
    yield Promise(
        "no signals to other processes",
        "it can signal other processes",
        (lambda: os.kill(os.getppid(), SIGNAL_0), _own_a_pipe),
    )
    yield Promise("no privileges", "it keeps privileges", (_use_privileges,))


def refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno in FORBIDDEN
    return False


def _other_processes() -> Iterator[Callable[[], object]]:
    yield lambda: _list(f"/proc/{os.getppid()}")
    yield lambda: _open(f"/proc/{os.getppid()}/environ", os.O_RDONLY)


def _sockets() -> Iterator[tuple[int, int]]:
    yield socket.AF_INET, socket.SOCK_DGRAM
    yield socket.AF_INET, socket.SOCK_STREAM
    yield socket.AF_UNIX, socket.SOCK_STREAM
    if hasattr(socket, "AF_NETLINK"):
        yield socket.AF_NETLINK, socket.SOCK_RAW


def _socket(family: int, kind: int) -> None:
    socket.socket(family, kind).close()


def _pair_of_datagram_sockets() -> None:
    """From one of them anything can be sent to a socket that has a name."""
    for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM):
        end.close()


def _list(folder: str) -> None:
    _open(folder, os.O_RDONLY | os.O_DIRECTORY)


def _open(path: str | Path, flags: int) -> None:
    os.close(os.open(path, flags | os.O_CLOEXEC))


def _create(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    path.unlink()


def _write_to_a_device() -> None:
    """It throws away what it is given; a terminal or a disk would not."""
    _open("/dev/zero", os.O_WRONLY)


def _execute() -> None:
    try:
        os.execve(NO_SUCH_PROGRAM, ["probe"], {})
    except FileNotFoundError:
        return  # it would have been started, had it been there


def _fork() -> None:
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)


def _own_a_pipe() -> None:
    """Have the kernel signal the parent when something can be read: another way to say kill."""
    ours, theirs = os.pipe()
    try:
        fcntl.fcntl(ours, fcntl.F_SETOWN, os.getppid())
        owner = ctypes.create_string_buffer(struct.pack("=ii", 1, os.getppid()))
        fcntl.fcntl(ours, 15, bytes(owner.raw[:8]))  # F_SETOWN_EX
    finally:
        os.close(ours)
        os.close(theirs)


def _use_privileges() -> None:
    if not syscalls.capabilities() & ~syscalls.KEPT:
        raise PermissionError(errno.EPERM, "there are none to use")
