"""Gradients added up over GPUs, as each replica of MirroredStrategy does it; and the same step for one GPU alone."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import tensorflow as tf

SCOPE = "all_reduce"


class Reduction:
    """cross_device_utils.py: gradients are packed into one buffer, reduced in place and split again.

    Takes the place of the optimizers' own reduction and remembers what goes in and comes out, so that one trace serves
    one GPU and several.
    """

    def __init__(self, optimizers: Iterable[Any]) -> None:
        self._ends: dict[str, str] = {}
        for optimizer in optimizers:
            optimizer._all_reduce_sum_gradients = self._reduce

    def _reduce(self, grads_and_vars: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        pairs = list(grads_and_vars)
        dense = [(i, g) for i, (g, _) in enumerate(pairs) if g is not None and not isinstance(g, tf.IndexedSlices)]
        reduced = [g for g, _ in pairs]
        for dtype in dict.fromkeys(g.dtype for _, g in dense):
            group = [(i, g) for i, g in reversed(dense) if g.dtype == dtype]
            with tf.name_scope(SCOPE):
                for (i, gradient), part in zip(group, self._reduced([g for _, g in group]), strict=True):
                    reduced[i] = tf.identity(tf.reshape(part, gradient.shape), name="done")
                    self._ends[reduced[i].op.name] = gradient.name
        return [(gradient, variable) for gradient, (_, variable) in zip(reduced, pairs, strict=True)]

    def _reduced(self, gradients: list[Any]) -> list[Any]:
        packed = tf.concat([tf.reshape(gradient, [-1]) for gradient in gradients], 0)
        packed = tf.raw_ops.CollectiveReduceV2(
            input=packed,
            group_size=2,
            group_key=1,
            instance_key=1,
            ordering_token=[],
            merge_op="Add",
            final_op="Id",
        )
        parts: list[Any] = tf.split(packed, [prod(gradient.shape) for gradient in gradients])
        return parts

    def leave_out(self, meta: Any) -> None:
        """The graph of one GPU alone: what would have been reduced goes straight on, and no update waits for the rest.

        Control dependencies put every update behind the collective, and so behind the last of the gradients.
        """
        collectives = {node.name for node in meta.graph_def.node if node.op == "CollectiveReduceV2"}
        waits = {f"^{name}" for name in collectives}
        for node in meta.graph_def.node:
            gradient = self._ends.get(node.name)
            if gradient is not None:
                node.input[:] = [gradient.removesuffix(":0")]
            elif not waits.isdisjoint(node.input):
                node.input[:] = [text for text in node.input if text not in waits]
        run = meta.collection_def["train_op"].node_list.value
        run[:] = [name for name in run if name not in collectives]
