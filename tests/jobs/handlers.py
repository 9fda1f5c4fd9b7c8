"""Handlers for test workers, well-behaved and not."""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from asking import Do

from planner_app.errors import ModelError


def do(request: Do, report):
    return globals()[request.what](request, report)


def echo(request, report):
    return {"number": request.number, "text": request.text, "process": os.getpid()}


def count(request, report):
    for done in range(request.number):
        report(done, request.number, f"step {done}")
        time.sleep(0.06)
    return request.number


def report_much(request, report):
    for done in range(100_000):
        report(done, 100_000, "fast")
    return "done"


def big_answer(request, report):
    return "x" * request.number


def prints(request, report):
    print('{"type":"Finished","result":"printed"}')  # noqa: T201 - that is the point
    sys.stdout.write("no newline")
    libc = ctypes.CDLL(None)
    libc.puts(b'{"type":"Finished","result":"from C"}')
    libc.fflush(None)
    os.write(1, b"\x00\xff garbage")
    return "real"


def reads_stdin(request, report):
    return sys.stdin.read()


def refuses(request, report):
    raise ModelError("The model is a sandwich.", detail="ham")


def fails(request, report):
    raise ValueError("first line \udcff\nsecond line")


def exits(request, report):
    sys.exit(3)


def lacks_memory(request, report):
    raise MemoryError


def lacks_tensorflow(request, report):
    raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")


def answers_nonsense(request, report):
    return object()


def sleeps(request, report):
    report(0, 1, "asleep")
    time.sleep(600)


def naps(request, report):
    report(0, 1, "asleep")
    time.sleep(request.number)
    return "rested"


def ignores_sigterm(request, report):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeps(request, report)


def holds_the_lock(request, report):
    """As libhdf5 does on a damaged file: a C function that never returns and never lets Python run."""
    report(0, 1, "stuck")
    ctypes.PyDLL(None).sleep(600)


def eats_memory(request, report):
    eaten = []
    while True:
        eaten.append(bytearray(os.urandom(1 << 20)) * 8)
        time.sleep(0.005)


def kills_itself(request, report):
    os.kill(os.getpid(), request.number)


def segfaults(request, report):
    ctypes.string_at(0)


def leaves_a_thread(request, report):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return "answered"


def global_count(request, report):
    global _counted
    _counted = globals().get("_counted", 0) + 1
    return _counted


def outcome(action) -> str:
    try:
        action()
    except OSError as error:
        # A mount of its own that is read-only, another mount than the one to link into, and extended attributes that
        # are said not to be there, are refusals too.
        others = (errno.EROFS, errno.EXDEV, errno.EOPNOTSUPP)
        return "PermissionError" if error.errno in others else type(error).__name__
    except ValueError:  # what Python's setrlimit makes of a refusal
        return "PermissionError"
    return "it worked"


def call(number, *arguments):
    """A system call by its number on x86-64."""
    if platform.machine() != "x86_64":
        raise PermissionError("the number is another one here")
    libc = ctypes.CDLL(None, use_errno=True)
    given = [each.encode() if isinstance(each, str) else each for each in arguments]
    if libc.syscall(ctypes.c_long(number), *(ctypes.c_long(n) if isinstance(n, int) else n for n in given)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def breaks_out(request, report):
    """Each way out, and how it ended."""
    outside = Path(request.text)
    return {
        "write": outcome(lambda: (outside / "written").write_text("x")),
        "truncate": outcome(lambda: os.truncate(outside / "secret", 0)),
        "remove": outcome(lambda: (outside / "secret").unlink()),
        "read": outcome(lambda: (outside / "secret").read_text()),
        "list": outcome(lambda: list(outside.iterdir())),
        "chmod": outcome(lambda: (outside / "secret").chmod(0)),
        "tcp": outcome(lambda: socket.create_connection(("127.0.0.1", 9), 1)),
        "udp": outcome(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
        "unix": outcome(lambda: socket.socket(socket.AF_UNIX)),
        "program": outcome(lambda: subprocess.run(["/bin/true"])),
        "fork": outcome(os.fork),
        "signal": outcome(lambda: os.kill(os.getppid(), 0)),
        "parent": outcome(lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes()),
        "time stamps": outcome(lambda: os.utime(outside / "secret", (0, 0))),
        "time stamps of a folder": outcome(lambda: os.utime(outside)),
        "owner of a pipe": outcome(lambda: fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())),
        "owner of a pipe, in full": outcome(lambda: fcntl.fcntl(os.pipe()[0], 15, struct.pack("=ii", 1, os.getppid()))),
        "lease": outcome(lambda: fcntl.fcntl(os.open(request.read[0], os.O_RDONLY), 1024, 0)),
        "attributes": outcome(lambda: fcntl.ioctl(os.open(request.read[0], os.O_RDONLY), 0x40086602, bytes(8))),
        "priority": outcome(lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)),
        "processor": outcome(lambda: os.sched_setaffinity(os.getppid(), {0})),
        "scheduler": outcome(lambda: os.sched_setscheduler(os.getppid(), os.SCHED_BATCH, os.sched_param(0))),
        "others": outcome(lambda: list(Path("/proc").iterdir())),
        "command of the parent": outcome(lambda: Path(f"/proc/{os.getppid()}/cmdline").read_bytes()),
        "first process": outcome(lambda: Path("/proc/1/status").read_text()),
        "netlink": outcome(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
        "pair": outcome(lambda: os.link(request.read[0], outside / "linked")),
        "watch": outcome(lambda: call(294, 0)),
        "watch a folder": outcome(lambda: call(254, -1, str(outside), 0x100)),
        "pair of datagram sockets": outcome(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)),
        "pair of raw sockets": outcome(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)),
        "pair of packet sockets": outcome(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)),
        "read extended attributes": outcome(lambda: os.getxattr(outside / "secret", "user.x")),
        "list extended attributes": outcome(lambda: os.listxattr(outside / "secret")),
        "attributes of a path": outcome(lambda: call(469, -100, str(outside / "secret"), bytes(24), 24, 0)),
        "version of a file": outcome(lambda: fcntl.ioctl(os.open(request.read[0], os.O_RDONLY), 0x40087602, bytes(8))),
        "shared memory": outcome(lambda: call(30, 0, 0, 0)),
        "semaphores": outcome(lambda: call(66, 0, 0, 19, bytes(200))),
        "messages": outcome(lambda: call(71, 0, 12, bytes(200))),
        "device": outcome(lambda: os.open("/dev/full", os.O_WRONLY)),
        "memory file": outcome(lambda: os.memfd_create("hidden")),
        "shared memory without a file": outcome(lambda: mmap.mmap(-1, mmap.PAGESIZE)),
        "shared memory from a device": outcome(lambda: os.open("/dev/zero", os.O_RDONLY)),
        "a file sent to oneself": outcome(lambda: socket.send_fds(socket.socketpair()[0], [b"x"], [0])),
        "larger buffer of a socket": outcome(lambda: socket.socketpair()[0].setsockopt(1, 7, 1 << 24)),
        "larger pipe": outcome(lambda: fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)),
        "memory in a pipe": outcome(lambda: call(278, os.pipe()[1], 0, 0, 0)),
        "open files of one thread": outcome(lambda: call(436, 1000, 1000, 2)),
        "limit": outcome(lambda: __import__("resource").setrlimit(4, (1 << 40, 1 << 40))),
        "own folder": outcome(lambda: Path(os.environ["TMPDIR"], "file").write_text("x")),
        "named file": outcome(lambda: Path(request.read[0]).read_text()),
        "named folder": outcome(lambda: list(Path(request.read[1]).iterdir())),
        "thread": outcome(lambda: threading.Thread(target=int).start()),
        "pair of streams": outcome(socket.socketpair),  # of an event loop
    }


def writes_much(request, report):
    with Path(os.environ["TMPDIR"], "big").open("wb") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))


def writes_many_files(request, report):
    for number in range(100_000):
        Path(os.environ["TMPDIR"], str(number)).write_bytes(bytes(1 << 18))
        time.sleep(0.001)


def writes_removed_files(request, report):
    kept = []
    for number in range(1000):
        file = Path(os.environ["TMPDIR"], str(number))
        kept.append(file.open("wb"))
        kept[-1].write(bytes(1 << 20))
        kept[-1].flush()
        file.unlink()
        time.sleep(0.005)


def maps_removed_files(request, report):
    libc = ctypes.CDLL(None)
    for number in range(1000):
        place = Path(os.environ["TMPDIR"], str(number))
        with place.open("w+b") as file:
            file.write(bytes(1 << 20))
            file.flush()
            libc.mmap(None, ctypes.c_size_t(mmap.PAGESIZE), 0, mmap.MAP_PRIVATE, file.fileno(), ctypes.c_long(0))
        place.unlink()
        time.sleep(0.005)


def nests_folders(request, report):
    os.chdir(os.environ["TMPDIR"])
    for _ in range(3000):  # a path can say half of them
        Path("d").mkdir()
        os.chdir("d")
    time.sleep(request.number)


def fills_memory_files(request, report):
    for number in range(1000):
        os.write(os.memfd_create(f"memory {number}"), bytes(1 << 20))
        time.sleep(0.005)


def starts_threads(request, report):
    for _ in range(4000):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    time.sleep(600)


def environment(request, report):
    return dict(os.environ)


def trains(request, report):
    """TensorFlow and Keras in the sandbox: a model trains, and its pool threads can't write outside either."""
    import keras
    import numpy as np
    import tensorflow as tf

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("adam", "mse", jit_compile=True)
    model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
    model.save(Path(os.environ["TMPDIR"], "model.keras"))

    @tf.function
    def write(index):
        tf.io.write_file(tf.strings.join([request.text, "/marker", tf.strings.as_string(index)]), "x")
        return index

    refused = 0
    for index in range(16):
        try:
            write(tf.constant(index))
        except tf.errors.PermissionDeniedError:
            refused += 1
    return {"params": model.count_params(), "refused": refused}
