"""System calls a worker never needs, refused by the kernel (seccomp), on Linux x86_64 and aarch64.

The rest is allowed: TensorFlow, CUDA and glibc use several hundred, and more with every release. A refused call fails
with EPERM, as if the user were not permitted, and libraries know how to live with that.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable

from planner_app.worker.confine.syscalls import PR_SET_NO_NEW_PRIVS, prctl, syscall

# Numbers on x86_64 and aarch64, from the kernel's unistd.h; None: the machine has no such call.
NETWORK = {
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
}
PROGRAMS = {
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
}
# Calls that reach past what Landlock guards: other processes, the kernel, permissions of files anywhere.
BEYOND = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "io_uring_setup": (425, 425),  # does what other calls do, unseen by seccomp
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    "open_by_handle_at": (304, 265),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "setrlimit": (160, 164),
    "setsid": (112, 157),  # leaving the group would mean not being stopped with it
    "setpgid": (109, 154),
    "tkill": (200, 130),
}
# Allowed for the process itself only: the first argument is the process they are for.
SELF_ONLY = {
    "kill": (62, 129),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
CLONE = (56, 220)
CLONE3 = (435, 435)  # its flags lie in memory, out of the filter's sight: glibc falls back to clone
PRLIMIT = (302, 261)
SECCOMP = (317, 277)

CLONE_THREAD = 0x00010000
X32_BIT = 0x40000000
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data
REFUSE = ERRNO | errno.EPERM

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def apply(*, execute: bool) -> None:
    """For this process and all its threads, for good. Raises OSError where the system can't."""
    machine = platform.machine()
    if machine not in AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"no filter for {machine}")
    column = list(AUDIT_ARCH).index(machine)
    code = b"".join(struct.pack("=HBBI", *step) for step in _filter(machine, column, execute))
    program = _Program(len(code) // 8, code)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall(SECCOMP[column], 1, 1, ctypes.addressof(program))  # SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC


def _filter(machine: str, column: int, execute: bool) -> Iterable[Instruction]:
    yield LOAD, 0, 0, ARCH_AT
    yield EQUAL, 1, 0, AUDIT_ARCH[machine]
    yield RETURN, 0, 0, KILL  # calls of another architecture (32 bit) have other numbers
    yield LOAD, 0, 0, NUMBER_AT
    if machine == "x86_64":
        yield AT_LEAST, 0, 1, X32_BIT
        yield RETURN, 0, 0, REFUSE
    for group in (NETWORK, BEYOND, {} if execute else PROGRAMS):
        for numbers in group.values():
            if (number := numbers[column]) is not None:
                yield EQUAL, 0, 1, number
                yield RETURN, 0, 0, REFUSE
    if not execute:
        yield EQUAL, 0, 1, CLONE3[column]
        yield RETURN, 0, 0, ERRNO | errno.ENOSYS
        yield from _only_threads(CLONE[column])
        for numbers in SELF_ONLY.values():
            yield from _only_if(numbers[column], 0, os.getpid())
    yield from _only_if(PRLIMIT[column], 2, 0)  # limits may be read, not set
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


def _only_threads(number: int) -> Iterable[Instruction]:
    yield EQUAL, 0, 4, number
    yield LOAD, 0, 0, ARGUMENTS_AT
    yield ANY_BIT, 0, 1, CLONE_THREAD
    yield RETURN, 0, 0, ALLOW
    yield RETURN, 0, 0, REFUSE
