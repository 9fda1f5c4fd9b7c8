"""Arguments of `plimsoll shop`: the training, the devices, the limits and the output."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from planner_app.commands.options import arguments
from planner_app.commands.options.planner import add_verdict
from planner_app.commands.options.setup import add_setup, positive, setup_of
from planner_app.core.hardware.device import Device, Segment
from planner_app.core.hardware.option import COUNTS, ShopRequest
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.ranking import By, Filter
from planner_app.core.model.setup import Precision
from planner_app.errors import DeviceError
from planner_app.files.devices.catalogue import catalogue, find_device

TOP = 15
MOST_GPUS = 64
SEGMENTS = [str(segment) for segment in Segment if segment not in (Segment.HOST, Segment.CUSTOM)]


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser, precision=False, gpus=False, accumulate=False)
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
    add_verdict(parser)
    parser.add_argument("--variants", action="store_true", help="include cards with ECC switched off and MIG slices")
    _add_choice(parser)
    arguments.add_json(parser)
    parser.add_argument("--csv", action="store_true", help="write CSV to standard output, for spreadsheets")
    parser.add_argument("--html", metavar="FILE.html", help="write a one-page report for whoever approves the purchase")


def _add_choice(parser: ArgumentParser) -> None:
    parser.add_argument("--sort", choices=[str(by) for by in By], default="price", help="what to sort by")
    parser.add_argument("--pay", choices=[str(pay) for pay in Pay], default="cloud", help="which price to use")
    parser.add_argument(
        "--budget", type=_usd, metavar="USD", help="the most to pay per hour or, with --pay buy, in total"
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
    precisions = tuple(map(Precision, options.precisions))
    setup = setup_of(options, precision=str(precisions[0]), gpus=1)
    return ShopRequest(setup, precisions, options.accumulate_up_to, options.gpus, options.sure)


def devices_of(options: Namespace) -> tuple[Device, ...]:
    if options.devices:
        chosen = tuple(dict.fromkeys(map(find_device, options.devices)))
        for device in chosen:
            if not device.cuda:
                raise DeviceError("shop compares GPUs only: remove the CPU from --devices.")
        return chosen
    return tuple(device for device in catalogue().devices if options.variants or device.whole)


def filter_of(options: Namespace) -> Filter:
    pay = Pay(options.pay)
    return Filter(
        segments=frozenset(map(Segment, options.segment)),
        most_usd=options.budget if pay is Pay.BUY else None,
        most_usd_an_hour=options.budget if pay is Pay.CLOUD else None,
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
        raise ArgumentTypeError(f"{text!r} is not a positive amount of dollars")
    return usd
