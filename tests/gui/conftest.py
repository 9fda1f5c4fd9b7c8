"""The app without a screen, on the model that ships with it: one real session for all tests that only look at it."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from waiting import traced, wait

from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.theme import Appearance, Look
from planner_app.gui.session import Session

DEMO = Path(__file__).parents[2] / "planner_app" / "data" / "demo.keras"
_open_sessions: list[Session] = []
PICTURES = Path(__file__).parents[2] / "build" / "pictures"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`-k pictures` chooses every test that draws one."""
    for item in items:
        if "take_pictures" in getattr(item, "fixturenames", ()):
            item.extra_keyword_matches.add("pictures")


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    return ["plimsoll"]


@pytest.fixture(autouse=True, scope="session")
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody's settings or cache are touched; traces are shared by all tests."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PLIMSOLL_CACHE", str(tmp_path_factory.mktemp("cache")))
    patch.setenv("PLIMSOLL_CALIBRATIONS", str(tmp_path_factory.mktemp("calibrations")))
    patch.setenv("PLIMSOLL_SETTINGS", str(tmp_path_factory.mktemp("settings")))
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def cycles_are_collected_here() -> Iterator[None]:
    """As in the app: a widget that is freed in another thread takes the process with it."""
    gc.disable()
    yield
    gc.collect()
    gc.enable()


@pytest.fixture(autouse=True)
def nothing_lies_around(cycles_are_collected_here: None) -> Iterator[None]:
    yield
    gc.collect(1)


@pytest.fixture(scope="session")
def shared(qapp: QApplication) -> Session:
    session = Session(find_device("NVIDIA L4"))
    session.open(str(DEMO))
    wait(lambda: traced(session))
    _open_sessions.append(session)
    return session


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test of this folder no worker is left for others to find."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        while _open_sessions:
            _open_sessions.pop().close()


@pytest.fixture
def session(shared: Session) -> Iterator[Session]:
    """The demo model, open and traced for one and two GPUs; whatever a test chooses is taken back after it."""
    before = shared.choice
    yield shared
    shared.choose(lambda _: before)
    shared.forget_history()
    shared.pin(None)
    shared.highlight("")
    shared.measurements = ()


@pytest.fixture
def appearance(qapp: QApplication) -> Appearance:
    return Appearance(qapp, Look.LIGHT)


@pytest.fixture
def take_pictures(appearance: Appearance) -> Callable[[QWidget, str], None]:
    """Both looks of a widget into build/pictures, for people to look at."""

    def take(widget: QWidget, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        for look in (Look.LIGHT, Look.DARK):
            appearance.choose(look)
            QTest.qWait(30)
            assert widget.grab().save(str(PICTURES / f"{name}_{look}.png"))
        appearance.choose(Look.LIGHT)

    return take
