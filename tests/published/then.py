"""What programs of published figures are made of that today's Keras has not: dropout and optimizers as written then."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

TANH_OF_GELU = 0.7978845608028654  # the square root of 2 / pi


class MaskedDropout(keras.layers.Layer):
    """As in TensorFlow up to 2.4 (nn_ops.py): multiplied by a mask of numbers, where today's keeps one of booleans."""

    def __init__(self, rate: float, **options: Any) -> None:
        super().__init__(**options)
        self.rate = rate
        self.seeds = keras.random.SeedGenerator(0)

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training:
            return inputs
        noise = keras.random.uniform(ops.shape(inputs), seed=self.seeds, dtype=inputs.dtype)
        kept = ops.cast(ops.greater_equal(noise, self.rate), inputs.dtype)
        return inputs * (1.0 / (1.0 - self.rate)) * kept

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate}


class Gelu(keras.layers.Layer):
    """Written out, which keeps what each operation reads: by erf in the first BERT, by tanh in NVIDIA's."""

    def __init__(self, by_tanh: bool, **options: Any) -> None:
        super().__init__(**options)
        self.by_tanh = by_tanh

    def call(self, x: Any) -> Any:
        curve = ops.tanh(TANH_OF_GELU * (x + 0.044715 * ops.power(x, 3))) if self.by_tanh else ops.erf(x / 2**0.5)
        return x * (0.5 * (1.0 + curve))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "by_tanh": self.by_tanh}


class Attention(keras.layers.Layer):
    """Self-attention as BERT's modeling.py and the models of TensorFlow 2.4 write it out."""

    def __init__(self, heads: int, rate: float, **options: Any) -> None:
        super().__init__(**options)
        self.heads, self.rate = heads, rate
        self.dropout = MaskedDropout(rate)

    def build(self, shape: tuple[int, ...]) -> None:
        width = shape[-1]
        self.projections = [keras.layers.Dense(width) for _ in range(4)]
        for each in self.projections:
            each.build(shape)
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        _, tokens, width = inputs.shape
        size = width // self.heads
        query, key, value = (
            ops.transpose(ops.reshape(each(inputs), (-1, tokens, self.heads, size)), (0, 2, 1, 3))
            for each in self.projections[:3]
        )
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) * size**-0.5
        attended = ops.matmul(self.dropout(ops.softmax(scores), training=training), value)
        joined = ops.reshape(ops.transpose(attended, (0, 2, 1, 3)), (-1, tokens, width))
        return self.projections[3](joined)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "heads": self.heads, "rate": self.rate}


class BertAdam(keras.optimizers.Optimizer):
    """AdamWeightDecayOptimizer of BERT's optimization.py, which NVIDIA's container for TensorFlow 1 has too.

    Both moments and the weights are multiplied by constants without waiting for a gradient: three more copies of the
    weights from the start of the step on.
    """

    def __init__(self, learning_rate: float = 1e-4, **options: Any) -> None:
        super().__init__(learning_rate=learning_rate, **options)

    def build(self, variables: Any) -> None:
        if self.built:
            return
        super().build(variables)
        self.first, self.second = self.add_optimizer_variables(variables, ["adam_m", "adam_v"])

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        place = self._get_variable_index(variable)
        first, second = self.first[place], self.second[place]
        next_first = ops.multiply(first, 0.9) + ops.multiply(gradient, 0.1)
        next_second = ops.multiply(second, 0.999) + ops.multiply(ops.square(gradient), 0.001)
        update = self.scaled(next_first / (ops.sqrt(next_second) + 1e-6) + variable * 0.01, variable)
        self.assign(variable, variable - ops.cast(learning_rate, variable.dtype) * update)
        self.assign(first, next_first)
        self.assign(second, next_second)

    def scaled(self, update: Any, variable: Any) -> Any:
        return update


class BertLamb(BertAdam):
    """LAMBOptimizer of NVIDIA's container for TensorFlow 1: the same, times a ratio of norms."""

    def scaled(self, update: Any, variable: Any) -> Any:
        ours, theirs = ops.norm(variable), ops.norm(update)
        return ops.where(theirs > 0, ours / theirs, 1.0) * update
