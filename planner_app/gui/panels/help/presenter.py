"""The Help menu: the guide, the keyboard shortcuts, and the check of this computer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6 import __version__ as qt_version
from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.panels.help.pages import KEYS, Key, keys_page, pages

if TYPE_CHECKING:
    from planner_app.core.checkup import Finding
    from planner_app.gui.app import App
    from planner_app.gui.panels.help.checkup import CheckupView
    from planner_app.gui.panels.help.guide import GuideWindow
    from planner_app.jobs.protocol import Progress


class HelpPresenter(QObject):
    """Its windows are created on first use.

    Attributes:
        guide: None before that.
    """

    def __init__(self, app: App) -> None:
        super().__init__(app)
        self._app = app
        self.guide: GuideWindow | None = None
        self.checkup: CheckupView | None = None
        self._slot = TaskSlot(app.session.start, self)
        self._slot.progressed.connect(self._on_progressed)
        self._slot.failed.connect(self._on_failed)
        app.appearance.changed.connect(self._on_theme_changed)

    def show_guide(self, name: str = "start") -> None:
        from planner_app.gui.panels.help.guide import GuideWindow

        if self.guide is None:
            self.guide = GuideWindow(self._app.window, pages(), self._keys_page)
        self.guide.show()
        self.guide.show_page(name)
        self.guide.raise_()
        self.guide.activateWindow()

    def show_keys(self) -> None:
        self.show_guide(KEYS)

    def check_computer(self) -> None:
        from planner_app.gui.panels.help.checkup import CheckupView

        if self.checkup is None:
            self.checkup = CheckupView(self._app.window, self._app.appearance.theme)
            self.checkup.again_clicked.connect(self._look)
            self.checkup.finished.connect(self._slot.drop)
        self.checkup.show()
        self.checkup.raise_()
        self._look()

    def _look(self) -> None:
        from planner_app.core.checkup import Screen, checkup  # not needed to open the window
        from planner_app.planner.look import look_around

        assert self.checkup is not None
        screen = Screen(qt_version, QGuiApplication.platformName())
        self.checkup.show_working("checking")
        self._slot.run(lambda task: checkup(look_around(screen, task.report, task.cancelled)), self._on_found)

    def _on_progressed(self, event: Progress) -> None:
        if self.checkup is not None:
            self.checkup.show_working(event.text)

    def _on_failed(self, why: str, _detail: str) -> None:
        if self.checkup is not None:
            self.checkup.show_trouble(why)

    def _on_found(self, findings: tuple[Finding, ...]) -> None:
        if self.checkup is not None:
            self.checkup.show_findings(findings)

    def _on_theme_changed(self) -> None:
        if self.checkup is not None:
            self.checkup.show_theme(self._app.appearance.theme)

    def _keys_page(self) -> str:
        return keys_page(self._keys())

    def _keys(self) -> Iterator[Key]:
        """The shortcuts of all menu entries."""
        for entry in self._app.window.menuBar().actions():
            if isinstance(menu := entry.menu(), QMenu):
                yield from _keys_of(_plain(entry.text()), menu)


def _keys_of(title: str, menu: QMenu) -> Iterator[Key]:
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            yield from _keys_of(f"{title}, {_plain(action.text())}", inner)
        elif not action.shortcut().isEmpty():
            yield Key(title, _plain(action.text()), action.shortcut().toString())


def _plain(text: str) -> str:
    return re.sub(r"&(.)", r"\1", text)
