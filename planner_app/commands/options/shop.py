"""Arguments of `plimsoll shop`: the training, the devices, the limits and the output."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from planner_app.commands.options import arguments
from planner_app.commands.options.planner import add_verdict
from planner_app.commands.options.setup import add_setup, positive, setup_of
from planner_app.core.buying.run import Run
from planner_app.core.hardware.device import Device, Segment
from planner_app.core.hardware.machine import as_reported
from planner_app.core.hardware.option import COUNTS, ShopRequest
from planner_app.core.hardware.prices import Accepted, Pay
from planner_app.core.hardware.ranking import By, Filter
from planner_app.core.model.setup import Precision
from planner_app.errors import DeviceError, PlannerError, SetupError
from planner_app.files.devices.catalogue import catalogue, find_device
from planner_app.gpu.nvml import machine_gpus
from planner_app.units import parse_bytes

TOP = 15
MOST_GPUS = 64
SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TIME = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*([mhdw])", re.ASCII | re.IGNORECASE)
SEGMENTS = [str(segment) for segment in Segment if segment not in (Segment.HOST, Segment.CUSTOM)]


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    parser.add_argument(
        "--batch", type=positive, metavar="N", help="samples per update, over all GPUs; a kept scenario has its own"
    )
    add_setup(parser, batch=False, precision=False, gpus=False, accumulate=False)
    parser.add_argument(
        "--precisions",
        type=_precisions,
        default=("float32",),
        metavar="NAME,...",
        help="allowed precisions, preferred first",
    )
    parser.add_argument("--gpus", type=_counts, default=COUNTS, metavar="N,...", help="GPU counts, as in 1,2,4 or 1-16")
    parser.add_argument(
        "--accumulate-up-to",
        type=positive,
        default=1,
        metavar="N",
        help="accumulate gradients over up to N steps if the batch does not fit; default: 1, never",
    )
    parser.add_argument(
        "--backend",
        dest="backends",
        choices=("any", "tensorflow"),
        default="any",
        help="of Keras; any, the default: several GPUs on JAX where that is faster, since it compiles for several",
    )
    parser.add_argument(
        "--twice", action="store_true", help="also find GPUs for inputs of twice the resolution, length or width"
    )
    parser.add_argument("--devices", type=_names, default=(), metavar="NAME,...", help="only these; default: all")
    parser.add_argument(
        "--measured",
        action="append",
        default=[],
        metavar="FILE.json",
        help="a measurement of this model (plimsoll measure -o): use its speed instead of the estimated one",
    )
    _add_run(parser)
    add_verdict(parser)
    parser.add_argument("--variants", action="store_true", help="include cards with ECC switched off and MIG slices")
    _add_choice(parser)
    arguments.add_json(parser)
    parser.add_argument("--csv", action="store_true", help="write CSV to standard output, for spreadsheets")
    parser.add_argument("--html", metavar="FILE.html", help="write a one-page report for whoever approves the purchase")
    parser.add_argument("--pdf", metavar="FILE.pdf", help="the same as PDF; needs --samples and --epochs")
    parser.add_argument(
        "--scenario", metavar="FILE.json", help="keep the question and its answer, to ask it again later"
    )
    parser.add_argument(
        "--again", metavar="FILE.json", help="ask the question of a kept scenario again, and say what has changed"
    )


def _add_run(parser: ArgumentParser) -> None:
    parser.add_argument("--samples", type=positive, metavar="N", help="in the training set: what the whole run costs")
    parser.add_argument("--epochs", type=positive, default=1, metavar="N", help="over the training set; default: 1")
    parser.add_argument("--deadline", type=duration, metavar="TIME", help="for one run, as in 12h, 3d or 2w")
    parser.add_argument("--runs", type=positive, default=1, metavar="N", help="runs to pay for; default: 1")
    parser.add_argument("--power-price", type=_usd, metavar="USD", help="of a kWh, for the energy of bought hardware")
    parser.add_argument("--prefetch", type=positive, default=2, metavar="N", help="batches to read ahead; default: 2")
    parser.add_argument("--shuffle", type=positive, default=0, metavar="N", help="samples in the shuffle buffer")
    parser.add_argument("--cache", type=positive, default=0, metavar="N", help="samples kept in memory by cache()")
    parser.add_argument("--data-size", type=_size, default=0, metavar="SIZE", help="of the training set on disk")


def _add_choice(parser: ArgumentParser) -> None:
    parser.add_argument("--sort", choices=[str(by) for by in By], default="price", help="what to sort by")
    parser.add_argument(
        "--pay",
        choices=[str(pay) for pay in Pay],
        help="which price to use; default: cloud, and with --samples whatever is cheaper",
    )
    parser.add_argument(
        "--budget",
        type=_usd,
        metavar="USD",
        help="the most to pay: for all runs, with --samples; else per hour or, with --pay buy, for the cards",
    )
    parser.add_argument("--used", action="store_true", help="count prices of used cards too")
    parser.add_argument(
        "--launch-prices", action="store_true", help="count list prices at launch where no other price is known"
    )
    parser.add_argument("--priced", action="store_true", help="only offers with a price")
    parser.add_argument("--watts", type=positive, metavar="N", help="the most power that all cards together may draw")
    parser.add_argument(
        "--segment", action="append", default=[], choices=SEGMENTS, help="only this segment; repeatable"
    )
    parser.add_argument("--top", type=positive, default=TOP, metavar="N", help=f"lines to show; default: {TOP}")
    parser.add_argument(
        "--every-count", action="store_true", help="show every GPU count instead of the best one of each device"
    )


def request_of(options: Namespace) -> ShopRequest:
    if options.batch is None:
        raise SetupError("shop needs the samples per update: add --batch N, or --again FILE.json.")
    precisions = tuple(map(Precision, options.precisions))
    setup = setup_of(options, precision=str(precisions[0]), gpus=1)
    return ShopRequest(
        setup, precisions, options.accumulate_up_to, options.gpus, options.sure, options.backends == "any"
    )


def devices_of(names: Sequence[str], *, variants: bool) -> tuple[Device, ...]:
    """All of the catalogue if none are named."""
    if names:
        chosen = tuple(dict.fromkeys(map(find_device, names)))
        for device in chosen:
            if not device.cuda:
                raise DeviceError("shop compares GPUs only: remove the CPU from --devices.")
        return _reported(chosen)
    return _reported(tuple(device for device in catalogue().devices if variants or device.whole))


def _reported(devices: tuple[Device, ...]) -> tuple[Device, ...]:
    return as_reported(devices, machine_gpus().usable_gpus, catalogue().find)


def accepted_of(options: Namespace) -> Accepted:
    return Accepted(used=options.used, launch=options.launch_prices)


def run_of(options: Namespace) -> Run | None:
    """None where only one step is asked about. What the input pipeline holds is for the trace to say."""
    if options.samples is None:
        needing = options.deadline or options.pdf or options.scenario or options.runs > 1 or options.epochs > 1
        if needing and not options.again:
            raise SetupError("The whole run needs the size of the training set: add --samples N, and --epochs N.")
        return None
    return Run(
        samples=options.samples,
        epochs=options.epochs,
        deadline_seconds=options.deadline,
        budget_usd=options.budget,
        power_usd_per_kwh=options.power_price or 0.0,
        runs=options.runs,
        data_bytes=options.data_size,
        pay=None if options.pay is None else Pay(options.pay),
    )


def pay_of(options: Namespace) -> Pay:
    """Of one step."""
    return Pay(options.pay or Pay.CLOUD)


def filter_of(options: Namespace) -> Filter:
    pay, per_run = pay_of(options), options.samples is not None
    return Filter(
        segments=frozenset(map(Segment, options.segment)),
        most_usd=options.budget if pay is Pay.BUY and not per_run else None,
        most_usd_an_hour=options.budget if pay is Pay.CLOUD and not per_run else None,
        most_watts=options.watts,
        priced=pay if options.priced else None,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _precisions(text: str) -> tuple[str, ...]:
    known = [str(precision) for precision in Precision]
    for name in _names(text):
        if name not in known:
            raise ArgumentTypeError(f"{name!r} is not a precision: choose from {', '.join(known)}")
    if not _names(text):
        raise ArgumentTypeError(f"expected at least one precision of {', '.join(known)}")
    return tuple(dict.fromkeys(_names(text)))


def _counts(text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in _names(text):
        first, _, last = part.partition("-")
        start, end = positive(first), positive(last or first)
        if not start <= end <= MOST_GPUS:
            raise ArgumentTypeError(f"{part!r}: expected GPU counts from 1 to {MOST_GPUS}, as in 1,2,4 or 1-16")
        found.update(range(start, end + 1))
    if not found:
        raise ArgumentTypeError("expected GPU counts, as in 1,2,4 or 1-16")
    return tuple(sorted(found))


def _usd(text: str) -> float:
    try:
        usd = float(text.removeprefix("$"))
    except ValueError:
        usd = 0.0
    if not 0 < usd < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a positive amount of dollars: expected one such as 20000 or 0.85")
    return usd


def duration(text: str) -> float:
    """Seconds of "90m", "12h", "3d" or "2w"."""
    found = _TIME.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise ArgumentTypeError(
            f"{text!r} is not a time: expected a positive number with m, h, d or w, as in 12h, 3d or 52w"
        )
    return float(found[1]) * SECONDS[found[2].lower()]


def _size(text: str) -> int:
    try:
        return parse_bytes(text)
    except PlannerError as error:
        raise ArgumentTypeError(str(error)) from error
