"""Results of `make equality` and `make disturbances`, written case by case, so that an interrupted run goes on.

Kept in results/NAME.json. A case is run again when what it tests has changed; until then its old result stays.
"""

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE / "results"
TESTED = HERE.parents[1] / "planner_app" / "train"


class CaseResults:
    def __init__(self, name: str, *programs: str, folder: Path = FOLDER) -> None:
        self._name, self._folder = name, folder
        sources = [*sorted(TESTED.rglob("*.py")), *(HERE / program for program in programs)]
        self._tested = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]

    def left(self, cases: list[str]) -> list[str]:
        """Those of which there is no result of what is tested now."""
        kept = _kept(self._name, self._folder)
        return [case for case in cases if kept.get(case, {}).get("tested") != self._tested]

    def add(self, case: str, result: Any) -> None:
        kept = _kept(self._name, self._folder)
        kept[case] = {"tested": self._tested, "date": date.today().isoformat(), "result": result}
        self._folder.mkdir(exist_ok=True)
        (self._folder / f"{self._name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def results(name: str, cases: list[str], folder: Path = FOLDER) -> dict[str, Any]:
    """What is kept, in the order of the cases."""
    kept = _kept(name, folder)
    return {case: kept[case]["result"] for case in cases if case in kept}


def oldest(name: str, cases: list[str], folder: Path = FOLDER) -> str:
    """The day since which all of them were run."""
    kept = _kept(name, folder)
    return min(kept[case]["date"] for case in cases if case in kept)


def _kept(name: str, folder: Path) -> dict[str, Any]:
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
