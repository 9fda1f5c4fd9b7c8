"""`python tests/fuzz/fuzz_atheris.py TARGET [-max_total_time=60 ...]`: inputs that lead into code not seen before.

Needs atheris (pip install atheris). Inputs that went wrong are kept in build/fuzz; those that led somewhere, beside.
"""

import sys
from pathlib import Path
from random import Random

import atheris

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]
BUILD = HERE.parents[1] / "build" / "fuzz"

with atheris.instrument_imports(include=["planner_app", "fuzz_targets", "zipfile", "json"]):
    from fuzz_targets import target

    module = target(sys.argv[1])


def change(data: bytes, most_bytes: int, seed: int) -> bytes:
    """Half of the time as the target's own changes go, which keep a file's form."""
    random = Random(seed)
    if random.random() < 0.5:
        return bytes(atheris.Mutate(data, most_bytes))
    return bytes(module.mutate(data, random, SEEDS)[:most_bytes])


SEEDS = module.seeds()
places = BUILD / f"corpus-{sys.argv[1]}"
places.mkdir(parents=True, exist_ok=True)
for number, seed in enumerate(SEEDS):
    (places / f"seed-{number}").write_bytes(seed)
options = [sys.argv[0], f"-artifact_prefix={BUILD}/atheris-{sys.argv[1]}-", "-rss_limit_mb=1024", "-timeout=15"]
atheris.Setup([*options, *sys.argv[2:], str(places)], lambda data: module.run(bytes(data)), custom_mutator=change)
atheris.Fuzz()
