"""What Python's readers of compressed files and archives raise for damaged ones, beyond `zipfile.BadZipFile`."""

import lzma
import struct
import tarfile
import zipfile
import zlib

DAMAGED = (
    EOFError,  # cut off
    KeyError,  # a zip's list names what isn't there
    NotImplementedError,  # an unknown compression
    OSError,  # bz2, gzip
    OverflowError,
    RuntimeError,  # a password is needed
    ValueError,  # a place before the beginning, a name that is said to be UTF-8
    lzma.LZMAError,
    struct.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
