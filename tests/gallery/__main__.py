"""`make gallery`: every model of the gallery opened by its function, as a .keras file and live, and its estimate held
against real steps and against ordinary `fit`; the table goes into the README.

`python -m tests.gallery [NAME ...]` takes some of them and writes nothing, `--functions` opens them by function alone,
`--anew` measures what stands in results.json too. Interrupted, it goes on where it was. KerasHub's need keras-hub.
"""

import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from planner_app.core.model.description import CheckedModel
from planner_app.errors import PlannerError
from planner_app.files.writing import write_atomically
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.opening import check_model
from tests.gallery.entries import Entry, entries
from tests.gallery.held import Held, Measured, as_results, estimated, measured, read_results, source_of
from tests.gallery.report import line, markdown, sentences, write_readme

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.json"
KEPT = ROOT / "build" / "gallery"


def main() -> int:
    options = _options()
    chosen = [each for each in entries() if not options.names or {each.name, each.file.stem} & set(options.names)]
    known = {} if options.anew else read_results(RESULTS)
    held: list[Held] = []
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, WarmWorker() as worker:
        if not options.functions:
            _save(chosen, folder)
        for entry in chosen:
            try:
                held.append(_held(entry, Path(folder), worker, known))
                print(line(held[-1]), flush=True)
            except PlannerError as error:
                failed[entry.name] = str(error)
                print(f"{entry.name}: {error}", flush=True)
    if held:
        print(sentences(held, _versions()))
    if failed:
        print(f"{len(failed)} could not be held: {', '.join(failed)}", file=sys.stderr)
        return 1
    if len(chosen) == len(entries()) and not options.functions:
        write_atomically(RESULTS, as_results(_versions(), held).encode())
        write_readme(ROOT / "README.md", markdown(held, _versions()))
    return 0


def _versions() -> str:
    libraries = {"TensorFlow": "tensorflow", "Keras": "keras", "KerasHub": "keras-hub"}
    return ", ".join(
        f"{title} {version(name)}" for title, name in libraries.items() if find_spec(name.replace("-", "_"))
    )


def _options() -> Namespace:
    parser = ArgumentParser("gallery", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--anew", action="store_true")
    return parser.parse_args()


def _save(chosen: list[Entry], folder: str) -> None:
    names = [entry.name for entry in chosen]
    subprocess.run([sys.executable, "-m", "tests.gallery.save", folder, *names], check=True, cwd=ROOT)


def _held(entry: Entry, folder: Path, worker: WarmWorker, known: Mapping[str, Measured]) -> Held:
    model = check_model(entry.target)
    told = estimated(entry, model, worker)
    others = {way: estimated(entry, each, worker).live_bytes for way, each in _other_ways(entry, folder).items()}
    refused = folder / f"{entry.name}.refused"
    return Held(
        entry.name,
        told,
        _measured(entry, model, known),
        others,
        refused.read_text(encoding="utf-8") if refused.exists() else "",
    )


def _other_ways(entry: Entry, folder: Path) -> dict[str, CheckedModel]:
    file, live = folder / f"{entry.name}.keras", folder / f"{entry.name}.live"
    if not live.exists():
        return {}
    hub = entry.file.stem == "hub"
    opened = check_model(str(file), None if hub else str(entry.file), trust=("keras_hub",) if hub else ())
    return {"file": opened, "live": msgspec.json.decode(live.read_bytes(), type=CheckedModel)}


def _measured(entry: Entry, model: CheckedModel, known: Mapping[str, Measured]) -> Measured:
    source = source_of(entry)
    written = known.get(entry.name)
    if written is not None and written.source == source:
        return written
    kept = KEPT / f"{entry.name}-{source}.json"
    if not kept.exists():
        found = measured(entry, model)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, msgspec.json.encode(found))
    return msgspec.json.decode(kept.read_bytes(), type=Measured)


if __name__ == "__main__":
    sys.exit(main())
