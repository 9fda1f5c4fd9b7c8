"""The names that Keras offers, for lists to choose from, kept in one place.

Keras itself decides which optimizers and losses exist, and may know more; a test compares.
"""

OPTIMIZERS = (
    "adam", "adamw", "sgd", "rmsprop", "adagrad", "adadelta", "adafactor", "adamax", "nadam", "lamb", "lion", "ftrl",
    "muon", "schedulefreeadamw",
)  # fmt: skip
LOSSES = (
    "mean_squared_error",
    "mean_absolute_error",
    "huber",
    "binary_crossentropy",
    "categorical_crossentropy",
    "sparse_categorical_crossentropy",
    "kl_divergence",
    "poisson",
    "cosine_similarity",
)
REMAT_WITH_ARGUMENT = ("larger_than", "list_of_layers")
REMAT_MODES = ("full", "activations", *REMAT_WITH_ARGUMENT)  # of keras.RematScope
