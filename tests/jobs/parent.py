"""A parent process to kill: prints its child's process id and waits for it."""

import sys

import psutil
from asking import COMMAND, Do

from planner_app.jobs.job import Job
from planner_app.jobs.protocol import Progress

for event in Job(Do(what=sys.argv[1]), command=COMMAND):
    if isinstance(event, Progress):
        print(psutil.Process().children()[0].pid, flush=True)  # noqa: T201 - the test reads it
