"""System calls a worker never needs, refused by the kernel (seccomp), on Linux x86_64 and aarch64.

The rest is allowed: TensorFlow, CUDA and glibc use several hundred, and more with every release. A refused call fails
with EPERM, as if the user were not permitted, and libraries know how to live with that.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Mapping

from planner_app.worker.confine.refused_calls import (
    BEYOND,
    CLONE,
    CLONE3,
    MEMORY_FILES,
    MMAP,
    NETWORK,
    PRLIMIT,
    PROGRAMS,
    REFUSED_COMMANDS,
    SCHED_SETAFFINITY,
    SECCOMP,
    SELF_ONLY,
    SOCKETPAIR,
    UNSUPPORTED,
)
from planner_app.worker.confine.syscalls import PR_SET_NO_NEW_PRIVS, prctl, syscall

# A thread that has its files in common with the others.
CLONE_THREAD = 0x00010000 | 0x00000400
# Shared memory without a file: what a process has let go of for the moment still takes memory, and is not its own.
SHARED_MEMORY = 0x01 | 0x20
X32_BIT = 0x40000000
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data
REFUSE = ERRNO | errno.EPERM
KIND_OF_SOCKET, SOCK_STREAM = 0xF, 1  # the other bits of a socket's type are flags

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def apply(*, gpu: bool = False) -> None:
    """For this process and all its threads, for good. Raises OSError where the system can't."""
    machine = platform.machine()
    if machine not in AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"no filter for {machine}")
    column = list(AUDIT_ARCH).index(machine)
    code = b"".join(struct.pack("=HBBI", *step) for step in _filter(machine, column, gpu))
    program = _Program(len(code) // 8, code)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall(SECCOMP[column], 1, 1, ctypes.addressof(program))  # SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC


def _filter(machine: str, column: int, gpu: bool) -> Iterable[Instruction]:
    yield LOAD, 0, 0, ARCH_AT
    yield EQUAL, 1, 0, AUDIT_ARCH[machine]
    yield RETURN, 0, 0, KILL  # calls of another architecture (32 bit) have other numbers
    yield LOAD, 0, 0, NUMBER_AT
    if machine == "x86_64":
        yield AT_LEAST, 0, 1, X32_BIT
        yield RETURN, 0, 0, REFUSE
    for group in (NETWORK, BEYOND, PROGRAMS, {} if gpu else MEMORY_FILES):
        yield from _answered(group, column, REFUSE)
    yield from _answered(UNSUPPORTED, column, ERRNO | errno.EOPNOTSUPP)
    yield from _only_streams(SOCKETPAIR[column])
    yield EQUAL, 0, 1, CLONE3[column]
    yield RETURN, 0, 0, ERRNO | errno.ENOSYS
    yield from _with_all(CLONE[column], 0, CLONE_THREAD, ALLOW, REFUSE)
    for numbers in SELF_ONLY.values():
        yield from _only_if(numbers[column], 0, os.getpid())
    if not gpu:
        yield from _with_all(MMAP[column], 3, SHARED_MEMORY, REFUSE, ALLOW)
    for numbers, argument, commands in REFUSED_COMMANDS.values():
        yield from _not_these(numbers[column], argument, commands)
    yield from _only_if(SCHED_SETAFFINITY[column], 0, 0)  # of the thread that asks
    yield from _only_if(PRLIMIT[column], 2, 0)  # limits may be read, not set
    yield RETURN, 0, 0, ALLOW


def _answered(group: Mapping[str, tuple[int | None, ...]], column: int, answer: int) -> Iterable[Instruction]:
    for numbers in group.values():
        if (number := numbers[column]) is not None:
            yield EQUAL, 0, 1, number
            yield RETURN, 0, 0, answer


def _only_streams(number: int) -> Iterable[Instruction]:
    yield EQUAL, 0, 5, number
    yield LOAD, 0, 0, ARGUMENTS_AT + 8
    yield AND, 0, 0, KIND_OF_SOCKET
    yield EQUAL, 1, 0, SOCK_STREAM
    yield RETURN, 0, 0, REFUSE
    yield RETURN, 0, 0, ALLOW


def _only_if(number: int, argument: int, value: int) -> Iterable[Instruction]:
    """Refuse a call unless an argument has this value, both halves of it."""
    low = ARGUMENTS_AT + 8 * argument
    yield EQUAL, 0, 7, number
    yield LOAD, 0, 0, low
    yield EQUAL, 1, 0, value
    yield RETURN, 0, 0, REFUSE
    yield LOAD, 0, 0, low + 4
    yield EQUAL, 1, 0, 0
    yield RETURN, 0, 0, REFUSE
    yield RETURN, 0, 0, ALLOW


def _not_these(number: int, argument: int, values: tuple[int, ...]) -> Iterable[Instruction]:
    """Refuse a call that is given one of these commands. The kernel takes them as 32 bits, so the low half counts."""
    yield EQUAL, 0, 2 * len(values) + 2, number
    yield LOAD, 0, 0, ARGUMENTS_AT + 8 * argument
    for value in values:
        yield EQUAL, 0, 1, value
        yield RETURN, 0, 0, REFUSE
    yield RETURN, 0, 0, ALLOW


def _with_all(number: int, argument: int, flags: int, answer: int, otherwise: int) -> Iterable[Instruction]:
    """The answer to a call that is given all of these flags, and to one that is not."""
    yield EQUAL, 0, 5, number
    yield LOAD, 0, 0, ARGUMENTS_AT + 8 * argument
    yield AND, 0, 0, flags
    yield EQUAL, 0, 1, flags
    yield RETURN, 0, 0, answer
    yield RETURN, 0, 0, otherwise
