"""What measurements have taught about a device, for commands that estimate."""

from argparse import ArgumentParser, Namespace

from planner_app.core.calibrate import Calibration
from planner_app.core.device import Device
from planner_app.files.calibrations import Calibrations


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--uncalibrated", action="store_true", help="the estimate alone, whatever measurements have taught"
    )


def learnt(options: Namespace, device: Device, *, xla: bool) -> Calibration | None:
    return None if options.uncalibrated else Calibrations().find(device.name, xla=xla)
