"""`python tests/fuzz`: minutes of changed inputs for everything that reads what others wrote.

--seconds N     for each target (default 20)
--count N       inputs of each target, however long that takes; or NAME=N NAME=N ...
--seed N        other inputs (default: the day)
--atheris N     seconds for each target of inputs led by coverage, with atheris
--result FILE   write the counts, for the README's table
"""

import argparse
import re
import subprocess
import sys
import time
from datetime import date
from math import inf
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import fuzz_run  # noqa: E402
import msgspec  # noqa: E402
from fuzz_targets import MODELS, NAMES, target  # noqa: E402

BUILD = HERE.parents[1] / "build" / "fuzz"
ENDLESS = 10_000_000


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tests/fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--count", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=date.today().toordinal())
    parser.add_argument("--atheris", type=int, default=0)
    parser.add_argument("--result", type=Path)
    options = parser.parse_args()
    counts = dict(each.split("=") for each in options.count if "=" in each)
    usual = next((each for each in options.count if "=" not in each), None)
    tallies = []
    print(f"seed {options.seed}; finds go to {BUILD}")
    for name in options.targets or counts or NAMES:
        count = int(counts.get(name, usual or 0))
        until = inf if count else time.monotonic() + options.seconds
        tally = fuzz_run.fuzzed(name, count or ENDLESS, options.seed, BUILD, until=until)
        tallies.append(tally)
        print(line(tally), flush=True)
    for name in options.targets or counts or NAMES if options.atheris else ():
        if name not in MODELS:  # libhdf5 may hang and TensorFlow takes its time
            print(f"{name:18}{led_by_coverage(name, options.atheris)}", flush=True)
    bad = sum(tally.outcomes[fuzz_run.BAD] for tally in tallies)
    print(f"{sum(tally.count for tally in tallies):,} inputs, {bad} bad")
    if options.result:
        write_result(options.result, tallies)
    return 1 if bad else 0


def led_by_coverage(name: str, seconds: int) -> str:
    command = [sys.executable, str(HERE / "fuzz_atheris.py"), name, f"-max_total_time={seconds}", "-verbosity=0"]
    done = subprocess.run([*command, "-print_final_stats=1"], capture_output=True, text=True, check=False)
    if "No module named 'atheris'" in done.stderr:
        return "no atheris here: pip install atheris"
    runs = re.search(r"number_of_executed_units: *(\d+)", done.stderr)
    if done.returncode or runs is None:
        return f"went wrong in atheris:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return f"{int(runs[1]):>7} inputs led by coverage, none bad"


def line(tally: fuzz_run.Tally) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in tally.outcomes.most_common())
    return (
        f"{tally.name:18}{tally.count:>7} inputs {tally.count / max(tally.seconds, 0.01):>5.0f}/s, slowest "
        f"{tally.slowest[0]:.2f} s, largest {tally.largest_bytes >> 20} MiB: {outcomes}"
    )


def write_result(path: Path, tallies: list[fuzz_run.Tally]) -> None:
    kinds: dict[str, int] = {}
    for tally in tallies:
        kind = target(tally.name).KIND
        kinds[kind] = kinds.get(kind, 0) + tally.count
    stopped = sum(tally.outcomes[fuzz_run.STOPPED] for tally in tallies)
    slowest, largest = max(tally.slowest[0] for tally in tallies), max(tally.largest_bytes for tally in tallies)
    read = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    told = {
        "name": "Changed model files, plans, logs and other files, read by real workers",
        "count": sum(tally.count for tally in tallies),
        "bad": sum(tally.outcomes[fuzz_run.BAD] for tally in tallies),
        "detail": f"{read}; slowest {slowest:.0f} s, largest worker {largest >> 20} MiB; {stopped} stopped at the "
        "reader's limit with a sentence",
        "date": date.today().isoformat(),
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n")


if __name__ == "__main__":
    raise SystemExit(main())
