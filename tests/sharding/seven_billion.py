"""7 billion parameters over 4 and 8 GPUs, with adapters and without: what a first answer takes of time and memory.
Each has to come in under 10 minutes and 3 GiB.

python -m tests.sharding.seven_billion           # what is missing in seven_billion.json
python -m tests.sharding.seven_billion --again   # all four

Memory is the sum over the command and all its children, looked at twice a second; pages that several of them share
are counted for each.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "seven_billion.json"
A100, L4 = "NVIDIA A100 SXM4 80GB", "NVIDIA L4"
TEXT = ("--set", "token_ids=2048", "--set", "padding_mask=2048")
CASES = {
    "LoRA, 4 x L4": ("--mesh", "1x4", "--batch", "1", "--lora", "8", "--device", L4),
    "LoRA, 8 x L4": ("--mesh", "2x4", "--batch", "2", "--lora", "8", "--device", L4),
    "full, 4 x A100": ("--mesh", "1x4", "--batch", "1", "--device", A100),
    "full, 8 x A100": ("--mesh", "2x4", "--layout", "fsdp", "--batch", "2", "--device", A100),
}
MOST_SECONDS, MOST_BYTES = 600.0, 3 << 30
PAUSE_SECONDS = 0.5


def answered(options: tuple[str, ...]) -> dict[str, object]:
    """What the command says in a folder of its own, where nothing is known yet."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PLIMSOLL_CACHE": folder, "XDG_CACHE_HOME": folder}
        command = [
            str(Path(sys.executable).parent / "plimsoll"), "estimate", f"{HERE / 'sharded_models.py'}:llama_7b",
            "--backend", "jax", "--precision", "bfloat16", "--exact", "--json", *TEXT, *options,
        ]  # fmt: skip
        started, before, most = time.monotonic(), os.times(), 0
        said = Path(folder) / "answer.json"
        with said.open("w") as file, subprocess.Popen(command, stdout=file, env=environment) as child:
            while child.poll() is None:
                most = max(most, _tree_bytes(child.pid))
                time.sleep(PAUSE_SECONDS)
        after = os.times()
        if child.returncode not in (0, 3):
            raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
        answer = json.loads(said.read_text())
        return {
            "seconds": round(time.monotonic() - started),
            "cpu_seconds": round(after.children_user + after.children_system - _cpu(before)),
            "memory_bytes": most,
            **{name: answer[name] for name in ("peak_bytes", "state_bytes", "source", "verdict")},
        }


def _cpu(times: os.times_result) -> float:
    return times.children_user + times.children_system


def _tree_bytes(root: int) -> int:
    """What a process and its descendants have in memory."""
    parents, sizes = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(folder.name)], sizes[int(folder.name)] = int(fields[1]), int(fields[21])
    found, page = 0, os.sysconf("SC_PAGE_SIZE")
    for process in parents:
        above = process
        while above not in (0, root):
            above = parents.get(above, 0)
        found += sizes[process] * page if above == root else 0
    return found


def main() -> int:
    kept = {} if "--again" in sys.argv or not RESULTS.exists() else json.loads(RESULTS.read_text())
    for name, options in CASES.items():
        if name not in kept:
            kept[name] = answered(options)
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        row = kept[name]
        print(
            f"{name}: {row['seconds']} s ({row['cpu_seconds']} s of CPU time), {row['memory_bytes'] / 2**30:.2f} GiB; "
            f"{row['peak_bytes'] / 2**30:.1f} GiB on each GPU, {row['verdict']}"
        )
    within = [row["seconds"] <= MOST_SECONDS and row["memory_bytes"] <= MOST_BYTES for row in kept.values()]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
