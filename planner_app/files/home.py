"""Where an account keeps its own files: settings and devices, what was learnt, and what can be worked out again."""

import os
from collections.abc import Callable
from pathlib import Path

NOWHERE = Path(os.devnull) / "plimsoll"  # no folder can be made there


def config_folder() -> Path:
    from platformdirs import user_config_path  # takes its time, and not everybody needs it

    return _known(lambda: user_config_path("plimsoll", appauthor=False))


def data_folder() -> Path:
    from platformdirs import user_data_path

    return _known(lambda: user_data_path("plimsoll", appauthor=False))


def cache_folder() -> Path:
    from platformdirs import user_cache_path

    return _known(lambda: user_cache_path("plimsoll"))


def _known(ask: Callable[[], Path]) -> Path:
    """Without HOME, in an account the system does not know, there is none: an error, or a path that begins with "~"."""
    try:
        folder = ask()
    except RuntimeError:
        return NOWHERE
    return folder if folder.is_absolute() else NOWHERE
