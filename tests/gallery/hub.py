"""KerasHub's families at small sizes: text, vision, audio. Nothing is downloaded."""

import keras
import keras_hub

models = keras_hub.models
SMALL = {"vocabulary_size": 1000, "num_layers": 2, "num_heads": 2, "hidden_dim": 32, "intermediate_dim": 64}


def bert_classifier():
    backbone = models.BertBackbone(**SMALL, max_sequence_length=64)
    return models.BertTextClassifier(backbone=backbone, num_classes=4)


def albert_classifier():
    backbone = models.AlbertBackbone(**SMALL, embedding_dim=16, max_sequence_length=64)
    return models.AlbertTextClassifier(backbone=backbone, num_classes=3)


def roberta_masked_lm():
    backbone = models.RobertaBackbone(**SMALL, max_sequence_length=64)
    return models.RobertaMaskedLM(backbone=backbone)


def distil_bert_classifier():
    backbone = models.DistilBertBackbone(**SMALL, max_sequence_length=64)
    return models.DistilBertTextClassifier(backbone=backbone, num_classes=2)


def deberta_classifier():
    backbone = models.DebertaV3Backbone(**SMALL, max_sequence_length=64, bucket_size=16)
    return models.DebertaV3TextClassifier(backbone=backbone, num_classes=2)


def electra_backbone():
    model = models.ElectraBackbone(
        vocab_size=1000, num_layers=2, num_heads=2, hidden_dim=32, embedding_dim=32, intermediate_dim=64,
        max_sequence_length=64,
    )  # fmt: skip
    model.compile(optimizer="adam", loss="mse")
    return model


def f_net_classifier():
    backbone = models.FNetBackbone(
        vocabulary_size=1000, num_layers=2, hidden_dim=32, intermediate_dim=64, max_sequence_length=64
    )
    return models.FNetTextClassifier(backbone=backbone, num_classes=2)


def gpt2_lm():
    return models.GPT2CausalLM(backbone=models.GPT2Backbone(**SMALL, max_sequence_length=64))


def opt_lm():
    return models.OPTCausalLM(backbone=models.OPTBackbone(**SMALL, max_sequence_length=64))


def bloom_lm():
    return models.BloomCausalLM(backbone=models.BloomBackbone(**SMALL))


def gemma_lm():
    backbone = models.GemmaBackbone(
        vocabulary_size=1000, num_layers=2, num_query_heads=4, num_key_value_heads=1, hidden_dim=32,
        intermediate_dim=64, head_dim=8,
    )  # fmt: skip
    return models.GemmaCausalLM(backbone=backbone)


def gemma_lora():
    model = gemma_lm()
    model.backbone.enable_lora(rank=4)
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.AdamW(5e-5, weight_decay=0.01),
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    return model


def llama_lm():
    backbone = models.LlamaBackbone(
        vocabulary_size=1000, num_layers=2, num_query_heads=4, num_key_value_heads=2, hidden_dim=32,
        intermediate_dim=64,
    )  # fmt: skip
    return models.LlamaCausalLM(backbone=backbone)


def mistral_lm():
    backbone = models.MistralBackbone(
        vocabulary_size=1000, num_layers=2, num_query_heads=4, num_key_value_heads=2, hidden_dim=32,
        intermediate_dim=64, sliding_window=16,
    )  # fmt: skip
    return models.MistralCausalLM(backbone=backbone)


def qwen_lm():
    backbone = models.QwenBackbone(
        vocabulary_size=1000, num_layers=2, num_query_heads=4, num_key_value_heads=2, hidden_dim=32,
        intermediate_dim=64,
    )  # fmt: skip
    return models.QwenCausalLM(backbone=backbone)


def falcon_lm():
    backbone = models.FalconBackbone(
        vocabulary_size=900, num_layers=2, num_attention_heads=2, hidden_dim=32, intermediate_dim=64
    )
    return models.FalconCausalLM(backbone=backbone)


def neox_lm():
    """900 rows: 16 times a batch of 56 and four more."""
    backbone = models.GPTNeoXBackbone(**{**SMALL, "vocabulary_size": 900})
    return models.GPTNeoXCausalLM(backbone=backbone)


def t5_backbone():
    model = models.T5Backbone(
        vocabulary_size=1000, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64, dropout=0.1
    )
    model.compile(optimizer="adafactor", loss="mse")
    return model


def bart_seq2seq():
    return models.BartSeq2SeqLM(backbone=models.BartBackbone(**SMALL, max_sequence_length=64))


def resnet_classifier():
    backbone = models.ResNetBackbone(
        input_conv_filters=[64], input_conv_kernel_sizes=[7], stackwise_num_filters=[64, 64, 64],
        stackwise_num_blocks=[1, 1, 1], stackwise_num_strides=[1, 2, 2], block_type="basic_block",
        image_shape=(64, 64, 3),
    )  # fmt: skip
    return models.ResNetImageClassifier(backbone=backbone, num_classes=10)


def vit_classifier():
    backbone = models.ViTBackbone(
        image_shape=(32, 32, 3), patch_size=(8, 8), num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64
    )
    return models.ViTImageClassifier(backbone=backbone, num_classes=10)


def densenet_classifier():
    backbone = models.DenseNetBackbone(
        stackwise_num_repeats=[2, 2], compression_ratio=0.5, growth_rate=8, image_shape=(64, 64, 3)
    )
    return models.DenseNetImageClassifier(backbone=backbone, num_classes=10)


def mit_segmenter():
    backbone = models.MiTBackbone(
        layerwise_depths=[1, 1], num_layers=2, layerwise_num_heads=[1, 2], layerwise_sr_ratios=[2, 1],
        max_drop_path_rate=0.1, image_shape=(64, 64, 3), hidden_dims=[16, 32], layerwise_patch_sizes=[7, 3],
        layerwise_strides=[4, 2],
    )  # fmt: skip
    return models.SegFormerImageSegmenter(
        backbone=models.SegFormerBackbone(image_encoder=backbone, projection_filters=16), num_classes=4
    )


def vgg_classifier():
    backbone = models.VGGBackbone(stackwise_num_repeats=[1, 1], stackwise_num_filters=[8, 16], image_shape=(32, 32, 3))
    return models.VGGImageClassifier(backbone=backbone, num_classes=10, pooling_hidden_dim=64)


def whisper_backbone():
    model = models.WhisperBackbone(**SMALL, num_mels=20, max_encoder_sequence_length=32, max_decoder_sequence_length=16)
    model.compile(optimizer="adam", loss="mse")
    return model
