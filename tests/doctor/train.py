"""Train a saved model with a limit that it does not fit; TensorFlow's log goes to standard error.

    python tests/doctor/train.py MODEL.keras BATCH LIMIT_MIB

The last line on standard output says in JSON which operation failed, as the exception has it, and whose layer it is.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from pathlib import Path

from provoke import ENVIRONMENT


def main(file: Path, batch: int) -> None:
    import keras
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)  # two at once may fail, and the exception names either
    with zipfile.ZipFile(file) as archive:
        model = keras.saving.deserialize_keras_object(json.loads(archive.read("config.json")))
    model.compile(optimizer="adam", loss="mean_squared_error", jit_compile=False)
    rng = np.random.default_rng(0)
    inputs = [rng.integers(0, 2, (batch, *t.shape[1:])).astype(t.dtype) for t in model.inputs]
    outputs = [rng.random((batch, *t.shape[1:]), dtype="float32") for t in model.outputs]
    failed = ""
    try:
        for _ in range(3):
            model.train_on_batch(inputs[0], outputs[0])
    except tf.errors.ResourceExhaustedError as error:
        failed = re.search(r"\{\{node ([^}]+)\}\}", str(error))[1]
    names = {layer.name for layer in model.layers}  # those that a summary shows: not the cell inside of a recurrent one
    scopes = [re.sub(r"_\d+$", "", scope) for scope in failed.split("/")[:-1]]
    layer = next((scope for scope in reversed(scopes) if scope in names), "")
    sys.stdout.write(json.dumps({"operation": failed, "layer": layer}) + "\n")


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT, TF_CPU_BFC_MEM_LIMIT_IN_MB=sys.argv[3])
    main(Path(sys.argv[1]), int(sys.argv[2]))
