"""The two calls into the kernel that Python has no function for."""

import ctypes
import os

PR_SET_NO_NEW_PRIVS = 38

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
