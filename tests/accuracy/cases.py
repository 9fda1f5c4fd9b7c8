"""What is measured and estimated: every kind of model, several optimizers, precisions and batch sizes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A model and how it is trained.

    Attributes:
        model: A name of the zoo.
        batch: Samples of one step; with accumulation an update sees `accumulate` times as many.
        accumulate: Steps whose gradients are added up before an update; 0 for none.
    """

    model: str
    batch: int
    precision: str = "float32"
    optimizer: str = "adam"
    accumulate: int = 0

    def __str__(self) -> str:
        every = f" every {self.accumulate}" if self.accumulate else ""
        return f"{self.model} {self.batch} {self.precision} {self.optimizer}{every}"


# Quick to measure, and together they touch convolutions, attention, loops, sparse gradients, mixed precision,
# accumulation and the update of every weight at once. A test of the suite.
SMALL = (
    Case("plain_cnn", 16),
    Case("autoencoder", 8, "mixed_bfloat16", "sgd:momentum=0.9"),
    Case("transformer", 4),
    Case("gru", 32, optimizer="rmsprop"),
    Case("residual", 8, accumulate=2),
    Case("two_towers", 256),
)

ALL = (
    *SMALL,
    Case("plain_cnn", 48),
    Case("plain_cnn", 20, "mixed_float16", "rmsprop"),
    Case("vgg", 12),
    Case("vgg", 5, "float64", "sgd"),
    Case("residual", 8, "mixed_bfloat16", "sgd:momentum=0.9"),
    Case("residual", 32),
    Case("residual", 16, accumulate=2),
    Case("resnet50", 4),
    Case("densenet", 8, optimizer="nadam"),
    Case("inception", 16, "mixed_float16", "sgd:momentum=0.9,nesterov=true"),
    Case("depthwise", 16, optimizer="adamw"),
    Case("mobilenet", 16),
    Case("efficientnet", 8),
    Case("efficientnet", 4, "mixed_bfloat16", "rmsprop:momentum=0.9"),
    Case("unet", 12),
    Case("unet", 6, "float64", "nadam"),
    Case("unet", 3, accumulate=4),
    Case("convnext", 24, optimizer="adamw:weight_decay=0.05"),
    Case("vit", 32),
    Case("vit", 16, "mixed_float16", "lion"),
    Case("transformer", 4, optimizer="adamw"),
    Case("transformer", 16, optimizer="adam:global_clipnorm=1.0"),
    Case("transformer", 8, "mixed_bfloat16", "adamw"),
    Case("decoder", 8, optimizer="adafactor"),
    Case("lstm", 32),
    Case("lstm", 16, "mixed_float16"),
    Case("masked_lstm", 24, optimizer="sgd:momentum=0.9"),
    Case("gru", 64, optimizer="rmsprop:centered=true"),
    Case("seq2seq", 32),
    Case("convlstm", 4),
    Case("conv3d", 4),
    Case("conv1d", 32, optimizer="adadelta"),
    Case("conv1d", 16, "bfloat16", "adamax"),
    Case("text_cnn", 64),
    Case("two_towers", 1024),
    Case("two_towers", 256, optimizer="sgd"),
    Case("two_towers", 256, optimizer="adagrad"),
    Case("siamese", 16),
    Case("autoencoder", 32, optimizer="adam:use_ema=true"),
    Case("variational", 32),
    Case("frozen", 32),
    Case("frozen", 16, "mixed_float16"),
    Case("two_outputs", 16, optimizer="adam:amsgrad=true"),
    Case("frames", 4),
    Case("mlp", 64, accumulate=2),
    Case("mlp", 128, accumulate=4),
    Case("mlp", 256, optimizer="lamb"),
    Case("mlp", 64, optimizer="ftrl"),
    Case("mlp", 64, optimizer="muon"),
    Case("mlp", 512, "float16", "sgd:momentum=0.9"),
    Case("grouped", 8, optimizer="sgd:momentum=0.9"),
    Case("volumes", 2),
    Case("dilated", 16),
    Case("grouped_query", 8, optimizer="adamw"),
    Case("diffusion", 8, optimizer="adamw"),
)
