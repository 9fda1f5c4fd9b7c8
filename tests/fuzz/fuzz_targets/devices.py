"""The user's own list of devices."""

from contextlib import suppress

from fuzz_changes import changed_json as mutate

from fuzz_targets.common import READ, corpus, refused, written
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.errors import DeviceError
from planner_app.files.devices.catalogue import load_catalogue

KIND = "lists of devices"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("devices/*.json")


def run(data: bytes) -> str:
    try:
        catalogue = load_catalogue(written(data, "devices.json"))
    except DeviceError as error:
        return refused(error)
    for device in catalogue.devices:
        with suppress(DeviceError):  # of some, nobody knows how much memory they have
            allocator_limit_bytes(device)
    return READ
