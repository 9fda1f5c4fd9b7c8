"""A plan trained by Ray Train on two workers of a real cluster on this machine, with accumulation, held against
`model.fit`: undisturbed, and with memory that runs out on one of them. The second half of `make fleet`.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/reliability"), str(ROOT / "tests/train")]

import numpy as np  # noqa: E402
import ray  # noqa: E402
from kept import keep_result  # noqa: E402
from planning import cpu_entry, plan  # noqa: E402
from ray.train import RunConfig  # noqa: E402
from started import StartedCluster  # noqa: E402

from planner_app.files.plans import write_plan  # noqa: E402
from planner_app.train import load_plan  # noqa: E402

SCRIPT = ROOT / "tests/fleet/ray_script.py"
LIMIT = {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "60"}
BATCH = 1024
STEPS = (2, 8, 16)  # accumulation of each rung
CLOSE = 1e-4
CASES = {"undisturbed": ((), ["finished"]), "out of memory on rank 1": (("fill", "1"), ["memory", "finished"])}


def weights(path: Path) -> list[np.ndarray]:
    with np.load(path) as saved:
        return [saved[key] for key in saved.files]


def far(left: list[np.ndarray], right: list[np.ndarray]) -> float:
    return max(float(np.abs(a.astype("float64") - b).max()) for a, b in zip(left, right, strict=True))


def trained(folder: Path, keras: list[np.ndarray], name: str) -> tuple[bool, str]:
    """Whether it went as it should, and how."""
    arguments, ends = CASES[name]
    place = folder / name.replace(" ", "-")
    place.mkdir()
    file = place / "plan.json"
    write_plan(file, plan(BATCH, cpu_entry(BATCH, 2, *STEPS), hosts=("worker-0:2222", "worker-1:2222")))
    trainer = load_plan(file).ray_trainer(
        SCRIPT,
        str(place / "weights"),
        *arguments,
        folder=place,
        run_config=RunConfig(name=place.name, storage_path=str(folder / "ray")),
    )
    began = time.monotonic()
    found = trainer.fit().return_value
    off = [far(keras, weights(place / f"weights{rank}.npz")) for rank in (0, 1)]
    apart = far(weights(place / "weights0.npz"), weights(place / "weights1.npz"))
    good = max(off) < CLOSE and found["ends"] == ends and found["rung"] == len(ends) - 1
    said = f"{name}: rung {found['rung']}, {' then '.join(found['ends'])}, weights differ by {max(off):.1e} from Keras"
    return good, f"{said} and {apart:.1e} between ranks ({time.monotonic() - began:.0f} s)"


def main() -> int:
    os.environ.update(LIMIT)  # before the cluster starts: its nodes inherit it
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, SCRIPT, folder / "keras"], check=True, env=environment)
        keras = weights(folder / "keras.npz")
        started = StartedCluster(("one", "two", "three"))
        ray.init(address=started.address, log_to_driver=False)
        results = [trained(folder, keras, name) for name in CASES]
        ray.shutdown()
        started.close()
    for _, said in results:
        sys.stdout.write(said + "\n")
    bad = sum(1 for good, _ in results if not good)
    detail = f"steps of accumulation {STEPS[0]}, then {STEPS[1]}; " + "; ".join(said for _, said in results)
    keep_result("ray_train", "A plan trained by Ray Train on two workers", len(results), bad, detail)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
