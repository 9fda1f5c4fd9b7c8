"""The app without a screen, on the model that ships with it: one real session for tests that don't change it."""

import gc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from pictures import keep_picture
from PySide6.QtWidgets import QApplication, QWidget
from turning import turn
from waiting import traced, wait

from planner_app.files.devices.catalogue import find_device
from planner_app.gui.look.theme import Appearance, Look, Theme
from planner_app.gui.state.session import Session

DEMO = Path(__file__).parents[2] / "planner_app" / "data" / "demo.keras"
TakePictures = Callable[..., None]


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
def shared(qapp: QApplication) -> Iterator[Session]:
    session = Session(find_device("NVIDIA L4"))
    session.open(str(DEMO))
    wait(lambda: traced(session))
    yield session
    session.close()


@pytest.fixture
def session(shared: Session) -> Iterator[Session]:
    """The demo model, open and traced for one and two GPUs; whatever a test chooses is taken back after it."""
    before = shared.choice
    yield shared
    shared.choose(lambda _: before)
    shared.forget_history()
    shared.pin(None)
    shared.highlight("")
    shared.keep_measurements(())


@pytest.fixture
def appearance(qapp: QApplication) -> Appearance:
    return Appearance(qapp, Look.LIGHT)


@pytest.fixture
def take_pictures(appearance: Appearance) -> TakePictures:
    """Both looks of a widget into build/pictures. `shows` says which of a theme's colours must be seen there."""

    def take(widget: QWidget, name: str, shows: Callable[[Theme], Iterable[str]] = lambda theme: ()) -> None:
        for look in (Look.LIGHT, Look.DARK):
            appearance.choose(look)
            turn(30)
            keep_picture(widget, f"{name}_{look}", appearance.theme, shows(appearance.theme))
        appearance.choose(Look.LIGHT)

    return take
