"""Calls into the kernel that Python has no function for."""

import ctypes
import os
import struct

PR_SET_NO_NEW_PRIVS = 38
CAPABILITIES_VERSION = 0x20080522
KEPT = 1 << 2  # CAP_DAC_READ_SEARCH

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def syscall(number: int, *arguments: int) -> int:
    """Raises OSError as Python's own would."""
    result: int = _libc.syscall(ctypes.c_long(number), *(ctypes.c_long(argument) for argument in arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, value: int) -> None:
    none = ctypes.c_ulong(0)
    if _libc.prctl(option, ctypes.c_ulong(value), none, none, none) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def unshare(flags: int) -> None:
    if _libc.unshare(ctypes.c_int(flags)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    names = [os.fsencode(name) or None for name in (source, target, kind)]
    if _libc.mount(*names, ctypes.c_ulong(flags), os.fsencode(options) or None) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), target)


def capabilities() -> int:
    """Those in effect, as bits."""
    sets = _capabilities()
    return sets[0] | sets[3] << 32


def drop_capabilities() -> None:
    """Root, as in many a container, keeps one privilege: to read files that belong to others, such as the user's model.
    With the rest it could look into other processes in spite of Landlock. Nobody else has any."""
    kept = _capabilities()[1] & KEPT  # of those permitted now
    sets = ctypes.create_string_buffer(struct.pack("=6I", kept, kept, 0, 0, 0, 0))
    if _libc.capset(_header(), sets) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


def _capabilities() -> tuple[int, ...]:
    """Effective, permitted, inheritable; the lower half of each, then the upper half of each."""
    sets = ctypes.create_string_buffer(24)
    if _libc.capget(_header(), sets) != 0:
        raise OSError(ctypes.get_errno(), "capget failed")
    return struct.unpack("=6I", sets.raw)


def _header() -> "ctypes.Array[ctypes.c_char]":
    return ctypes.create_string_buffer(struct.pack("=Ii", CAPABILITIES_VERSION, 0))
