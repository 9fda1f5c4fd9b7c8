"""The GPUs of a mesh, which need not be there, as Keras' distribution of a model over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
from keras.src.distribution.distribution_lib import Distribution

from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import BATCH, MODEL, Mesh


def described_devices(target: str, count: int) -> list[Any]:
    """GPUs as XLA's plug-in for CUDA knows them from a description alone."""
    from jax.experimental import topologies

    return list(topologies.get_topology_desc(platform="cuda", target_config=target, topology=f"1x1x{count}").devices)


def distribution(mesh: Mesh, layout: Layout, devices: list[Any]) -> Any:
    """Keras' own: `DataParallel`, or `ModelParallel` with the layout's rules."""
    if layout.name is LayoutName.DATA:
        flat = keras.distribution.DeviceMesh((mesh.gpus,), (BATCH,), devices=np.array(devices))
        return keras.distribution.DataParallel(device_mesh=flat)
    arranged = keras.distribution.DeviceMesh((mesh.data, mesh.model), (BATCH, MODEL), devices=np.array(devices))
    rules = keras.distribution.LayoutMap(arranged)
    for rule in layout.rules:
        rules[rule.pattern] = rule.axes
    return keras.distribution.ModelParallel(layout_map=rules, batch_dim_name=BATCH)


@contextmanager
def distributed(over: Any) -> Iterator[None]:
    """What is built in here lies where the distribution says; a warm worker must not remember the last one."""
    keras.distribution.set_distribution(over)
    try:
        yield
    finally:
        keras.distribution.set_distribution(None)


class Marking(Distribution):  # type: ignore[misc]
    """Marks variables instead of placing them: those that Keras gives the layout of another carry its mark."""

    def __init__(self) -> None:
        super().__init__(device_mesh=None)

    def get_variable_layout(self, variable: Any) -> Any:
        return getattr(variable, "_layout", None) or object()

    def get_tensor_layout(self, path: str) -> None:  # noqa: ARG002 - Keras passes it
        return None
