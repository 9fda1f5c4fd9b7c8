"""What Keras offers by name, for lists to choose from: the one place where these names stand.

Keras itself has the last word on optimizers and losses, and may know more of them; a test compares.
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
