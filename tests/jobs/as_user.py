"""Run as an ordinary user: what a worker's sandbox blocks on each kind of system, with every escape tried."""

import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from asking import COMMAND, Do  # noqa: E402

from planner_app.jobs.job import Job, result_of  # noqa: E402

outside = Path(tempfile.mkdtemp())
(outside / "secret").write_text("secret")
(outside / "model").write_text("x")
(outside / "code").mkdir()
reports = {}
for off in sys.argv[1:]:
    started = next(iter(Job(Do(what="echo"), command=[*COMMAND, "without", *off.split("+")])))
    reports[off] = started.sandbox
request = Do(what="breaks_out", text=str(outside), read=(str(outside / "model"), str(outside / "code")))
ways = result_of(Job(request, command=COMMAND), dict)
sys.stdout.write(json.dumps({"reports": reports, "ways": ways}))
