"""`plimsoll max-batch MODEL --backend jax --gpus 4 --mesh any`: every way to share a model out over so many GPUs."""

import time
from argparse import Namespace

from planner_app.commands import terminal
from planner_app.commands.options.planner import DOES_NOT_FIT, FITS, limit_of, planner_of
from planner_app.commands.options.setup import device_of, setup_of
from planner_app.core.model.setup import Backend
from planner_app.errors import SetupError
from planner_app.planner.lines import Ask
from planner_app.planner.sharding import sharding_options
from planner_app.reports.sharding_table import sharding_dict, show


def run(options: Namespace) -> int:
    if options.backend != Backend.JAX:
        raise SetupError("--mesh any is for Keras on JAX: add --backend jax.")
    if options.gpus < 2:
        raise SetupError("--mesh any arranges several GPUs: say how many, as in --gpus 4.")
    if options.layout:
        raise SetupError("--mesh any tries every layout: leave --layout out, or name a mesh.")
    started = time.monotonic()
    device, limit, gpus = device_of(options), limit_of(options), options.gpus
    options.mesh = None
    setup = setup_of(options, batch=gpus * options.accumulate)
    with terminal.progress() as on_progress:
        planner = planner_of(options, on_progress)
        exact = planner.ask is Ask.ALWAYS  # minutes for each of many
        found = sharding_options(planner, setup, gpus, device, limit, exact=exact, on_progress=on_progress)
    if options.json:
        seconds = round(time.monotonic() - started, 3)
        terminal.write_json({"options": [sharding_dict(each) for each in found], "gpus": gpus, "seconds": seconds})
    else:
        show(found, device.name, terminal.output())
    return FITS if any(each.fits for each in found) else DOES_NOT_FIT
