"""Hold estimates against figures that others have published from real GPUs.

    python tests/published [--only WORD] [--summary]

`cases.csv` says what each figure means: *live* (bytes requested by tensors), *in use* (the allocator's peak, cuDNN's
workspace and the first step included), *device* (what nvidia-smi shows), *limit* (an allocator's limit that was
enough), or whether a batch *fits*. Every model is rebuilt with today's Keras, with the optimizer of the figure (BERTs
clip the norm of all gradients) and mean squared error, and estimated without XLA as those versions ran it. What can't
be rebuilt says so in *unmatched*, and is listed but not counted; so is what had XLA cluster its operations (*xla*, as
NVIDIA's scripts do by default): that lies between a step of ours with XLA and one without. Results are kept in
`results.json`, model by model.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

from planner_app.core.estimate.need import Need
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import Device, custom_device
from planner_app.core.hardware.runtime import outside_bytes
from planner_app.core.model.setup import OWN, Jit, Precision, Setup, parse_optimizer
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.memory import Memory
from planner_app.jobs.protocol import Trace
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.opening import check_model

HERE = Path(__file__).parent
CASES, RESULTS = HERE / "cases.csv", HERE / "results.json"
CAPABILITIES = (
    ("K80", 3, 7), ("Titan X", 5, 2), ("GTX 9", 5, 2), ("GTX 10", 6, 1), ("P40", 6, 1), ("V100", 7, 0),
    ("T4", 7, 5), ("RTX 20", 7, 5), ("A100", 8, 0), ("RTX 30", 8, 6), ("A6000", 8, 6),
)  # fmt: skip
THEN = ("bert_adam", "bert_lamb")  # optimizers that `then.py` has and Keras has not
Step = tuple[str, int, str, str, bool]  # model, side, precision, optimizer, whether there are several replicas
CLUSTERED = "XLA clusters operations by itself: another program than ours"
TARGET = "gpu:7.0"  # training in float32 has the same graph on every GPU: pictures with the channels first


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    model: str
    side: int
    batch: int
    precision: str
    optimizer: str
    gpus: int
    gpu: str
    memory_gb: float
    kind: str
    bytes: int
    source: str
    version: str
    unmatched: str
    note: str

    @property
    def step(self) -> Step:
        return self.model, self.side, self.precision, self.optimizer, self.gpus > 1

    @property
    def device(self) -> Device:
        found = next(((major, minor) for name, major, minor in CAPABILITIES if name in self.gpu), (7, 0))
        return custom_device(self.gpu, int(self.memory_gb * (1 << 30)), found)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Attributes:
    right: The published answer, or *tight* where it is about fitting; inside the band where it is a number.
    unmatched: Why the figure is of another program than the one that can be rebuilt; it is not counted then.
    note: What is known about the figure; of a miss, its reason.
    """

    id: str
    case: str
    kind: str
    published_bytes: int
    expected_bytes: int
    low_bytes: int
    high_bytes: int
    verdict: str
    right: bool
    unmatched: str = ""
    note: str = ""


def read_cases() -> list[Case]:
    with CASES.open(newline="") as file:
        return [
            Case(
                row["id"], row["model"], int(row["side"]), int(row["batch"]), row["precision"], row["optimizer"],
                int(row["gpus"]), row["gpu"], float(row["memory_gb"] or 0), row["kind"], int(row["bytes"]),
                row["source"], row["version"],
                row["unmatched"] or (CLUSTERED if row["xla"] == "yes" else ""), row["note"],
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip


def judged(case: Case, memory: Memory) -> Outcome:
    point = memory.point(case.batch)
    verdict = ""
    low, high, expected = point.low_bytes, point.high_bytes, point.in_use_bytes
    if case.kind in ("fits", "does not fit"):
        found = Need(memory, case.device).verdict(case.batch)
        verdict = str(found or "")
        right = found is Verdict.TIGHT or verdict == case.kind
    elif case.kind == "limit":
        found = Need(memory, case.device, limit_bytes=case.bytes).verdict(case.batch)
        verdict = str(found or "")
        right = found is not Verdict.DOES_NOT_FIT
    else:
        if case.kind == "live":
            expected = point.live_bytes
            low, high = expected * low // point.in_use_bytes, expected * high // point.in_use_bytes
        elif case.kind == "device":
            outside = outside_bytes(case.device)
            low, high = low + outside.low_bytes, high + outside.high_bytes
            expected += outside.expected_bytes
        right = low <= case.bytes <= high
    name = f"{case.model} {case.side} batch {case.batch} {case.precision} on {case.gpu} ({case.version})"
    return Outcome(case.id, name, case.kind, case.bytes, expected, low, high, verdict, right, case.unmatched, case.note)


def traced(step: Step, folder: Path, worker: WarmWorker) -> Memory:
    model, side, precision, optimizer, replicated = step
    own = optimizer in THEN
    file = folder / f"{model}-{side}-{optimizer if own else ''}.json"
    if not file.exists():
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        command = [sys.executable, str(HERE / "models.py"), str(file), model, str(side), optimizer]
        subprocess.run(command, check=True, capture_output=True, env=environment, timeout=900)
    gpus = 2 if replicated else 1
    setup = Setup(
        batch=8 * gpus,
        precision=Precision(precision),
        optimizer=OWN if own else parse_optimizer(optimizer),
        jit=Jit.OFF,
        gpus=gpus,
    ).step(TARGET)
    return Memory(worker.run(Trace(model=check_model(str(file), str(HERE / "then.py")), setup=setup), StepTrace), setup)


def summary(outcomes: list[dict]) -> str:
    lines = []
    for kind in ("fits", "does not fit", "limit", "in use", "live", "device"):
        of_kind = [each for each in outcomes if each["kind"] == kind and not each["unmatched"]]
        if of_kind:
            right = sum(each["right"] for each in of_kind)
            sure = sum(each["verdict"] == kind for each in of_kind)
            said = f" ({sure} without tight)" if kind in ("fits", "does not fit") else ""
            lines.append(f"{kind}: {right} of {len(of_kind)} right{said}")
    lines += [f"not counted: {each['case']}: {each['unmatched']}" for each in outcomes if each["unmatched"]]
    wrong = [each for each in outcomes if not each["right"] and not each["unmatched"]]
    lines += [f"wrong: {each['case']}: {each['note'] or 'no reason known'}" for each in wrong]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/published", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only steps with this in them, as adamw")
    parser.add_argument("--summary", action="store_true", help="estimate nothing: what the last run came to")
    given = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if not given.summary:
        by_step: dict[Step, list[Case]] = defaultdict(list)
        for case in read_cases():
            if given.only in " ".join(map(str, case.step)):
                by_step[case.step].append(case)
        with WarmWorker() as worker, tempfile.TemporaryDirectory() as folder:
            for step, cases in by_step.items():
                memory = traced(step, Path(folder), worker)
                outcomes = [asdict(judged(case, memory)) for case in cases]
                for each in outcomes:
                    print(f"{'right' if each['right'] else 'WRONG':6}{each['kind']:13}{each['case']}", flush=True)
                names = {each["case"] + each["kind"] for each in outcomes}
                kept = [each for each in kept if each["case"] + each["kind"] not in names] + outcomes
                RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    print(summary(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
