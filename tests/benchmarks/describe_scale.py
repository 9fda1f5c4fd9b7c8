"""How the cost of describing grows with layers: transformers of width 8192 with 10, 20, 40 and 80 blocks.

    python tests/benchmarks/describe_scale.py

Each is described through real children, from a configuration without weights. What a further block
costs should stay the same from one line to the next: then time and memory grow linearly.
"""

import json
import resource
import tempfile
import zipfile
from pathlib import Path

from planner_app.core.model.description import CheckedModel, ModelDescription
from planner_app.jobs.job import Fresh, Job, result_of
from planner_app.jobs.protocol import Describe
from planner_app.planner.opening import check_model, describe_limits

BLOCKS = (10, 20, 40, 80)
WIDTH, HEADS, VOCABULARY = 8192, 64, 32_000


def layer(class_name: str, name: str, *inputs: str, **options: object) -> dict[str, object]:
    tensors = [
        {"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32", "keras_history": [i, 0, 0]}}
        for i in inputs
    ]
    args = [tensors] if class_name == "Add" else tensors
    return {
        "module": "keras.layers",
        "class_name": class_name,
        "config": {"name": name, "trainable": True, "dtype": "float32", **options},
        "registered_name": None,
        "name": name,
        "inbound_nodes": [{"args": args, "kwargs": {}}] if inputs else [],
    }


def transformer(blocks: int) -> dict[str, object]:
    tokens = layer("InputLayer", "tokens")
    tokens["config"] = {"name": "tokens", "batch_shape": [None, None], "dtype": "int32"}
    layers = [tokens, layer("Embedding", "embed", "tokens", input_dim=VOCABULARY, output_dim=WIDTH)]
    x = "embed"
    for n in range(blocks):
        layers += [
            layer("LayerNormalization", f"norm_a{n}", x),
            layer(
                "MultiHeadAttention", f"attend{n}", f"norm_a{n}", f"norm_a{n}", num_heads=HEADS, key_dim=WIDTH // HEADS
            ),
            layer("Add", f"add_a{n}", x, f"attend{n}"),
            layer("LayerNormalization", f"norm_b{n}", f"add_a{n}"),
            layer("Dense", f"up{n}", f"norm_b{n}", units=4 * WIDTH, activation="gelu"),
            layer("Dense", f"down{n}", f"up{n}", units=WIDTH),
            layer("Add", f"add_b{n}", f"add_a{n}", f"down{n}"),
        ]
        x = f"add_b{n}"
    layers.append(layer("Dense", "logits", x, units=VOCABULARY))
    config = {"name": f"transformer_{blocks}", "trainable": True, "layers": layers}
    config |= {"input_layers": [["tokens", 0, 0]], "output_layers": [["logits", 0, 0]]}
    return {"module": "keras.src.models.functional", "class_name": "Functional", "config": config}


class Watched(Fresh):
    """Remembers its child, to ask how much memory it held."""

    def take(self, *arguments):
        self.child, used = super().take(*arguments)
        return self.child, used


def measured(checked: CheckedModel) -> tuple[ModelDescription, float, int]:
    """The description, the processor seconds and the most memory its child took."""
    before, keeper = spent(), Watched()
    job = Job(Describe(model=checked), describe_limits(checked), keeper=keeper)
    description = result_of(job, ModelDescription)
    return description, spent() - before, keeper.child.memory.peak_bytes


def spent() -> float:
    """Of all children so far. Not time by the clock: others may use the machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    print(f"{'blocks':>6} {'parameters':>12} {'CPU s':>6} {'peak MiB':>9} {'CPU s a further block':>22} {'MiB':>6}")
    first = None
    with tempfile.TemporaryDirectory() as folder:
        for blocks in BLOCKS:
            path = Path(folder, f"{blocks}.keras")
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("config.json", json.dumps(transformer(blocks)))
            description, seconds, peak = measured(check_model(str(path)))
            line = f"{blocks:>6} {description.params / 1e9:>10.1f} G {seconds:>6.1f} {peak / 2**20:>9.0f}"
            first = first or (blocks, seconds, peak)
            if blocks > first[0]:
                more = blocks - first[0]
                line += f" {(seconds - first[1]) / more:>22.3f} {(peak - first[2]) / 2**20 / more:>6.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
