"""A model that trains in one precision only."""

import keras


class Particular(keras.Model):
    def train_step(self, data):
        found = self.get_layer("hidden").compute_dtype
        if found != "bfloat16":
            raise ValueError(f"This model trains in bfloat16, not in {found}.")
        return super().train_step(data)


def made():
    inputs = keras.Input((8,), name="x")
    model = Particular(inputs, keras.layers.Dense(4, name="hidden")(inputs))
    model.compile(optimizer="adam", loss="mean_squared_error")
    return model
