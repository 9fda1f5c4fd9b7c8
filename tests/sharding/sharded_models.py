"""Models that are sharded for real, on simulated devices: two of KerasHub's among them. Run by Keras on JAX."""

import keras


def dense():
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(0.1),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(40),
        ],
        name="dense_model",
    )
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    return model


def convolutional():
    picture = keras.Input((16, 16, 3), name="picture")
    x = picture
    for number, channels in enumerate((16, 32)):
        x = keras.layers.Conv2D(channels, 3, padding="same", name=f"conv_{number}")(x)
        x = keras.layers.BatchNormalization(name=f"norm_{number}")(x)
        x = keras.layers.ReLU(name=f"relu_{number}")(x)
        x = keras.layers.SeparableConv2D(channels, 3, padding="same", name=f"separable_{number}")(x)
    x = keras.layers.GlobalAveragePooling2D(name="pool")(x)
    model = keras.Model(picture, keras.layers.Dense(10, name="classes")(x), name="convolutional")
    model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def transformer(blocks=2, width=64, heads=4, vocabulary=512, length=16):
    words = keras.Input((length,), dtype="int32", name="words")
    x = keras.layers.Embedding(vocabulary, width, name="tokens")(words)
    for n in range(blocks):
        y = keras.layers.LayerNormalization(name=f"norm_a_{n}")(x)
        y = keras.layers.MultiHeadAttention(heads, width // heads, name=f"attention_{n}")(y, y, use_causal_mask=True)
        x = keras.layers.Add(name=f"add_a_{n}")([x, y])
        y = keras.layers.LayerNormalization(name=f"norm_b_{n}")(x)
        y = keras.layers.Dense(4 * width, activation="gelu", name=f"up_{n}")(y)
        x = keras.layers.Add(name=f"add_b_{n}")([x, keras.layers.Dense(width, name=f"down_{n}")(y)])
    model = keras.Model(words, keras.layers.Dense(vocabulary, name="logits")(x), name="transformer")
    model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def gemma():
    import keras_hub

    backbone = keras_hub.models.GemmaBackbone(
        vocabulary_size=512,
        num_layers=2,
        num_query_heads=4,
        num_key_value_heads=4,
        hidden_dim=64,
        intermediate_dim=256,
        head_dim=16,
    )
    return _language_model(keras_hub.models.GemmaCausalLM(backbone=backbone, preprocessor=None))


def llama():
    import keras_hub

    backbone = keras_hub.models.LlamaBackbone(
        vocabulary_size=512,
        num_layers=2,
        num_query_heads=4,
        num_key_value_heads=4,
        hidden_dim=64,
        intermediate_dim=256,
    )
    return _language_model(keras_hub.models.LlamaCausalLM(backbone=backbone, preprocessor=None))


def _language_model(model):
    model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


LENGTH = 16  # of text, for models that take any


def llama_7b():
    """Of the size of Llama 2: 6.7 billion parameters, none of which is ever made."""
    import keras_hub

    backbone = keras_hub.models.LlamaBackbone(
        vocabulary_size=32000,
        num_layers=32,
        num_query_heads=32,
        num_key_value_heads=32,
        hidden_dim=4096,
        intermediate_dim=11008,
    )
    return _language_model(keras_hub.models.LlamaCausalLM(backbone=backbone, preprocessor=None))
