"""The app's settings: whatever lies there, the app starts."""

from fuzz_changes import changed_json as mutate

from fuzz_targets.common import READ, corpus, emptied, shown
from planner_app.gui.state.settings import Settings, SettingsFile

KIND = "files of the app's own"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("settings/*.json")


def run(data: bytes) -> str:
    file = SettingsFile(emptied("settings") / "settings.json")
    file.path.write_bytes(data)
    settings, said = file.read()
    shown(said)
    assert isinstance(settings, Settings)
    assert file.write(settings.with_recent("/a/model.keras")) == ""
    return said or READ
