"""Landlock: which files this process may see, enforced by the kernel (Linux 5.13 and later), without privileges."""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from planner_app.worker.confine.syscalls import PR_SET_NO_NEW_PRIVS, prctl, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every machine
RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
FIRST_RIGHTS = (1 << 13) - 1  # what version 1 knows: the above and making and removing of all kinds
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE  # all that makes sense for a single file
TCP_RIGHTS = 0b11  # bind, connect
SCOPES = 0b11  # abstract Unix sockets and signals: not to processes outside

READ = READ_FILE | READ_DIR
WRITE = (FIRST_RIGHTS & ~EXECUTE) | REFER | TRUNCATE
DEVICE = READ_FILE | READ_DIR | WRITE_FILE | IOCTL_DEVICE


def version() -> int:
    """Raises OSError where the kernel has no Landlock or it is turned off."""
    return syscall(CREATE_RULESET, 0, 0, 1)


def apply(rules: Iterable[tuple[str | Path, int]]) -> int:
    """Allow what lies beneath these paths, each with its rights, and nothing else. Gives the version in force.

    It binds this thread and those it starts later, so it comes before anything that starts threads.
    """
    known = version()
    handled = FIRST_RIGHTS
    handled |= REFER if known >= 2 else 0
    handled |= TRUNCATE if known >= 3 else 0
    handled |= IOCTL_DEVICE if known >= 5 else 0
    attributes = struct.pack("=QQQ", handled, TCP_RIGHTS if known >= 4 else 0, SCOPES if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = syscall(CREATE_RULESET, _address(held := ctypes.create_string_buffer(attributes)), size, 0)
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & handled)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
        del held
    return known


def _allow(ruleset: int, path: str | Path, rights: int) -> None:
    """A path that is not there needs no rule: opening it will fail anyway."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor))
        syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, _address(rule), 0)
    finally:
        os.close(descriptor)


def _address(buffer: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.addressof(buffer)
