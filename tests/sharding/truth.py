"""What every device holds after a real sharded fit, beside what we say it will: to the byte.

python -m tests.sharding.truth            # what is missing in results.json; kept as it comes
python -m tests.sharding.truth --again    # all of it
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from planner_app.core.model.setup import Backend, Setup
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import Mesh
from planner_app.jobs.job import run
from planner_app.jobs.protocol import ShardedState
from planner_app.planner.opening import check_model

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
MESHES = (Mesh(1, 4), Mesh(2, 2), Mesh(4, 1))
LORA_RANK = 4
SECONDS = 600
CASES = (
    ("dense", 0), ("dense", LORA_RANK), ("convolutional", 0), ("convolutional", LORA_RANK), ("transformer", 0),
    ("transformer", LORA_RANK), ("gemma", 0), ("gemma", LORA_RANK), ("llama", 0), ("llama", LORA_RANK),
)  # fmt: skip
TEXT = (("token_ids", (16,)), ("padding_mask", (16,)))


@dataclass(frozen=True, slots=True)
class Compared:
    model: str
    lora: int
    mesh: str
    layout: str
    said_bytes: int
    held_bytes: tuple[int, ...]

    @property
    def agrees(self) -> bool:
        return len(self.held_bytes) == 4 and set(self.held_bytes) == {self.said_bytes}


def state_of(model: str, lora: int) -> ModelState:
    checked = check_model(f"{HERE / 'sharded_models.py'}:{model}")
    sizes = TEXT if model in ("gemma", "llama") else ()
    setup = Setup(batch=8, backend=Backend.JAX, lora=str(lora) if lora else "", sizes=sizes)
    return run(ShardedState(model=checked, setup=setup.step("gpu:8.0")), ModelState)


def compared(model: str, lora: int, meshes: tuple[Mesh, ...] = MESHES) -> Iterator[Compared]:
    state = state_of(model, lora)
    names = [LayoutName.AUTO, LayoutName.FSDP, *([LayoutName.OWN] if state.own is not None else [])]
    placements = [state.on(Mesh(4), Layout(LayoutName.DATA))]
    placements += [state.on(mesh, Layout(name)) for mesh in meshes for name in names]
    cases = [
        {
            "mesh": [placed.mesh.data, placed.mesh.model],
            "rules": None
            if placed.layout.name is LayoutName.DATA
            else {rule.pattern: rule.axes for rule in placed.layout.rules},
        }
        for placed in placements
    ]
    held = _fit({"model": model, "lora": lora, "cases": cases})
    for placed, on_devices in zip(placements, held, strict=True):
        yield Compared(model, lora, str(placed.mesh), str(placed.layout), placed.device_bytes, tuple(on_devices))


def _fit(asked: dict) -> list[list[int]]:
    """In a Python of its own: how many devices are simulated is said before JAX is imported."""
    done = subprocess.run(
        [sys.executable, str(HERE / "real_fit.py")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> int:
    kept = [] if "--again" in sys.argv or not RESULTS.exists() else json.loads(RESULTS.read_text())
    named = {tuple(argument.split(":")) for argument in sys.argv[1:] if ":" in argument}
    kept = [row for row in kept if (row["model"], str(row["lora"])) not in named]
    done = {(row["model"], row["lora"]) for row in kept}
    for model, lora in CASES:
        if (model, lora) in done or (named and (model, str(lora)) not in named):
            continue
        rows = list(compared(model, lora))
        kept += [asdict(row) | {"agrees": row.agrees} for row in rows]
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        print(f"{model} lora={lora}: {sum(row.agrees for row in rows)} of {len(rows)} agree to the byte")
    print(f"{sum(row['agrees'] for row in kept)} of {len(kept)} agree")
    return 0 if all(row["agrees"] for row in kept) else 1


if __name__ == "__main__":
    sys.exit(main())
