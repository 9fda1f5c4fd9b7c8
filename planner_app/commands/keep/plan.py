"""`plimsoll plan MODEL --batch 256 --device "NVIDIA L4" -o resnet.plan.json`: a plan for training scripts to follow."""

import socket
import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.planner import DOES_NOT_FIT, add_limit, add_verdict, limit_of, planner_of
from planner_app.commands.options.setup import add_setup, add_sharding, positive, setup_of
from planner_app.core.advise.loops import explain_shapes, shapes_of
from planner_app.core.model.setup import Precision
from planner_app.core.plan.cluster import parse_hosts
from planner_app.core.plan.ladder import DoesNotFit, PlanRequest
from planner_app.core.plan.pipeline import InputSettings, host_warning
from planner_app.core.plan.plan import Allocator, MemorySettings, Plan
from planner_app.errors import PlanError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.host import available_bytes
from planner_app.files.plans import plan_text, schema_text, write_plan
from planner_app.foreign_text import for_file_name, for_json
from planner_app.planner.opening import file_name
from planner_app.reports.plan_table import show

HELP = "write a plan for training scripts to follow"


class _Schema(Action):
    """Like --help, prints and exits even if required arguments are missing."""

    def __call__(self, *_given: Any) -> NoReturn:
        sys.stdout.write(schema_text())
        sys.exit(0)


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser)
    add_sharding(parser)
    parser.add_argument(
        "--device",
        action="append",
        metavar="NAME",
        help='a GPU ("NVIDIA L4"), a size (24GiB), or cpu:8GiB; repeat it for a queue with several kinds of GPUs',
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the plan; default: MODEL.plan.json")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=[str(each) for each in Precision],
        help="a lower precision to fall back to; repeatable, in order of preference",
    )
    parser.add_argument("--growth", action="store_true", help="let TensorFlow allocate GPU memory as needed")
    add_limit(parser)
    parser.add_argument(
        "--allocator",
        choices=[str(each) for each in Allocator],
        default="bfc",
        help="TensorFlow's allocator; default: bfc",
    )
    parser.add_argument(
        "--hosts",
        metavar="A:PORT,B:PORT",
        help="machines that train together, or a TF_CONFIG; checked before the plan is written",
    )
    parser.add_argument("--prefetch", type=positive, default=2, metavar="N", help="batches to read ahead; default: 2")
    parser.add_argument("--shuffle", type=positive, default=0, metavar="N", help="samples in the shuffle buffer")
    parser.add_argument("--cache", type=positive, default=0, metavar="N", help="samples kept in memory by cache()")
    add_verdict(parser)
    parser.add_argument("--schema", action=_Schema, nargs=0, help="print the JSON Schema of plan files")
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    request = _request(options)
    output = Path(options.output) if options.output else Path(f"{for_file_name(_stem(options.model))}.plan.json")
    if output.is_dir() or not output.parent.is_dir():  # fail before minutes are spent
        why = "it is a folder" if output.is_dir() else f"there is no folder {str(output.parent)!r}"
        raise PlanError(f"The plan can't be written to {str(output)!r}: {why}.")
    with terminal.progress() as on_progress:
        try:
            plan = planner_of(options, on_progress).plan(request, on_progress=on_progress)
        except DoesNotFit as error:
            sys.stderr.write(f"plimsoll: {error}\n")
            return DOES_NOT_FIT
    write_plan(output, plan)
    said = [*plan.warnings, *_unresolved(request.hosts)]
    if (free := available_bytes()) and (sentence := host_warning(plan.input, free)):
        said.append(sentence)
    if options.cache and (sentence := _shapes(plan, options.cache)):
        said.append(sentence)
    if options.json:
        sys.stdout.write(for_json(plan_text(plan)))
    else:
        show(plan, terminal.output(), said, str(output))
    return 0


def _shapes(plan: Plan, samples: int) -> str:
    """The number of samples is known for a data set kept in memory."""
    first = plan.devices[0].rungs[0]
    return explain_shapes(shapes_of(samples, plan.training.global_batch), xla=first.jit)


def _request(options: Namespace) -> PlanRequest:
    setup = setup_of(options)
    hosts = parse_hosts(options.hosts) if options.hosts else ()
    if hosts and setup.gpus % len(hosts):
        raise PlanError(
            f"{setup.gpus} GPUs can't be divided evenly among {len(hosts)} hosts: make --gpus a multiple of "
            f"{len(hosts)}."
        )
    return PlanRequest(
        setup=setup,
        devices=tuple(find_device(name) for name in options.device or ["cpu"]),
        precisions=tuple(Precision(each) for each in options.allow if each != options.precision),
        memory=MemorySettings(
            growth=options.growth,
            limit_bytes=limit_of(options),
            allocator=Allocator(options.allocator),
        ),
        hosts=hosts,
        input=InputSettings(options.prefetch, options.shuffle, options.cache),
        sure=options.sure,
    )


def _unresolved(hosts: Sequence[str]) -> list[str]:
    """Warnings about names that this machine can't resolve, though other hosts may."""
    said = []
    for address in hosts:
        host, _, port = address.rpartition(":")
        try:
            socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        except OSError:
            said.append(
                f"{host} can't be resolved on this machine: every host must be able to resolve the names of all others."
            )
    return said


def _stem(model: str) -> str:
    name = file_name(model).partition(":")[0]
    return name.rpartition(".")[0] or name
