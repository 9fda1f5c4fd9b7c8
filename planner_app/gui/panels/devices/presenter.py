"""Connects the session's devices, the catalogue and this machine's GPUs with the list."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, Qt

from planner_app.core.hardware.device import Device
from planner_app.core.hardware.machine import Machine
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.errors import DeviceError, PlannerError
from planner_app.files.devices.catalogue import catalogue, find_device
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.devices.values import Kind, Row, name_of, rows
from planner_app.gui.panels.devices.view import DevicesView
from planner_app.gui.panels.devices.watch import MachineWatch
from planner_app.gui.state.session import Session

KEEPS_ONE = "The chart needs at least one device: check another one first."


def look_at_machine() -> Machine:
    from planner_app.gpu.nvml import machine_gpus  # imported in the thread that looks, since the library is slow

    return machine_gpus()


class DevicesPresenter(QObject):
    def __init__(
        self, session: Session, view: DevicesView, appearance: Appearance, look: Callable[[], Machine] = look_at_machine
    ) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self._search = ""
        self._only: tuple[Device, ...] | None = None
        self._machine: Machine | None = None
        self._known: object = None
        self.rows: tuple[Row, ...] = ()
        self.watch = MachineWatch(look, self)
        self.watch.looked.connect(self._on_looked)
        session.choice_changed.connect(self._refresh)
        appearance.changed.connect(self._on_theme_changed)
        view.toggled.connect(self._on_toggled)
        view.chosen.connect(self._on_chosen)
        view.searched.connect(self._on_searched)
        view.only_toggled.connect(self._on_only_toggled)
        view.given.connect(self._on_given)
        view.shown.connect(self._on_shown)

    def table(self) -> Table:
        header = ("group", "device", "total_bytes", "allocator_limit_bytes", "compute_capability", "drawn", "chosen")
        shown = [row for row in self.rows if row.kind is Kind.DEVICE and row.device is not None]
        return Table(header, [_written(row, row.device) for row in shown if row.device is not None])

    def _refresh(self) -> None:
        if not self._view.isVisible():  # it looks again when shown
            return
        choice = self._session.choice
        if self._only is not None:  # what is taken off the chart stays in the list, under the pointer
            self._only = tuple(dict.fromkeys((*self._only, *choice.devices)))
        known = (choice.device, choice.devices, self._machine, self._search, self._only)
        if known != self._known:  # a changing batch does not matter here
            self._known = known
            self.rows = rows(choice, self._machine, catalogue(), self._search, self._only)
            self._view.show_rows(self.rows)
            self._view.show_count(len(choice.devices), ", ".join(map(name_of, choice.devices)))

    def _on_theme_changed(self) -> None:
        self._view.set_theme(self._appearance.theme)

    def _on_shown(self, on: bool) -> None:
        if on:
            self._refresh()
            self._view.list.to_chosen()
            self.watch.start()
        else:
            self.watch.stop()

    def _on_looked(self, machine: Machine) -> None:
        self._machine = machine
        self._refresh()

    def _on_searched(self, text: str) -> None:
        self._search = text
        self._refresh()

    def _on_only_toggled(self, on: bool) -> None:
        self._only = self._session.choice.devices if on else None
        self._refresh()

    def _on_toggled(self, device: Device, on: bool) -> None:
        choice = self._session.choice
        if not on and choice.devices == (device,):
            self._view.say(KEEPS_ONE)
            return
        self._view.say("")
        if on:
            self._session.choose(lambda choice: replace(choice, devices=(*choice.devices, device)))
        else:
            self._session.choose(lambda choice: choice.without_device(device))

    def _on_chosen(self, device: Device) -> None:
        self._view.say("")
        self._session.choose(lambda choice: replace(choice, device=device))

    def _on_given(self, text: str) -> None:
        try:
            device = device_from(text)
        except PlannerError as error:
            self._view.say(str(error))
            return
        self._view.clear_custom()
        self._on_chosen(device)


def device_from(text: str) -> Device:
    """Like `--device`, but with messages for the panel, which has a list to search."""
    try:
        return find_device(text)
    except DeviceError as error:
        given = text.strip()
        if found := catalogue().search(given):
            names = ", ".join(device.name for device in found[:2])
            sentence = f"{given!r} matches {len(found)} devices ({names} …): search for it above."
        else:
            sentence = f"{given!r} is neither a device nor a size: expected 24GiB, 24GiB:8.9, cpu or cpu:8GiB."
        raise DeviceError(sentence) from error


def _written(row: Row, device: Device) -> tuple[object, ...]:
    capability = ".".join(map(str, device.compute_capability or ()))
    limit = allocator_limit_bytes(device)
    return row.group, device.name, device.total_bytes, limit, capability, row.drawn, row.chosen


def make(session: Session, appearance: Appearance) -> Panel:
    view = DevicesView(appearance.theme)
    presenter = DevicesPresenter(session, view, appearance)
    return Panel(
        "Devices",
        view,
        area=Qt.DockWidgetArea.LeftDockWidgetArea,
        picture=view.list,
        table=presenter.table,
        shortcut="Alt+2",
        find=view.start_search,
    )
