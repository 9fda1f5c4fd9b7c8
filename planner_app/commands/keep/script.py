"""`plimsoll script resnet.plan.json > train.py`: a complete training script for a plan."""

import sys
from argparse import ArgumentParser, Namespace

from planner_app.core.plan.script import script_of
from planner_app.files.plans import read_plan

HELP = "print a training script for a plan"


def add(parser: ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN.json", help="a file written by `plimsoll plan`")


def run(options: Namespace) -> int:
    sys.stdout.write(script_of(read_plan(options.plan), options.plan))
    return 0
