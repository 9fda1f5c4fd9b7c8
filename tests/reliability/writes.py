"""Kills the app at random moments while it writes, and lets every call of every write fail:

    python tests/reliability/writes.py --count 50 --seed 1

After each kill every file is whole, holds what was last said to be written or what was being written, and the workers
are gone. What was half written goes when the app is started again.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "files"))

import psutil
from faults import compiled, wrong
from kept import keep_result
from written import KINDS, half_written

from planner_app.gui.state.settings import SettingsFile

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
COUNT = 50
DEMO = ROOT / "planner_app" / "data" / "demo.keras"
LONGEST_SECONDS = 3.0  # of writing before the kill
GONE_SECONDS = 20.0  # for the workers of a killed app
ENDS = {"chart.png": b"IEND\xaeB`\x82", "chart.svg": b"</svg>\n"}


@dataclass(frozen=True, slots=True)
class Killed:
    """One kill. `written` files were said to be there before it; `half` lay about after it."""

    seconds: float
    written: int
    half: int
    bad: tuple[str, ...]


def kill(folder: Path, number: int, seconds: float) -> tuple[Killed, int]:
    """Start the app, let it write, kill it, look; and the highest number that was written."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": _made(folder / "temp"),
        **{f"PLIMSOLL_{name}": _made(folder / name.lower()) for name in ("SETTINGS", "CACHE", "CALIBRATIONS")},
    }
    command = [sys.executable, str(HERE / "writing_app.py"), _made(folder / "files"), str(number), str(DEMO)]
    errors = folder / "errors.txt"
    with (
        errors.open("w") as file,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=file, text=True) as app,
    ):
        assert app.stdout is not None
        lines = [app.stdout.readline()]
        time.sleep(seconds)
        workers = psutil.Process(app.pid).children(recursive=True)
        app.send_signal(signal.SIGKILL)
        lines += app.stdout.read().splitlines()
    said = {name: int(last) for name, _, last in (line.strip().rpartition(" ") for line in lines) if last.isdecimal()}
    bad = [line for line in lines if line.strip() and not line.strip().rpartition(" ")[2].isdecimal()]
    bad += ["a traceback: " + errors.read_text()[-300:]] if "Traceback" in errors.read_text() else []
    bad += _wrong(folder / "files", said)
    bad += _recent(folder / "settings", said.get("window"))
    _, alive = psutil.wait_procs(workers, GONE_SECONDS)
    bad += [f"a worker is left: {each}" for each in alive]
    found = Killed(seconds, len(lines), len(half_written(folder)), tuple(bad))
    return found, max(said.values(), default=number) + 1


def _wrong(folder: Path, said: dict[str, int]) -> Iterator[str]:
    for name, kind in KINDS.items():
        try:
            found = kind.read(folder)
        except Exception as error:
            yield f"{name} can't be read: {error!r}"
            continue
        if name in said and found not in (said[name], said[name] + 1):
            yield f"{name} holds {found}, {said[name]} was written last"
    for name, end in ENDS.items():
        if (file := folder / name).exists() and not file.read_bytes().endswith(end):
            yield f"{name} is half a picture"


def _recent(folder: Path, number: int | None) -> Iterator[str]:
    settings, warning = SettingsFile(folder / "settings.json").read()
    if warning:
        yield warning
    elif number is not None and settings.recent[:1] not in [(f"/models/{n}.keras",) for n in (number, number + 1)]:
        yield f"recent files are {settings.recent[:2]}, {number} was written last"


def _made(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    return str(folder)


def run(count: int, seed: int, folder: Path, tell: Callable[[str], object]) -> list[Killed]:
    dice, number, found = random.Random(seed), 1, []
    for index in range(count):
        killed, number = kill(folder, number, dice.uniform(0, LONGEST_SECONDS))
        found.append(killed)
        said = "; ".join(killed.bad) or "all whole"
        tell(f"{index + 1:4} after {killed.seconds:4.2f} s and {killed.written:4} files, {killed.half} half: {said}")
    return found


def left_at_the_end(folder: Path, number: int) -> list[str]:
    """One start more, and nothing half written is left."""
    for kind in KINDS.values():
        kind.write(folder / "files", number)
    file = SettingsFile(folder / "settings" / "settings.json")
    file.write(file.read()[0])
    return half_written(folder)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = run(options.count, options.seed, folder, lambda line: print(line, flush=True))
        bad = [each for killed in found for each in killed.bad]
        bad += [f"left half written: {each}" for each in left_at_the_end(folder, 1_000_000)]
        library = compiled(folder)
        faults, cases = wrong(library, folder / "faults", "all")
        bad += faults
    files, half = sum(each.written for each in found), sum(each.half for each in found)
    detail = (
        f"{files} files of {len(KINDS) + 3} kinds written; {half} lay half written after a kill and were tidied up. "
        f"And {cases} faults (no space, no right, I/O error, kill), one at each call of each write"
    )
    print("\n".join(bad) or f"All whole. {detail}")
    if options.count < COUNT:
        return 1 if bad else 0
    keep_result(
        "writes",
        "The app killed with SIGKILL at a random moment while it writes: no file lost or half written",
        len(found),
        len(bad),
        detail,
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
