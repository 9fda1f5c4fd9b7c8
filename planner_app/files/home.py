"""The user's own folders: configuration (settings, devices), data (calibrations) and cache (traces)."""

import os
from collections.abc import Callable
from pathlib import Path

NOWHERE = Path(os.devnull) / "plimsoll"  # no folder can be made there


def config_folder() -> Path:
    from platformdirs import user_config_path  # slow to import and not always needed

    return _known(lambda: user_config_path("plimsoll", appauthor=False))


def data_folder() -> Path:
    from platformdirs import user_data_path

    return _known(lambda: user_data_path("plimsoll", appauthor=False))


def cache_folder() -> Path:
    from platformdirs import user_cache_path

    return _known(lambda: user_cache_path("plimsoll"))


def _known(ask: Callable[[], Path]) -> Path:
    """Without HOME, for an account unknown to the system, asking fails or gives a path that begins with "~"."""
    try:
        folder = ask()
    except RuntimeError:
        return NOWHERE
    return folder if folder.is_absolute() else NOWHERE
