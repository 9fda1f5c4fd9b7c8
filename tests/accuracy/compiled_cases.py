"""What is compiled for GPUs that are not there, and estimated."""

from dataclasses import dataclass

from cases import Case

H100, A100, L4, T4 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L4", "NVIDIA Tesla T4"


@dataclass(frozen=True, slots=True)
class CompiledCase:
    case: Case
    device: str = H100

    def __str__(self) -> str:
        return f"{self.case} on {self.device}"


CASES = (
    CompiledCase(Case("plain_cnn", 48)),
    CompiledCase(Case("plain_cnn", 48, "mixed_float16"), A100),
    CompiledCase(Case("vgg", 12)),
    CompiledCase(Case("residual", 32)),
    CompiledCase(Case("residual", 32, "mixed_bfloat16", "sgd:momentum=0.9"), L4),
    CompiledCase(Case("residual", 128)),
    CompiledCase(Case("resnet50", 8)),
    CompiledCase(Case("resnet50", 16, "mixed_float16")),
    CompiledCase(Case("resnet50", 32, "mixed_bfloat16"), A100),
    CompiledCase(Case("densenet", 8, optimizer="nadam")),
    CompiledCase(Case("inception", 16, "mixed_float16", "sgd:momentum=0.9,nesterov=true")),
    CompiledCase(Case("depthwise", 16, optimizer="adamw")),
    CompiledCase(Case("mobilenet", 16)),
    CompiledCase(Case("mobilenet", 32, "mixed_bfloat16")),
    CompiledCase(Case("mobilenet", 16), L4),
    CompiledCase(Case("unet", 12)),
    CompiledCase(Case("unet", 12, "mixed_float16")),
    CompiledCase(Case("unet", 24), A100),
    CompiledCase(Case("convnext", 24, optimizer="adamw:weight_decay=0.05")),
    CompiledCase(Case("vit", 32)),
    CompiledCase(Case("vit", 64, "mixed_float16", "lion"), L4),
    CompiledCase(Case("transformer", 16)),
    CompiledCase(Case("transformer", 16, "mixed_bfloat16", "adamw")),
    CompiledCase(Case("transformer", 64), A100),
    CompiledCase(Case("decoder", 8, optimizer="adafactor")),
    CompiledCase(Case("conv1d", 32, optimizer="adadelta")),
    CompiledCase(Case("text_cnn", 64)),
    CompiledCase(Case("siamese", 16)),
    CompiledCase(Case("autoencoder", 32)),
    CompiledCase(Case("variational", 32)),
    CompiledCase(Case("frozen", 32)),
    CompiledCase(Case("mlp", 256, optimizer="sgd:momentum=0.9")),
)
