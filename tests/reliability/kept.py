"""Results of long runs for the README's table: results/NAME.json."""

import json
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).with_name("results")


def keep_result(file: str, name: str, count: int, bad: int, detail: str, ran: str = "") -> None:
    """`ran` is the day, where that is not today."""
    FOLDER.mkdir(exist_ok=True)
    result = {"name": name, "count": count, "bad": bad, "detail": detail, "date": ran or date.today().isoformat()}
    (FOLDER / f"{file}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
