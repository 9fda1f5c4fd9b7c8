"""Results of long runs for the README's table: results/NAME.json."""

import json
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).with_name("results")


def keep_result(file: str, name: str, count: int, bad: int, detail: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    result = {"name": name, "count": count, "bad": bad, "detail": detail, "date": date.today().isoformat()}
    (FOLDER / f"{file}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
