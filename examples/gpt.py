"""A language model in the shape of GPT-3 XL, with 1.3 billion parameters: which cards fine-tune it?

plimsoll shop examples/gpt.py:gpt --batch 8 --precisions mixed_bfloat16 --gpus 1 --lora 8
"""

import keras
from keras import layers


@keras.saving.register_keras_serializable("examples")
class Positions(layers.Layer):
    """Adds to each token what its place in the text means."""

    def build(self, shape: tuple[int | None, int, int]) -> None:
        self.table = self.add_weight(shape=shape[1:], initializer="normal", name="table")

    def call(self, tokens: keras.KerasTensor) -> keras.KerasTensor:
        return tokens + keras.ops.cast(self.table, tokens.dtype)


def block(x: keras.KerasTensor, width: int, heads: int) -> keras.KerasTensor:
    normed = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(heads, width // heads)(normed, normed, use_causal_mask=True)
    wide = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
    return x + layers.Dense(width)(wide)


def gpt(blocks: int = 24, width: int = 2048, heads: int = 16, length: int = 1024, words: int = 50257) -> keras.Model:
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    x = Positions()(layers.Embedding(words, width)(tokens))
    for _ in range(blocks):
        x = block(x, width, heads)
    logits = layers.Dense(words, use_bias=False, dtype="float32")(layers.LayerNormalization()(x))
    model = keras.Model(tokens, logits)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model
