"""A real fit on four simulated devices, under each of the distributions asked for; what every device holds then.

    echo '{"model": "transformer", "lora": 0, "cases": [{"mesh": [1, 4], "rules": {...}}]}' | python real_fit.py

A case without rules is data-parallel. Answers with one line of JSON: for each case the bytes on each device.
"""

import json
import os
import sys

QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"  # code that runs once

os.environ.update(
    KERAS_BACKEND="jax",
    JAX_PLATFORMS="cpu",
    XLA_FLAGS=f"--xla_force_host_platform_device_count=4 {QUICKLY}",
    CUDA_VISIBLE_DEVICES="-1",
)

import keras  # noqa: E402
import numpy as np  # noqa: E402
import sharded_models  # noqa: E402

BATCH = 8


def main() -> None:
    asked = json.loads(sys.stdin.read())
    found = [_fitted(asked["model"], asked["lora"], case) for case in asked["cases"]]
    print(json.dumps(found))


def _fitted(name, rank, case):
    keras.utils.clear_session()
    data, model_axis = case["mesh"]
    if case["rules"] is None:
        keras.distribution.set_distribution(keras.distribution.DataParallel())
    else:
        mesh = keras.distribution.DeviceMesh((data, model_axis), ("batch", "model"))
        rules = keras.distribution.LayoutMap(mesh)
        for pattern, axes in case["rules"].items():
            rules[pattern] = tuple(axes)
        keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=rules, batch_dim_name="batch"))
    model = getattr(sharded_models, name)()
    if rank:
        _adapt(model, rank)
    x, y = _batch(model)
    model.fit(x, y, batch_size=BATCH, epochs=1, verbose=0)
    held: dict[str, int] = {}
    state = (*model.variables, *model.optimizer.variables, *model.metrics_variables)
    for variable in {id(each): each for each in state}.values():
        for shard in variable.value.addressable_shards:
            held[str(shard.device)] = held.get(str(shard.device), 0) + shard.data.nbytes
    return sorted(held.values())


def _adapt(model, rank):
    """Low-rank adapters on queries and values, on all layers where there are none; everything else frozen, as a user
    does it."""
    layers = [layer for layer in model._flatten_layers(include_self=False) if hasattr(layer, "enable_lora")]
    layers = [layer for layer in layers if not isinstance(layer, keras.Model)]
    chosen = [layer for layer in layers if "query" in layer.name or "value" in layer.name] or layers
    for layer in model._flatten_layers(include_self=False):
        layer.trainable = False
    for layer in chosen:
        layer.trainable = True
        layer.enable_lora(rank)
    model.compile_from_config(model.get_compile_config())


def _batch(model):
    arrays = {tensor.name: np.ones(_sized(tensor), dtype=tensor.dtype) for tensor in model.inputs}
    x = arrays if len(arrays) > 1 else next(iter(arrays.values()))
    shape = _sized(model.outputs[0])
    sparse = "sparse" in str(getattr(model.loss, "name", model.loss)).lower()
    return x, np.zeros(shape[:-1] if sparse else shape, dtype="int32" if sparse else "float32")


def _sized(tensor):
    return [BATCH, *(sharded_models.LENGTH if size is None else size for size in tensor.shape[1:])]


if __name__ == "__main__":
    main()
