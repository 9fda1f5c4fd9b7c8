"""Families of models that are built unlike the others: gathers, routing, transforms, experts."""

from __future__ import annotations

from typing import Any

import keras
from family import BINARY, SPARSE, family, finished
from keras import layers as L
from keras import ops

# Recurrent cells with attention, unrolled so that they are compiled.


@family("attentive")
def attentive_decoder() -> Any:
    source, target = keras.Input((20, 48)), keras.Input((20,), dtype="int32")
    keys = L.Bidirectional(L.SimpleRNN(64, return_sequences=True, unroll=True))(source)
    queries = L.SimpleRNN(128, return_sequences=True, unroll=True)(L.Embedding(2000, 64)(target))
    context = L.AdditiveAttention()([queries, keys])
    x = L.Dense(128, activation="tanh")(L.Concatenate()([queries, context]))
    return finished([source, target], L.Dense(2000)(x), SPARSE)


@family("attentive")
def gated_pooling() -> Any:
    """A gated cell written out, and a weighted mean over time."""
    inputs = keras.Input((40, 32))
    update, reset = L.Dense(96, activation="sigmoid"), L.Dense(96, activation="sigmoid")
    candidate = L.Dense(96, activation="tanh")
    x = L.Dense(96)(inputs)
    state, states = x[:, 0], []
    for step in range(1, 24):
        both = L.Concatenate()([x[:, step], state])
        gate = update(both)
        state = gate * state + (1 - gate) * candidate(L.Concatenate()([x[:, step], reset(both) * state]))
        states.append(state)
    series = ops.stack(states, axis=1)
    weights = L.Softmax(axis=1)(L.Dense(1)(series))
    return finished(inputs, L.Dense(12)(ops.sum(weights * series, axis=1)), SPARSE)


# Graphs: neighbours are gathered or multiplied with an adjacency matrix.


@family("graphs")
def neighbours() -> Any:
    """Points, each with those that lie nearest."""
    inputs = keras.Input((256, 3))
    near = keras.Input((256, 8), dtype="int32")
    x = L.Dense(32, activation="relu")(inputs)
    for width in (32, 64, 128):
        flat = L.Reshape((256 * 8, 1))(near)
        gathered = L.Reshape((256, 8, x.shape[-1]))(ops.take_along_axis(x, flat, axis=1))
        edges = gathered - ops.expand_dims(x, 2)
        edges = L.Dense(width, activation="relu")(edges)
        x = L.BatchNormalization()(ops.max(edges, axis=2)) + L.Dense(width)(x)
    return finished([inputs, near], L.Dense(13)(x), SPARSE)


@family("graphs")
def adjacency() -> Any:
    nodes, links = keras.Input((96, 24)), keras.Input((96, 96))
    degrees = ops.sum(links, axis=-1, keepdims=True) + 1.0
    x = L.Dense(64)(nodes)
    for _ in range(4):
        y = ops.matmul(links, x) / degrees
        x = x + L.LayerNormalization()(L.Dense(64, activation="leaky_relu")(y))
    scores = L.LeakyReLU()(L.Dense(1)(x) + ops.transpose(L.Dense(1)(x), (0, 2, 1)))
    scores = L.Softmax()(ops.where(links > 0, scores, -1e4))
    x = ops.matmul(scores, x)
    return finished([nodes, links], L.Dense(1)(ops.mean(x, axis=1)))


# Experts.


@family("experts")
def soft_experts() -> Any:
    """Each of a few slots of every expert is a mixture of all tokens."""
    inputs = keras.Input((64,), dtype="int32")
    x = L.Embedding(4000, 96)(inputs)
    for _ in range(2):
        y = L.LayerNormalization()(x)
        x = x + L.MultiHeadAttention(4, 24)(y, y)
        y = L.LayerNormalization()(x)
        logits = L.Dense(8 * 4)(y)
        slots = ops.einsum("bts,btd->bsd", ops.softmax(logits, axis=1), y)
        slots = L.Reshape((8, 4, 96))(slots)
        hidden = L.EinsumDense("besd,edh->besh", output_shape=(8, 4, 192), activation="gelu")(slots)
        mixed = L.Reshape((32, 96))(L.EinsumDense("besh,ehd->besd", output_shape=(8, 4, 96))(hidden))
        x = x + ops.einsum("bts,bsd->btd", ops.softmax(logits, axis=-1), mixed)
    return finished(inputs, L.Dense(4000)(L.LayerNormalization()(x)), SPARSE)


@family("experts")
def gated_experts() -> Any:
    """Every expert sees everything; the best two count."""
    inputs = x = keras.Input((128,))
    for _ in range(2):
        gate = L.Softmax()(L.Dense(8)(x))
        best = ops.top_k(gate, 2)[0][:, 1:]
        gate = ops.where(gate >= best, gate, 0.0)
        outputs = ops.stack([L.Dense(128)(L.Dense(256, activation="relu")(x)) for _ in range(8)], axis=1)
        x = x + ops.sum(outputs * ops.expand_dims(gate, -1), axis=1)
    return finished(inputs, [L.Dense(1)(x), L.Dense(1)(x)])


# Transforms.


@family("transforms")
def fourier_mixer() -> Any:
    inputs = keras.Input((128,), dtype="int32")
    x = L.Embedding(3000, 128)(inputs)
    for _ in range(3):
        mixed = ops.fft2((x, ops.zeros_like(x)))[0]
        x = L.LayerNormalization()(x + mixed)
        y = L.Dense(128)(L.Dense(512, activation="gelu")(x))
        x = L.LayerNormalization()(x + L.Dropout(0.1)(y))
    return finished(inputs, L.Dense(20)(L.GlobalAveragePooling1D()(x)), SPARSE)


@family("transforms")
def wavelets() -> Any:
    """Every second row and column apart (Haar), convolved, put together again."""
    inputs = x = keras.Input((96, 96, 3))
    for filters in (32, 64, 128):
        low, high = x[:, ::2] + x[:, 1::2], x[:, ::2] - x[:, 1::2]
        bands = [part for each in (low, high) for part in (each[:, :, ::2], each[:, :, 1::2])]
        x = L.Concatenate()([bands[0] + bands[1], bands[0] - bands[1], bands[2] + bands[3], bands[2] - bands[3]])
        x = L.Activation("silu")(L.BatchNormalization()(L.Conv2D(filters, 3, padding="same")(x * 0.5)))
        x = x + L.Conv2D(filters, 3, padding="same", activation="silu")(x)
    return finished(inputs, L.Dense(30)(L.GlobalAveragePooling2D()(x)), SPARSE)


# Decoders of images.


@family("decoders")
def pixel_shuffle() -> Any:
    inputs = keras.Input((24, 24, 16))
    x = L.Conv2D(96, 3, padding="same")(inputs)
    for filters in (64, 48, 32):
        x = L.PReLU(shared_axes=(1, 2))(L.Conv2D(4 * filters, 3, padding="same")(x))
        height, width = x.shape[1:3]
        x = L.Permute((1, 3, 2, 4, 5))(L.Reshape((height, width, 2, 2, filters))(x))
        x = L.Reshape((2 * height, 2 * width, filters))(x)
    return finished(inputs, L.Conv2D(3, 3, padding="same", activation="sigmoid")(x), "mae")


@family("decoders")
def pyramid() -> Any:
    """A feature pyramid: bilinear upsampling, sums of levels, a mask."""
    inputs = x = keras.Input((128, 128, 3))
    levels = []
    for filters in (32, 64, 128, 256):
        x = L.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = L.ReLU()(L.GroupNormalization(8)(x))
        levels.append(L.Conv2D(64, 1)(x))
    x = levels.pop()
    while levels:
        x = L.UpSampling2D(interpolation="bilinear")(x) + levels.pop()
        x = L.Conv2D(64, 3, padding="same", activation="relu")(x)
    x = L.Conv2D(8, 1)(L.UpSampling2D(interpolation="bilinear")(x))
    return finished(inputs, x, SPARSE)


# Capsules, routed by agreement.


def _squashed(x: Any) -> Any:
    length = ops.sum(ops.square(x), axis=-1, keepdims=True)
    return x * (length / (1 + length) / ops.sqrt(length + 1e-7))


@family("capsules")
def routed() -> Any:
    inputs = keras.Input((32, 32, 1))
    x = L.Conv2D(64, 9, activation="relu")(inputs)
    x = _squashed(L.Reshape((-1, 8))(L.Conv2D(64, 9, strides=2)(x)))
    votes = L.EinsumDense("bid,idno->bino", output_shape=(x.shape[1], 10, 16))(x)
    logits = ops.zeros_like(votes[..., 0])
    for turn in range(3):
        shares = ops.softmax(logits, axis=-1)
        capsules = _squashed(ops.sum(ops.expand_dims(shares, -1) * votes, axis=1))
        if turn < 2:
            logits = logits + ops.sum(votes * ops.expand_dims(capsules, 1), axis=-1)
    return finished(inputs, ops.sqrt(ops.sum(ops.square(capsules), axis=-1) + 1e-7))


@family("capsules")
def slots() -> Any:
    """Slots compete for what they attend to, three times with the same weights."""
    inputs = keras.Input((48, 48, 3))
    x = inputs
    for filters in (32, 64, 64):
        x = L.Conv2D(filters, 5, strides=2 if filters == 64 else 1, padding="same", activation="relu")(x)
    x = L.LayerNormalization()(L.Reshape((-1, 64))(x))
    keys, values = L.Dense(64)(x), L.Dense(64)(x)
    query, change, norm = L.Dense(64), L.Dense(64, activation="tanh"), L.LayerNormalization()
    slot = L.Dense(64)(ops.reshape(ops.mean(x, axis=1, keepdims=True) * ops.ones((1, 6, 1)), (-1, 6, 64)))
    for _ in range(3):
        weights = ops.softmax(ops.matmul(query(norm(slot)), ops.transpose(keys, (0, 2, 1))) / 8.0, axis=1)
        weights = weights / (ops.sum(weights, axis=-1, keepdims=True) + 1e-6)
        slot = slot + change(ops.matmul(weights, values))
    return finished(inputs, L.Dense(11)(slot), SPARSE)


# Where to look is computed: gathers at places that the network chooses.


@family("sampled")
def deformed() -> Any:
    """Nine places around each pixel are moved and gathered."""
    inputs = keras.Input((32, 32, 3))
    x = L.Conv2D(32, 3, padding="same", activation="relu")(inputs)
    grid = ops.reshape(ops.arange(1024), (1, 1024, 1))
    for filters in (48, 64):
        moves = L.Conv2D(9, 3, padding="same", activation="tanh")(x)
        places = ops.cast(ops.round(L.Reshape((1024, 9))(moves) * 64.0), "int32") + grid
        places = L.Reshape((1024 * 9, 1))(ops.clip(places, 0, 1023))
        flat = L.Reshape((1024, x.shape[-1]))(x)
        gathered = L.Reshape((1024, 9, x.shape[-1]))(ops.take_along_axis(flat, places, axis=1))
        weighted = gathered * ops.expand_dims(L.Reshape((1024, 9))(moves), -1)
        x = L.Dense(filters)(L.Reshape((32, 32, -1))(weighted))
        x = L.ReLU()(L.BatchNormalization()(x))
    return finished(inputs, L.Dense(10)(L.GlobalAveragePooling2D()(x)), SPARSE)


@family("sampled")
def glimpses() -> Any:
    """Rows are chosen by attention weights and read again at full resolution."""
    inputs = keras.Input((64, 64, 3))
    small = L.AveragePooling2D(4)(inputs)
    scores = L.Reshape((256,))(L.Conv2D(1, 3, padding="same")(L.Conv2D(16, 3, padding="same")(small)))
    best = ops.top_k(scores, 16)
    patches = L.Conv2D(128, 4, strides=4)(inputs)
    chosen = ops.take_along_axis(L.Reshape((256, 128))(patches), ops.expand_dims(best[1], -1), axis=1)
    chosen = chosen * ops.expand_dims(ops.sigmoid(best[0]), -1)
    x = chosen + L.MultiHeadAttention(4, 32)(chosen, chosen)
    return finished(inputs, L.Dense(10)(ops.mean(L.Dense(256, activation="gelu")(x), axis=1)), SPARSE)


# Recommenders: large tables, few rows of which a step reads.


@family("recommenders")
def large_tables() -> Any:
    numbers = keras.Input((13,))
    kinds = [keras.Input((4,), dtype="int32") for _ in range(6)]
    dense = L.Dense(32, activation="relu")(L.Dense(128, activation="relu")(numbers))
    rows = [dense] + [ops.mean(L.Embedding(60000, 32)(kind), axis=1) for kind in kinds]
    stacked = ops.stack(rows, axis=1)
    pairs = L.Flatten()(ops.matmul(stacked, ops.transpose(stacked, (0, 2, 1))))
    x = L.Dense(256, activation="relu")(L.Concatenate()([dense, pairs]))
    return finished([numbers, *kinds], L.Dense(1, activation="sigmoid")(x), BINARY)


@family("recommenders")
def next_item() -> Any:
    """What was bought before, attended to by the candidate."""
    history, candidate = keras.Input((50,), dtype="int32"), keras.Input((1,), dtype="int32")
    items = L.Embedding(40000, 48)
    past, one = items(history), items(candidate)
    repeated = one * ops.ones_like(past)
    features = L.Concatenate()([past, repeated, past - repeated, past * repeated])
    weights = L.Dense(1)(L.Dense(36, activation="sigmoid")(L.Dense(80, activation="sigmoid")(features)))
    x = L.Concatenate()([ops.sum(weights * past, axis=1), L.Flatten()(one)])
    return finished([history, candidate], L.Dense(1, activation="sigmoid")(L.Dense(200)(x)), BINARY)


# Residual networks without normalisation.


@family("unnormalised")
def scaled_residual() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = L.Conv2D(48, 3, strides=2, padding="same")(inputs)
    for stage, filters in enumerate((96, 192, 384)):
        for block in range(2):
            strides = 2 if block == 0 and stage else 1
            y = ops.gelu(x) * 1.7
            if block == 0:
                pooled = L.AveragePooling2D(2)(y) if strides == 2 else y
                x = L.Conv2D(filters, 1)(pooled)
            y = ops.gelu(L.Conv2D(filters // 2, 1)(y)) * 1.7
            y = ops.gelu(L.Conv2D(filters // 2, 3, strides=strides, padding="same")(y)) * 1.7
            y = L.Conv2D(filters, 1)(y)
            gate = L.Dense(filters // 4, activation="relu")(ops.mean(y, axis=(1, 2), keepdims=True))
            x = x + 0.2 * 2.0 * y * L.Dense(filters, activation="sigmoid")(gate)
    return finished(inputs, L.Dense(50)(ops.mean(ops.gelu(x), axis=(1, 2))), SPARSE)


@family("unnormalised")
def highway() -> Any:
    inputs = keras.Input((48, 48, 3))
    x = L.Conv2D(64, 3, padding="same")(inputs)
    for depth in range(6):
        gate = L.Conv2D(64, 3, padding="same", activation="sigmoid")(x)
        x = gate * L.Conv2D(64, 3, padding="same", activation="elu")(x) + (1 - gate) * x
        if depth % 2:
            x = L.MaxPooling2D(2)(x)
    return finished(inputs, L.Dense(10)(L.Flatten()(x)), SPARSE)
