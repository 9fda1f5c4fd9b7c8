"""Models that train themselves: steps, losses and `compile` signatures of their authors'."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops


def _discriminator(size=16):
    return keras.Sequential(
        [
            keras.Input((size, size, 1)),
            layers.Conv2D(16, 3, 2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(32, 3, 2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Flatten(),
            layers.Dropout(0.2),
            layers.Dense(1),
        ],
        name="discriminator",
    )


def _generator(latent=24, size=16):
    quarter = size // 4
    return keras.Sequential(
        [
            keras.Input((latent,)),
            layers.Dense(quarter * quarter * 32),
            layers.BatchNormalization(),
            layers.LeakyReLU(0.2),
            layers.Reshape((quarter, quarter, 32)),
            layers.UpSampling2D(),
            layers.Conv2D(16, 3, padding="same"),
            layers.LeakyReLU(0.2),
            layers.UpSampling2D(),
            layers.Conv2D(1, 3, padding="same", activation="tanh"),
        ],
        name="generator",
    )


class PenalisedGan(keras.Model):
    """Two optimizers, three critic updates to one of the generator, a penalty on the critic's gradient."""

    def __init__(self, critic, generator, latent, critic_steps=3, penalty=10.0):
        super().__init__()
        self.critic, self.generator, self.latent = critic, generator, latent
        self.critic_steps, self.penalty = critic_steps, penalty

    def compile(self, critic_optimizer, generator_optimizer, critic_loss, generator_loss):
        super().compile()
        self.critic_optimizer, self.generator_optimizer = critic_optimizer, generator_optimizer
        self.critic_loss, self.generator_loss = critic_loss, generator_loss

    def gradient_penalty(self, batch, real, fake):
        share = tf.random.uniform([batch, 1, 1, 1])
        between = real + share * (fake - real)
        with tf.GradientTape() as tape:
            tape.watch(between)
            score = self.critic(between, training=True)
        slopes = tape.gradient(score, [between])[0]
        norm = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=[1, 2, 3]) + 1e-12)
        return tf.reduce_mean((norm - 1.0) ** 2)

    def train_step(self, real):
        if isinstance(real, tuple):
            real = real[0]
        batch = tf.shape(real)[0]
        for _ in range(self.critic_steps):
            noise = tf.random.normal((batch, self.latent))
            with tf.GradientTape() as tape:
                fake = self.generator(noise, training=True)
                cost = self.critic_loss(self.critic(real, training=True), self.critic(fake, training=True))
                critic_loss = cost + self.penalty * self.gradient_penalty(batch, real, fake)
            slopes = tape.gradient(critic_loss, self.critic.trainable_variables)
            self.critic_optimizer.apply_gradients(zip(slopes, self.critic.trainable_variables, strict=True))
        noise = tf.random.normal((batch, self.latent))
        with tf.GradientTape() as tape:
            generator_loss = self.generator_loss(self.critic(self.generator(noise, training=True), training=True))
        slopes = tape.gradient(generator_loss, self.generator.trainable_variables)
        self.generator_optimizer.apply_gradients(zip(slopes, self.generator.trainable_variables, strict=True))
        return {"critic": critic_loss, "generator": generator_loss}


def penalised_gan():
    model = PenalisedGan(_discriminator(), _generator(), latent=24)
    model.compile(
        critic_optimizer=keras.optimizers.Adam(2e-4, beta_1=0.5, beta_2=0.9),
        generator_optimizer=keras.optimizers.Adam(2e-4, beta_1=0.5, beta_2=0.9),
        critic_loss=lambda real, fake: tf.reduce_mean(fake) - tf.reduce_mean(real),
        generator_loss=lambda fake: -tf.reduce_mean(fake),
    )
    return model


class PlainGan(keras.Model):
    def __init__(self, discriminator, generator, latent):
        super().__init__()
        self.discriminator, self.generator, self.latent = discriminator, generator, latent
        self.seeds = keras.random.SeedGenerator(7)
        self.d_tracker, self.g_tracker = keras.metrics.Mean(name="d_loss"), keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.d_tracker, self.g_tracker]

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

    def train_step(self, real):
        batch = ops.shape(real)[0]
        fake = self.generator(keras.random.normal((batch, self.latent), seed=self.seeds))
        both = ops.concatenate([fake, real], axis=0)
        labels = ops.concatenate([ops.ones((batch, 1)), ops.zeros((batch, 1))], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(both, training=True))
        slopes = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply(slopes, self.discriminator.trainable_weights)
        noise = keras.random.normal((batch, self.latent), seed=self.seeds)
        with tf.GradientTape() as tape:
            g_loss = self.loss_fn(ops.zeros((batch, 1)), self.discriminator(self.generator(noise), training=True))
        slopes = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply(slopes, self.generator.trainable_weights)
        self.d_tracker.update_state(d_loss)
        self.g_tracker.update_state(g_loss)
        return {"d_loss": self.d_tracker.result(), "g_loss": self.g_tracker.result()}


def plain_gan():
    model = PlainGan(_discriminator(), _generator(), latent=24)
    model.compile(
        keras.optimizers.Adam(3e-4), keras.optimizers.RMSprop(3e-4), keras.losses.BinaryCrossentropy(from_logits=True)
    )
    return model, np.zeros((8, 16, 16, 1), "float32")


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seeds = keras.random.SeedGenerator(11)

    def call(self, inputs):
        mean, log_variance = inputs
        noise = keras.random.normal(ops.shape(mean), seed=self.seeds)
        return mean + ops.exp(0.5 * log_variance) * noise


class Vae(keras.Model):
    """No targets, three metrics of its own."""

    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder, self.decoder = encoder, decoder
        self.total, self.rebuilt, self.spread = (keras.metrics.Mean(name=n) for n in ("loss", "rebuilt", "kl"))

    @property
    def metrics(self):
        return [self.total, self.rebuilt, self.spread]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_variance, code = self.encoder(data)
            again = self.decoder(code)
            rebuilt = ops.mean(ops.sum(keras.losses.binary_crossentropy(data, again), axis=(1, 2)))
            kl = ops.mean(ops.sum(-0.5 * (1 + log_variance - mean**2 - ops.exp(log_variance)), axis=1))
            total = rebuilt + kl
        self.optimizer.apply_gradients(
            zip(tape.gradient(total, self.trainable_weights), self.trainable_weights, strict=True)
        )
        for tracker, value in zip(self.metrics, (total, rebuilt, kl), strict=True):
            tracker.update_state(value)
        return {m.name: m.result() for m in self.metrics}


def vae():
    inputs = keras.Input((28, 28, 1))
    x = layers.Conv2D(16, 3, 2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(32, 3, 2, padding="same", activation="relu")(x)
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    mean, log_variance = layers.Dense(2, name="mean")(x), layers.Dense(2, name="log_variance")(x)
    encoder = keras.Model(inputs, [mean, log_variance, Sampling()([mean, log_variance])], name="encoder")
    code = keras.Input((2,))
    x = layers.Reshape((7, 7, 32))(layers.Dense(7 * 7 * 32, activation="relu")(code))
    x = layers.Conv2DTranspose(32, 3, 2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(16, 3, 2, padding="same", activation="relu")(x)
    decoder = keras.Model(code, layers.Conv2DTranspose(1, 3, padding="same", activation="sigmoid")(x), name="decoder")
    model = Vae(encoder, decoder)
    model.compile(optimizer=keras.optimizers.Adam())
    return model


class VectorQuantizer(layers.Layer):
    def __init__(self, count, size, beta=0.25, **kwargs):
        super().__init__(**kwargs)
        self.count, self.size, self.beta = count, size, beta
        self.codes = self.add_weight(shape=(size, count), initializer="random_uniform", trainable=True, name="codes")

    def call(self, x):
        shape = ops.shape(x)
        flat = ops.reshape(x, (-1, self.size))
        distance = (
            ops.sum(flat**2, axis=1, keepdims=True) + ops.sum(self.codes**2, axis=0) - 2 * ops.matmul(flat, self.codes)
        )
        chosen = ops.one_hot(ops.argmin(distance, axis=1), self.count)
        quantised = ops.reshape(ops.matmul(chosen, ops.transpose(self.codes)), shape)
        commitment = ops.mean((ops.stop_gradient(quantised) - x) ** 2)
        self.add_loss(self.beta * commitment + ops.mean((quantised - ops.stop_gradient(x)) ** 2))
        return x + ops.stop_gradient(quantised - x)


class VqTrainer(keras.Model):
    def __init__(self, variance, latent=8, codes=64):
        super().__init__()
        self.variance = variance
        inputs = keras.Input((28, 28, 1))
        x = layers.Conv2D(16, 3, 2, padding="same", activation="relu")(inputs)
        x = layers.Conv2D(latent, 1, padding="same")(layers.Conv2D(32, 3, 2, padding="same", activation="relu")(x))
        x = VectorQuantizer(codes, latent, name="quantizer")(x)
        x = layers.Conv2DTranspose(32, 3, 2, padding="same", activation="relu")(x)
        x = layers.Conv2DTranspose(16, 3, 2, padding="same", activation="relu")(x)
        self.vqvae = keras.Model(inputs, layers.Conv2DTranspose(1, 3, padding="same")(x), name="vqvae")
        self.total, self.rebuilt = keras.metrics.Mean(name="loss"), keras.metrics.Mean(name="rebuilt")

    @property
    def metrics(self):
        return [self.total, self.rebuilt]

    def train_step(self, x):
        with tf.GradientTape() as tape:
            again = self.vqvae(x)
            rebuilt = tf.reduce_mean((x - again) ** 2) / self.variance
            total = rebuilt + sum(self.vqvae.losses)
        slopes = tape.gradient(total, self.vqvae.trainable_variables)
        self.optimizer.apply_gradients(zip(slopes, self.vqvae.trainable_variables, strict=True))
        self.total.update_state(total)
        self.rebuilt.update_state(rebuilt)
        return {"loss": self.total.result(), "rebuilt": self.rebuilt.result()}


def vq_vae():
    model = VqTrainer(0.1)
    model.compile(optimizer=keras.optimizers.Adam())
    return model


def _classifier(width, name):
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(width, 3, 2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Conv2D(2 * width, 3, 2, padding="same"),
            layers.Flatten(),
            layers.Dense(10),
        ],
        name=name,
    )


class Distiller(keras.Model):
    """A `compile` of its own and a `compute_loss` of its own, on Keras' step."""

    def __init__(self, student, teacher):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.teacher.trainable = False

    def compile(self, optimizer, metrics, student_loss_fn, distillation_loss_fn, alpha=0.1, temperature=3):
        super().compile(optimizer=optimizer, metrics=metrics)
        self.student_loss_fn, self.distillation_loss_fn = student_loss_fn, distillation_loss_fn
        self.alpha, self.temperature = alpha, temperature

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False):
        teacher = self.teacher(x, training=False)
        student = self.student_loss_fn(y, y_pred)
        soft = self.distillation_loss_fn(
            ops.softmax(teacher / self.temperature, axis=1), ops.softmax(y_pred / self.temperature, axis=1)
        ) * (self.temperature**2)
        return self.alpha * student + (1 - self.alpha) * soft

    def call(self, x):
        return self.student(x)


def distiller():
    model = Distiller(student=_classifier(8, "student"), teacher=_classifier(64, "teacher"))
    model.compile(
        optimizer=keras.optimizers.Adam(),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
        student_loss_fn=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        distillation_loss_fn=keras.losses.KLDivergence(),
        alpha=0.1,
        temperature=10,
    )
    return model


def _denoiser(size, widths=(8, 16, 24)):
    noisy, variance = keras.Input((size, size, 3)), keras.Input((1, 1, 1))
    e = layers.UpSampling2D(size, interpolation="nearest")(variance)
    x = layers.Concatenate()([layers.Conv2D(widths[0], 1)(noisy), e])
    skips = []
    for width in widths[:-1]:
        x = layers.Conv2D(width, 3, padding="same", activation="swish")(layers.BatchNormalization()(x))
        skips.append(x)
        x = layers.AveragePooling2D(2)(x)
    x = layers.Conv2D(widths[-1], 3, padding="same", activation="swish")(x)
    for width in reversed(widths[:-1]):
        x = layers.Concatenate()([layers.UpSampling2D(interpolation="bilinear")(x), skips.pop()])
        x = layers.Conv2D(width, 3, padding="same", activation="swish")(x)
    return keras.Model([noisy, variance], layers.Conv2D(3, 1, kernel_initializer="zeros")(x), name="denoiser")


class Diffusion(keras.Model):
    """A normalizer, a network and its moving average; the batch size is written into the step."""

    def __init__(self, size, batch):
        super().__init__()
        self.normalizer = layers.Normalization(mean=[0.5, 0.5, 0.5], variance=[0.1, 0.1, 0.1])
        self.network = _denoiser(size)
        self.average = keras.models.clone_model(self.network)
        self.size, self.batch = size, batch

    def compile(self, **kwargs):
        super().compile(**kwargs)
        self.noise_tracker = keras.metrics.Mean(name="noise")

    @property
    def metrics(self):
        return [self.noise_tracker]

    def train_step(self, images):
        images = self.normalizer(images, training=True)
        noises = keras.random.normal(shape=(self.batch, self.size, self.size, 3))
        times = keras.random.uniform(shape=(self.batch, 1, 1, 1))
        signal, noise = ops.cos(times), ops.sin(times)
        noisy = signal * images + noise * noises
        with tf.GradientTape() as tape:
            predicted = self.network([noisy, noise**2], training=True)
            loss = self.loss(noises, predicted)
        slopes = tape.gradient(loss, self.network.trainable_weights)
        self.optimizer.apply_gradients(zip(slopes, self.network.trainable_weights, strict=True))
        self.noise_tracker.update_state(loss)
        for weight, slow in zip(self.network.weights, self.average.weights, strict=True):
            slow.assign(0.99 * slow + 0.01 * weight)
        return {m.name: m.result() for m in self.metrics}


def diffusion():
    batch = 16
    model = Diffusion(16, batch)
    model.normalizer.build((None, 16, 16, 3))
    model.compile(optimizer=keras.optimizers.AdamW(1e-3, weight_decay=1e-4), loss=keras.losses.mean_absolute_error)
    images = np.random.default_rng(0).random((batch, 16, 16, 3), dtype="float32")
    return model, tf.data.Dataset.from_tensors(images)


class GraphAttention(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, shapes):
        self.kernel = self.add_weight(shape=(shapes[0][-1], self.units), initializer="glorot_uniform", name="kernel")
        self.attention = self.add_weight(shape=(self.units * 2, 1), initializer="glorot_uniform", name="attention")

    def call(self, inputs):
        states, edges = inputs
        moved = ops.matmul(states, self.kernel)
        pairs = tf.reshape(tf.gather(moved, edges), (tf.shape(edges)[0], -1))
        scores = tf.exp(tf.clip_by_value(tf.squeeze(tf.nn.leaky_relu(tf.matmul(pairs, self.attention)), -1), -2, 2))
        count = tf.shape(states)[0]
        total = tf.gather(tf.math.unsorted_segment_sum(scores, edges[:, 0], count), edges[:, 0])
        share = scores / total
        return tf.math.unsorted_segment_sum(tf.gather(moved, edges[:, 1]) * share[:, None], edges[:, 0], count)


class GraphNetwork(keras.Model):
    """The graph belongs to the model; what it is trained on are indices of nodes."""

    def __init__(self, states, edges, units, count):
        super().__init__()
        self.states, self.edges = states, edges
        self.first = layers.Dense(units, activation="relu")
        self.attention = [GraphAttention(units), GraphAttention(units)]
        self.head = layers.Dense(count)

    def call(self, inputs):
        states, edges = inputs
        x = self.first(states)
        for layer in self.attention:
            x = layer([x, edges]) + x
        return self.head(x)

    def train_step(self, data):
        indices, labels = data
        with tf.GradientTape() as tape:
            outputs = self([self.states, self.edges])
            loss = self.compute_loss(y=labels, y_pred=tf.gather(outputs, indices))
        slopes = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply(slopes, self.trainable_weights)
        return self.compute_metrics(None, labels, tf.gather(outputs, indices), None)


def graph_attention():
    rng = np.random.default_rng(0)
    states = tf.constant(rng.random((300, 64), dtype="float32"))
    edges = tf.constant(rng.integers(0, 300, (900, 2)))
    model = GraphNetwork(states, edges, 32, 7)
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.SGD(0.03, momentum=0.9),
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")],
    )
    return model, (np.arange(64), np.zeros(64, "int32"))


class Contrastive(keras.Model):
    """Two views of every picture; labelled ones for a probe beside them."""

    def __init__(self):
        super().__init__()
        self.augment = keras.Sequential([keras.Input((32, 32, 3)), layers.RandomFlip(), layers.RandomRotation(0.1)])
        self.encoder = keras.Sequential(
            [
                keras.Input((32, 32, 3)),
                layers.Conv2D(16, 3, 2, activation="relu"),
                layers.Conv2D(16, 3, 2, activation="relu"),
                layers.Flatten(),
                layers.Dense(32, activation="relu"),
            ]
        )
        self.head = keras.Sequential([keras.Input((32,)), layers.Dense(32, activation="relu"), layers.Dense(32)])
        self.probe = keras.Sequential([keras.Input((32,)), layers.Dense(10)])

    def compile(self, contrastive_optimizer, probe_optimizer, **kwargs):
        super().compile(**kwargs)
        self.contrastive_optimizer, self.probe_optimizer = contrastive_optimizer, probe_optimizer
        self.probe_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def train_step(self, data):
        (plain, _), (labelled, labels) = data
        images = ops.concatenate((plain, labelled), axis=0)
        with tf.GradientTape() as tape:
            first, second = (self.head(self.encoder(self.augment(images, training=True))) for _ in range(2))
            first, second = ops.normalize(first, axis=1), ops.normalize(second, axis=1)
            alike = ops.matmul(first, ops.transpose(second)) / 0.1
            target = ops.arange(ops.shape(first)[0])
            loss = ops.mean(keras.losses.sparse_categorical_crossentropy(target, alike, from_logits=True))
        weights = self.encoder.trainable_weights + self.head.trainable_weights
        self.contrastive_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        with tf.GradientTape() as tape:
            probe = self.probe_loss(labels, self.probe(self.encoder(self.augment(labelled, training=True))))
        weights = self.probe.trainable_weights
        self.probe_optimizer.apply_gradients(zip(tape.gradient(probe, weights), weights, strict=True))
        return {"contrastive": loss, "probe": probe}


def contrastive():
    model = Contrastive()
    model.compile(contrastive_optimizer=keras.optimizers.Adam(), probe_optimizer=keras.optimizers.Adam())
    images, labels = np.zeros((8, 32, 32, 3), "float32"), np.zeros((8,), "int32")
    return model, ((images, labels), (images, labels))


class Embedder(keras.Model):
    """Keras' step and a loss that compares outputs with each other."""

    def __init__(self):
        super().__init__()
        self.inside = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(16)])

    def call(self, x):
        return self.inside(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        alike = ops.matmul(y_pred, ops.transpose(y_pred))
        return ops.mean((alike - ops.eye(ops.shape(y_pred)[0])) ** 2)


def embedder():
    model = Embedder()
    model.compile(optimizer="adamw")
    return model, np.zeros((4, 40), "float32")


class TwoTowers(keras.Model):
    """A recommender: two tables, the other samples of the batch are the negatives."""

    def __init__(self, users, films, width=32):
        super().__init__()
        self.users, self.films = layers.Embedding(users, width), layers.Embedding(films, width)

    def call(self, inputs):
        return self.users(inputs["user"]), self.films(inputs["film"])

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        users, films = y_pred
        scores = ops.matmul(users, ops.transpose(films))
        wanted = ops.eye(ops.shape(scores)[0])
        return ops.mean(keras.losses.categorical_crossentropy(wanted, scores, from_logits=True))


def two_towers():
    model = TwoTowers(2000, 3000)
    model.compile(optimizer=keras.optimizers.Adagrad(0.1))
    return model, {"user": np.arange(8), "film": np.arange(8)}


class Autoencoder(keras.Model):
    """No targets, and logs without "loss": it compares the output with the input."""

    def __init__(self):
        super().__init__()
        self.inside = keras.Sequential([keras.Input((64,)), layers.Dense(32, activation="relu"), layers.Dense(64)])

    def call(self, x):
        return self.inside(x)

    def train_step(self, data):
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            loss = ops.mean((self(x, training=True) - x) ** 2)
        slopes = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(slopes, self.trainable_variables, strict=True))
        return {"rebuilt": loss}


def autoencoder():
    model = Autoencoder()
    model.compile(optimizer="rmsprop")
    return model


class Momentum(keras.Model):
    """Two encoders, one the moving average of the other, and a queue of earlier samples beside the batch."""

    def __init__(self, kept=1024, width=16):
        super().__init__()
        self.query, self.key = self._encoder(width), self._encoder(width)
        self.queue = self.add_weight(shape=(kept, width), trainable=False, name="queue")

    @staticmethod
    def _encoder(width):
        return keras.Sequential([keras.Input((24,)), layers.Dense(64, activation="relu"), layers.Dense(width)])

    def train_step(self, data):
        first, second = data
        with tf.GradientTape() as tape:
            query = ops.normalize(self.query(first, training=True))
            key = tf.stop_gradient(ops.normalize(self.key(second)))
            same, others = ops.sum(query * key, axis=1, keepdims=True), ops.matmul(query, ops.transpose(self.queue))
            scores = ops.concatenate([same, others], axis=1) / 0.07
            nothing = ops.zeros(ops.shape(query)[0], "int32")
            loss = ops.mean(keras.losses.sparse_categorical_crossentropy(nothing, scores, from_logits=True))
        weights = self.query.trainable_weights
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        for weight, slow in zip(self.query.weights, self.key.weights, strict=True):
            slow.assign(0.999 * slow + 0.001 * weight)
        self.queue.assign(ops.concatenate([key, self.queue], axis=0)[: self.queue.shape[0]])
        return {"contrast": loss}


def memory_queue():
    model = Momentum()
    model.compile(optimizer=keras.optimizers.SGD(0.03, momentum=0.9))
    views = np.zeros((8, 24), "float32")
    return model, (views, views)


class Triplets(keras.Model):
    """Three pictures of one batch through one network."""

    def __init__(self):
        super().__init__()
        self.base = keras.Sequential(
            [
                keras.Input((32, 32, 3)),
                layers.Conv2D(16, 3, 2, activation="relu"),
                layers.Conv2D(32, 3, 2, activation="relu"),
                layers.Flatten(),
                layers.Dense(32),
            ]
        )
        self.tracker = keras.metrics.Mean(name="triplet")

    @property
    def metrics(self):
        return [self.tracker]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            anchor, like, unlike = (self.base(images, training=True) for images in data)
            near, far = ops.sum((anchor - like) ** 2, axis=-1), ops.sum((anchor - unlike) ** 2, axis=-1)
            loss = ops.mean(ops.maximum(near - far + 0.5, 0.0))
        weights = self.base.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.tracker.update_state(loss)
        return {"triplet": self.tracker.result()}


def triplets():
    model = Triplets()
    model.compile(optimizer=keras.optimizers.Adam(1e-4))
    images = np.zeros((8, 32, 32, 3), "float32")
    return model, (images, images, images)


class Citations(keras.Model):
    """One graph for every step: its edges are numbers that the step brings along, and steer what it puts out."""

    def __init__(self, features, edges, classes=4, width=16):
        super().__init__()
        self.features, self.edges = tf.constant(features), tf.constant(edges)
        self.inside, self.score, self.out = layers.Dense(width), layers.Dense(1), layers.Dense(classes)

    def call(self, nodes):
        x, sources = self.inside(self.features), self.edges[:, 0]
        pairs = tf.reshape(tf.gather(x, self.edges), (-1, 2 * x.shape[-1]))
        share = tf.exp(tf.clip_by_value(self.score(pairs)[:, 0], -2.0, 2.0))
        sums = tf.math.unsorted_segment_sum(share, sources, tf.reduce_max(sources) + 1)
        share /= tf.repeat(sums, tf.math.bincount(tf.cast(sources, "int32")))
        near = tf.gather(x, self.edges[:, 1]) * share[:, None]
        return tf.gather(self.out(tf.math.unsorted_segment_sum(near, sources, len(self.features))), nodes)


def citations():
    sources = np.repeat(np.arange(150), 4)
    edges = np.stack([sources, sources[::-1]], axis=1).astype("int64")
    model = Citations(np.zeros((150, 20), "float32"), edges)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, (np.arange(8), np.zeros(8, "int64"))


class Replayed(keras.Model):
    """Q-learning: batches of five parts, a scaled loss, and a batch size that is indexed as a tensor."""

    def __init__(self, actions=4):
        super().__init__()
        self.now, self.slow = self._network(actions), self._network(actions)
        self.slow.trainable = False

    @staticmethod
    def _network(actions):
        return keras.Sequential(
            [
                layers.Conv2D(16, 4, 2, activation="relu"),
                layers.Conv2D(32, 3, 2),
                layers.Flatten(),
                layers.Dense(actions),
            ]
        )

    def call(self, parts):
        return self.now(parts[0])

    def train_step(self, data):
        seen, chosen, reward, then, done = data
        several = tf.concat([ops.shape(seen)[0][..., None], [1]], axis=0)
        goal = reward + 0.99 * (1 - done) * ops.max(self.slow(then), axis=1) + tf.tile([[0.0]], several)[:, 0]
        with tf.GradientTape() as tape:
            value = ops.sum(self.now(seen, training=True) * ops.one_hot(chosen, 4), axis=1)
            loss = self.optimizer.scale_loss(ops.mean((goal - value) ** 2))
        weights = self.now.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"q": loss}


def replayed():
    model = Replayed()
    model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1, momentum=0.9)))
    seen, number = np.zeros((8, 20, 20, 4), "float32"), np.zeros(8, "float32")
    return model, (seen, np.zeros(8, "int64"), number, seen, number)
