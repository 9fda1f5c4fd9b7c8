"""What measurements have taught about a device, for commands that estimate."""

from argparse import ArgumentParser, Namespace
from functools import cache

from planner_app.core.hardware.device import Device
from planner_app.core.measure.calibration import Calibration, Taught, untaught
from planner_app.files.kept.calibrations import Calibrations


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--uncalibrated", action="store_true", help="the estimate alone, whatever measurements have taught"
    )


def learnt(options: Namespace, device: Device, *, xla: bool) -> Calibration | None:
    return None if options.uncalibrated else Calibrations().find(device.name, xla=xla)


def taught(options: Namespace) -> Taught:
    """For commands that look at many devices: each is looked up once."""
    if options.uncalibrated:
        return untaught
    find = cache(Calibrations().find)
    return lambda device, xla: find(device.name, xla=xla)
