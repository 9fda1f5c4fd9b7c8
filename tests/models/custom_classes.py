"""What a user names with --custom: a layer, a registered layer, a loss and a model class."""

import keras


class Scale(keras.layers.Layer):
    def __init__(self, factor=1.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def build(self, input_shape):
        self.gain = self.add_weight(shape=(input_shape[-1],), name="gain")

    def call(self, x):
        return x * self.gain * self.factor

    def get_config(self):
        return super().get_config() | {"factor": self.factor}


@keras.saving.register_keras_serializable(package="shop")
class Shift(keras.layers.Layer):
    def call(self, x):
        return x + 1.0


def my_loss(y_true, y_pred):
    return keras.ops.mean(keras.ops.square(y_true - y_pred))


class Tower(keras.Model):
    """A subclassed model with a configuration, and a weight of its own."""

    def __init__(self, units=8, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.first = keras.layers.Dense(units, name="first")
        self.second = keras.layers.Dense(2, name="second")

    def build(self, input_shape):
        self.first.build(input_shape)
        self.second.build((input_shape[0], self.units))
        self.offset = self.add_weight(shape=(2,), name="offset")

    def call(self, x):
        return self.second(self.first(x)) + self.offset

    def get_config(self):
        return super().get_config() | {"units": self.units}


def build_tower():
    model = Tower(16, name="tower")
    model.build((None, 4))
    return model


def build_nothing():
    return 42


def build_badly():
    raise ValueError("no such data set")


def build_with_what_is_missing():
    import not_installed_here

    return not_installed_here.model()
