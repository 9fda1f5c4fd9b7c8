"""`plimsoll run --plan plan.json train.py`: runs a training script to its end, whatever its process can't survive.

When memory runs out in a way that ends the process (steps compiled by XLA, the kernel's OOM killer), the script is
started again on the plan's next rung; when it was killed, crashed or lost its device, on the same one. It goes on from
its last checkpoint: nothing is trained twice. The script calls load_plan() and plan.fit(), and needs no other change.
"""

from argparse import REMAINDER, ArgumentParser, Namespace

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.train.recover.supervise import TRIES, supervise

HELP = "run a training script, and start it again on the next rung when memory runs out"


def add(parser: ArgumentParser) -> None:
    parser.add_argument("--plan", required=True, metavar="PLAN.json", help="a file that `plimsoll plan` has written")
    parser.add_argument(
        "--every", type=int, metavar="N", help="a checkpoint after every N updates; default: after every epoch"
    )
    parser.add_argument(
        "--tries", type=int, default=TRIES, metavar="N", help=f"start the script N times at most; default {TRIES}"
    )
    parser.add_argument("--rung", type=int, metavar="N", help="start on this rung of the ladder; default 0, the first")
    parser.add_argument("--device", metavar="NAME", help="which of the plan's devices this is; default: what is here")
    parser.add_argument(
        "--folder", metavar="FOLDER", help="where checkpoints and run.json go; default: beside the plan, NAME.run"
    )
    parser.add_argument("--worker", type=int, metavar="N", help="with several hosts, which of them this is, from 0 on")
    parser.add_argument(
        "--port", type=int, metavar="N", help="with several hosts, where their supervisors meet on the first of them"
    )
    arguments.add_json(parser)
    parser.add_argument("script", metavar="SCRIPT", help="a training script, train.py, or any program")
    parser.add_argument("arguments", nargs=REMAINDER, metavar="...", help="what the script is told")


def run(options: Namespace) -> int:
    report = supervise(
        options.plan,
        [options.script, *options.arguments],
        folder=options.folder,
        every=options.every,
        tries=options.tries,
        rung=options.rung,
        device=options.device,
        worker=options.worker,
        port=options.port,
    )
    if options.json:
        terminal.write_json(report)
    return report.code or 0
