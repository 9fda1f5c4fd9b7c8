"""Run out of memory for real without a GPU: limits of the process, a control group, a full disk, a killed child, JAX.

    python tests/doctor/provoke_host.py CASE > case.log 2>&1

Once in a process. `cgroup` cases need root and a memory control group; `jax` cases a Python with JAX. `terminal` runs a
command in a terminal of its own and writes what a person would see, "Killed" behind the progress bar included.
"""

from __future__ import annotations

import os
import pty
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

GIB = 1 << 30
GROUP = Path("/sys/fs/cgroup/memory/plimsoll_doctor")


def _limit(gibibytes: float) -> None:
    """Of address space beyond what is taken already."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + int(gibibytes * GIB),) * 2)


def _group(mebibytes: int) -> None:
    """This process into a control group: beyond the limit the kernel kills it."""
    GROUP.mkdir(exist_ok=True)
    (GROUP / "memory.limit_in_bytes").write_text(str(mebibytes << 20))
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))


def numpy_array() -> None:
    import numpy as np

    _limit(2)
    np.ones((60_000, 224, 224, 3), dtype="float64")


def tensorflow_tensor() -> None:
    """TensorFlow's ordinary CPU allocator, without limits of its own."""
    import tensorflow as tf

    tf.zeros((8, 8)) @ tf.zeros((8, 8))
    _limit(2)
    tf.zeros((40_000, 40_000))


def tensorflow_fit() -> None:
    import keras
    import numpy as np
    from keras import layers as L

    model = keras.Sequential([keras.Input((128, 128, 3)), L.Conv2D(64, 3, name="wide"), L.Flatten(), L.Dense(4)])
    model.compile(loss="mse", jit_compile=False)
    xs, ys = np.zeros((512, 128, 128, 3), "float32"), np.zeros((512, 4), "float32")
    model.fit(xs[:8], ys[:8], batch_size=4, verbose=2)
    _limit(1.5)
    model.fit(xs, ys, batch_size=512, verbose=2)


def shuffle_buffer() -> None:
    """A buffer of large elements that fills until the limit of a control group, and the kernel kills."""
    import tensorflow as tf

    _group(1500)
    data = tf.data.Dataset.range(4000).map(lambda _: tf.zeros((1024, 1024, 3)))
    for _ in data.shuffle(4000):
        pass


def fit_killed() -> None:
    """Training in a control group, with a list that grows in a callback."""
    import keras
    import numpy as np
    from keras import layers as L

    kept: list[object] = []

    class Keep(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            kept.append(np.ones((1024, 1024)))

    model = keras.Sequential([keras.Input((64,)), L.Dense(64, name="hidden"), L.Dense(1, name="head")])
    model.compile(loss="mse", jit_compile=False)
    model.predict(np.zeros((4, 64)), verbose=0)
    _group(1100)
    model.fit(np.zeros((100_000, 64)), np.zeros((100_000, 1)), batch_size=32, callbacks=[Keep()])


def child_killed() -> None:
    """A data loader in a process of its own that the kernel kills."""
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1) as pool:
        sys.stderr.write("loading 64 shards\n")
        pool.submit(_greedy).result()


def _greedy() -> None:
    _group(300)
    kept = []
    while True:
        kept.append(bytearray(os.urandom(8 << 20)))


def launcher_killed() -> None:
    """A launcher that starts the training and reports how it ended."""
    code = "import os, signal; print('Epoch 1/10', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code], check=True)


def fork() -> None:
    _limit(0.2)
    kept = bytearray(100 << 20)
    subprocess.run(["/bin/true"], check=True)
    import mmap

    mmap.mmap(-1, GIB)
    del kept


def disk_full() -> None:
    """Checkpoints on a disk without room: TensorFlow calls that "resource exhausted", too."""
    import tensorflow as tf

    folder = Path("/tmp/plimsoll_small")
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    try:
        tf.train.Checkpoint(kernel=tf.Variable(tf.zeros((1024, 1024)))).save(str(folder / "ckpt"))
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def threads() -> None:
    """No memory at all, but no more threads either: another error that looks like one of memory."""
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    os.setuid(65534)
    threading.Thread(target=print).start()


def shapes() -> None:
    import keras
    import numpy as np
    from keras import layers as L

    model = keras.Sequential([keras.Input((32, 32, 3)), L.Conv2D(8, 3), L.Flatten(), L.Dense(10)])
    model.compile(loss="categorical_crossentropy", jit_compile=False)
    model.fit(np.zeros((8, 32, 32, 3)), np.zeros((8, 1)), verbose=2)


def finished() -> None:
    """A training that ends well, with the end of the data announced in words that look like an error."""
    import keras
    import numpy as np
    import tensorflow as tf
    from keras import layers as L

    model = keras.Sequential([keras.Input((64,)), L.Dense(64), L.Dense(1)])
    model.compile(loss="mse", jit_compile=False)
    data = tf.data.Dataset.from_tensor_slices((np.zeros((64, 64)), np.zeros((64, 1)))).batch(16)
    model.fit(data, epochs=2, steps_per_epoch=8, verbose=2)


def jax_array() -> None:
    import jax.numpy as jnp

    jnp.ones(8).sum()
    _limit(2)
    jnp.ones((60_000, 60_000)).sum().block_until_ready()


def jax_step() -> None:
    """A compiled step whose temporaries do not fit."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def train_step(weights: object, batch: object) -> object:
        def loss(weights: object) -> object:
            hidden = jnp.tanh(batch @ weights)
            return jnp.sum(jnp.sort(hidden, axis=0) * hidden)

        return jax.grad(loss)(weights)

    train_step(jnp.ones((64, 64)), jnp.ones((8, 64)))
    _limit(1.5)
    sys.stderr.write("epoch 1\n")
    jax.block_until_ready(train_step(jnp.ones((64, 4096)), jnp.ones((131_072, 64))))


def jax_keras() -> None:
    os.environ["KERAS_BACKEND"] = "jax"
    import keras
    import numpy as np
    from keras import layers as L

    model = keras.Sequential([keras.Input((64, 64, 3)), L.Conv2D(64, 3, name="wide"), L.Flatten(), L.Dense(4)])
    model.compile(loss="mse")
    model.fit(np.zeros((8, 64, 64, 3)), np.zeros((8, 4)), batch_size=4, verbose=2)
    _limit(1)
    model.fit(np.zeros((1024, 64, 64, 3)), np.zeros((1024, 4)), batch_size=1024, verbose=2)


def terminal() -> None:
    """`terminal CASE`: the case in a shell on a terminal."""
    command = f"{sys.executable} {__file__} {sys.argv[2]}"
    pty.spawn(["bash", "-c", f"{command}; exit $?"])


def interleaved() -> None:
    """Two ranks that write one log, each line with its rank before it: the second runs out."""
    lock = threading.Lock()
    provoke = Path(__file__).with_name("provoke.py")

    def rank(number: int, limit: int) -> None:
        child = subprocess.Popen(
            [sys.executable, str(provoke), "convolution", str(limit)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for line in child.stdout or ():
            with lock:
                sys.stdout.buffer.write(b"[1,%d]<stderr>:" % number + line)

    ranks = [threading.Thread(target=rank, args=each) for each in ((0, 4000), (1, 300))]
    for each in ranks:
        each.start()
        time.sleep(0.5)
    for each in ranks:
        each.join()


CASES: dict[str, Callable[[], None]] = {
    case.__name__: case
    for case in (
        numpy_array,
        tensorflow_tensor,
        tensorflow_fit,
        shuffle_buffer,
        fit_killed,
        child_killed,
        launcher_killed,
        fork,
        disk_full,
        threads,
        shapes,
        finished,
        jax_array,
        jax_step,
        jax_keras,
        terminal,
        interleaved,
    )
}

if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    CASES[sys.argv[1]]()
