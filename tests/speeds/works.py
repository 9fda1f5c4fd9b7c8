"""Arithmetic and traffic of the models whose speed was published, traced once and kept in `works.json`:

python tests/speeds/works.py [--only WORD]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from planner_app.core.hardware.work import Kind, Multiplication, StepWork
from planner_app.core.model.setup import Jit, Precision, Setup, parse_optimizer
from planner_app.core.model.trace import Size, StepTrace
from planner_app.core.replay.memory import Memory
from planner_app.jobs.protocol import Trace
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.opening import check_model

HERE = Path(__file__).parent
KEPT = HERE / "works.json"
TARGET = "gpu:8.0"
PRECISIONS = ("float32", "mixed_float16")
NORMALISING = ("resnet50", "resnet152", "inception3")  # in a fused kernel unless XLA compiles them
COMPILED = (
    "resnet50", "resnet152", "inception3", "vgg16", "efficientnet_b0", "unet_medical", "bert_large_128",
    "bert_large_384", "bert_large_512", "efficientnet_b4", "bert_base_512", "bert_base_384",
)  # fmt: skip


def wanted() -> list[tuple[str, str, bool]]:
    """A model's function, the precision, and whether XLA compiles it."""
    names = [*((f"{name}_fused", False) for name in NORMALISING), ("vgg16", False)]
    names += [("resnet50", False)]  # what Keras 3 does without XLA: not published, and so not judged by
    names += [(name, True) for name in COMPILED]
    return [(name, precision, xla) for name, xla in names for precision in PRECISIONS]


def key(name: str, precision: str, xla: bool) -> str:
    return f"{name} {precision} {'xla' if xla else 'plain'}"


def packed(work: StepWork) -> dict[str, object]:
    def size(of: Size) -> list[int]:
        return [of.constant, of.slope, of.square] if of.square else [of.constant, of.slope]

    return {
        "multiplications": [
            [each.kind, each.count, size(each.flops), size(each.moved)] for each in work.multiplications
        ],
        "forward": size(work.forward),
        "moved": size(work.moved),
        "kernels": work.kernels,
        "gradient_bytes": work.gradient_bytes,
    }


def unpacked(kept: dict[str, object]) -> StepWork:
    return StepWork(
        tuple(
            Multiplication(Size(*flops), Size(*moved), count, Kind(kind))
            for kind, count, flops, moved in kept["multiplications"]
        ),
        Size(*kept["forward"]),
        Size(*kept["moved"]),
        kept["kernels"],
        kept["gradient_bytes"],
    )


def read() -> dict[str, StepWork]:
    return {name: unpacked(kept) for name, kept in json.loads(KEPT.read_text()).items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tests/speeds/works.py", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only models with this in their name")
    only = parser.parse_args().only
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    with WarmWorker() as worker:
        for name, precision, xla in wanted():
            if only not in name or (not only and key(name, precision, xla) in kept):
                continue
            optimizer = parse_optimizer("adam" if name.startswith("bert") else "sgd:momentum=0.9")
            jit = Jit.ON if xla else Jit.OFF
            setup = Setup(batch=8, precision=Precision(precision), optimizer=optimizer, jit=jit).step(TARGET)
            model = check_model(f"{HERE / 'models.py'}:{name}")
            work = Memory(worker.run(Trace(model=model, setup=setup), StepTrace), setup).work
            kept[key(name, precision, xla)] = packed(work)
            lines = (f"{json.dumps(each)}: {json.dumps(of)}" for each, of in sorted(kept.items()))
            KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            print(f"{key(name, precision, xla)}: {work.flops(1) / 1e9:.1f} Gflop, {work.kernels} kernels", flush=True)


if __name__ == "__main__":
    main()
