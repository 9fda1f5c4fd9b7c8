"""An X server without a screen, for tests that use the window as a person does: with keys, clicks and drops."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLibraryInfo

HERE = Path(__file__).parent
SIZE = "1920x1080x24"
PATIENCE_SECONDS = 1500  # for the busiest of machines
Act = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A scene is many steps, each of which may take long on a busy machine."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(PATIENCE_SECONDS + 60))


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """The name of a display of our own."""
    missing = [name for name in ("Xvfb", "xdotool") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} (packages of Debian) are not installed.")
    if lacking := _what_qt_lacks():
        pytest.skip(f"Qt can't draw to an X server here: {lacking}")
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", SIZE, "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as told:
        number = told.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait()


def _what_qt_lacks() -> str:
    """The first library of the system that Qt's part for X servers does not find, or nothing."""
    plugins = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath), "platforms", "libqxcb.so")
    try:
        ctypes.CDLL(str(plugins))
    except OSError as error:
        return str(error)
    return ""


@pytest.fixture
def act(display: str, tmp_path: Path) -> Act:
    """Run a scene in a process of its own, since Qt draws to one kind of screen in a process; returns its output."""

    def act(scene: str, *arguments: object) -> str:
        script, _, name = scene.partition(":")
        told = [sys.executable, str(HERE / f"{script}.py"), name, str(tmp_path), *map(str, arguments)]
        environment = os.environ | {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "PYTHONPATH": str(HERE.parent)}
        done = subprocess.run(told, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        return done.stdout

    return act
