"""The gallery's list: every function of its modules that makes a model, and the sizes that KerasHub leaves open."""

import ast
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
MODULES = ("trainers", "particular", "tuned", "hub")
BATCH = 16
TEXT = {"token_ids": (32,), "padding_mask": (32,)}
SEGMENTS = TEXT | {"segment_ids": (32,)}
PAIRS = {f"{part}_{name}": (16,) for part in ("encoder", "decoder") for name in TEXT}
SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "bert_classifier": SEGMENTS,
    "albert_classifier": SEGMENTS,
    "roberta_masked_lm": TEXT | {"mask_positions": (5,)},
    "distil_bert_classifier": TEXT,
    "deberta_classifier": TEXT,
    "electra_backbone": SEGMENTS,
    "f_net_classifier": {"token_ids": (32,), "segment_ids": (32,)},
    "t5_backbone": PAIRS,
    "bart_seq2seq": PAIRS,
    "whisper_backbone": {"encoder_features": (32, 20), "decoder_token_ids": (16,), "decoder_padding_mask": (16,)},
    **dict.fromkeys(
        "gpt2_lm opt_lm bloom_lm gemma_lm gemma_lora llama_lm mistral_lm qwen_lm falcon_lm neox_lm".split(), TEXT
    ),
}


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    file: Path
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def target(self) -> str:
        return f"{self.file}:{self.name}"


def entries() -> list[Entry]:
    return [
        Entry(name, HERE / f"{module}.py", tuple(sorted(SIZES.get(name, {}).items())))
        for module in MODULES
        for name in _functions(HERE / f"{module}.py")
    ]


def _functions(file: Path) -> list[str]:
    return [
        node.name
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.args.args
    ]
