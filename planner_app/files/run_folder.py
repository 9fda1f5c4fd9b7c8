"""Names in the folder of `plimsoll run`: one folder, or with several hosts one for each of them inside it."""

REPORT = "run.json"  # what happened, for people and programs
STATE = "state.json"  # how far training has come
MEASUREMENT = "measurement.json"  # what its steps took


def host_folder(number: int) -> str:
    return f"host-{number}"
