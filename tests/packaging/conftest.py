from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    return ["plimsoll"]


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody's settings, no environment that happens to be active, and no Python but those of the test."""
    from planner_app.jobs import interpreter as python

    for name in (python.VARIABLE, "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLIMSOLL_SETTINGS", str(tmp_path / "settings"))
    monkeypatch.setenv("PLIMSOLL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(python, "_good", {})
    monkeypatch.setattr(python, "_at_start", lambda name: "")
