"""Fills the command palette with everything that menus, panels, devices and setups offer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QLabel, QMenu, QPushButton, QScrollArea, QWidget

from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Precision
from planner_app.files.devices.catalogue import catalogue
from planner_app.gui.frame.panel import Panel
from planner_app.gui.panels.palette.values import Entry, matching
from planner_app.gui.panels.palette.view import PaletteView

if TYPE_CHECKING:
    from planner_app.gui.app import App

NUMBER = re.compile(r"(?:batch\s+)?(\d{1,9})", re.IGNORECASE)


class PalettePresenter(QObject):
    """Opens a palette; it is gone once something has been chosen.

    Attributes:
        view: The last one.
    """

    def __init__(self, app: App) -> None:
        super().__init__(app)
        self._app = app
        self._entries: list[Entry] = []
        self.view: PaletteView | None = None

    def open(self) -> None:
        self._entries = list(self._all())
        view = self.view = PaletteView(self._app.window, self._app.appearance.theme)
        view.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        view.typed.connect(self._on_typed)
        view.chosen.connect(lambda entry: self._app.attempt(entry.run))
        view.destroyed.connect(self._on_destroyed)
        view.show_entries(matching(self._entries, ""))
        view.show()
        view.field.setFocus()

    def _on_typed(self, text: str) -> None:
        found = matching(self._entries, text)
        session = self._app.session
        if (number := NUMBER.fullmatch(text.strip())) and session.model is not None and int(number[1]) > 0:
            batch = int(number[1])
            found.insert(0, Entry(f"Batch {batch:,}", "Setup", lambda: session.choose_setup(batch=batch)))
        if self.view is not None:
            self.view.show_entries(found)

    def _on_destroyed(self) -> None:
        self.view = None

    def _all(self) -> Iterator[Entry]:
        for entry in self._app.window.menuBar().actions():
            if isinstance(menu := entry.menu(), QMenu):
                yield from _of_menu(_plain(entry.text()), menu)
        for panel in self._app.panels.values():
            yield from self._of_panel(panel)
        for precision in Precision:
            yield Entry(f"Precision {precision}", "Setup", partial(self._choose_precision, precision))
        for device in catalogue().devices:
            yield Entry(device.name, "Device", partial(self._choose_device, device))

    def _of_panel(self, panel: Panel) -> Iterator[Entry]:
        """Its fields and buttons: choosing one goes there."""
        for label in panel.widget.findChildren(QLabel):
            if (field := label.buddy()) is not None:
                yield Entry(_plain(label.text()), panel.title, partial(self._go_to, panel, field))
        for button in panel.widget.findChildren(QPushButton):
            if button.text():
                yield Entry(_plain(button.text()), panel.title, partial(self._go_to, panel, button))

    def _go_to(self, panel: Panel, widget: QWidget) -> None:
        if panel.title != "Chart":
            self._app.bring(panel.title)
        widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
        area = widget.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            area.ensureWidgetVisible(widget)

    def _choose_precision(self, precision: Precision) -> None:
        self._app.session.choose_setup(precision=precision)

    def _choose_device(self, device: Device) -> None:
        self._app.session.choose(lambda choice: replace(choice, device=device))


def _of_menu(title: str, menu: QMenu) -> Iterator[Entry]:
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            yield from _of_menu(f"{title}, {_plain(action.text())}", inner)
        elif action.text() and action.isEnabled():
            yield Entry(_plain(action.text()), title, action.trigger, action.shortcut().toString())


def _plain(text: str) -> str:
    return re.sub(r"&(.)", r"\1", text)
