"""Ranks the hardware that fits the chosen setup, shortly after the choice stops changing."""

from datetime import date
from functools import cached_property
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QFileDialog

from planner_app.core.buying.scenario import Scenario
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Offers, Option, ShopRequest
from planner_app.core.hardware.prices import Accepted
from planner_app.core.hardware.shop import steps
from planner_app.core.model.setup import StepSetup
from planner_app.errors import PlannerError, SetupError
from planner_app.files.devices.catalogue import catalogue
from planner_app.files.devices.machines import market
from planner_app.files.scenarios import write_scenario
from planner_app.foreign_text import for_file_name
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look import export
from planner_app.gui.look.theme import LIGHT, Appearance
from planner_app.gui.panels.hardware.keeping import scenario_of
from planner_app.gui.panels.hardware.questions import OffersOf, groundwork, most_bytes
from planner_app.gui.panels.hardware.scatter import ScatterView
from planner_app.gui.panels.hardware.values import (
    Hardware,
    Key,
    Limits,
    drawn,
    hardware,
    key_of_option,
    measured,
    request_of,
    used,
)
from planner_app.gui.panels.hardware.view import HardwareView
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.session import Session
from planner_app.reports.buying.run_rows import proposal_row
from planner_app.reports.buying.shop_rows import option_row
from planner_app.reports.signing.html_page import html_page
from planner_app.reports.signing.page import page
from planner_app.reports.signing.pdf_page import pdf_page

REST_MS = 150
REPORTS = "Reports (*.html *.pdf);;Scenarios, to ask again later (*.json)"
NO_MODEL = "Open a model to see which GPUs fit it, how many, and at what price."
TRACING = "Tracing the training step …"
WORKING = "Calculating what fits each device …"


class HardwarePresenter(QObject):
    def __init__(self, session: Session, view: HardwareView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self._selected: Key | None = None
        self._drawn: Device | None = None
        self._ranked: tuple[ShopRequest, Offers, Limits] | None = None
        self._busy = False
        self.values = Hardware()
        self._rest = _timer(self, self._refresh)
        self._rest_of_selection = _timer(self, self._draw)
        for signal in (session.model_changed, session.memories_changed, session.answers.answered):
            signal.connect(self._refresh)
        session.choice_changed.connect(self._later)
        session.measurements_changed.connect(self._later)
        appearance.changed.connect(self._on_theme_changed)
        view.limits_changed.connect(self._refresh)
        view.shown.connect(self._on_shown)
        view.selected.connect(self._on_selected)
        view.picked.connect(self._on_picked)
        view.used.connect(self._on_used)
        view.report_wanted.connect(self._on_report_wanted)

    def table(self) -> Table:
        whole = {id(each.option): each for each in self.values.proposals}
        rows = [
            proposal_row(whole[id(option)]) if id(option) in whole else option_row(option, self.values.front)
            for option in self.values.options
        ]
        header = tuple(rows[0]) if rows else ()
        return Table(header, [[_cell(value) for value in row.values()] for row in rows])

    def report(self, ending: str) -> bytes:
        """What `plimsoll shop --html` or `--pdf` writes, for the offers shown."""
        if self._ranked is None or self._session.opened is None:
            raise PlannerError("There is nothing to report yet: open a model and wait until it is traced.")
        request, offers, limits = self._ranked
        name, run = self._session.opened.checked.name, limits.run()
        if run is None:
            if ending == ".pdf":
                raise PlannerError("A PDF is about the whole training: give the samples and epochs above the table.")
            return self.html().encode()
        made = page(name, request, run, self.values.proposals, date.today(), nearest=offers.nearest)
        return pdf_page(made) if ending == ".pdf" else html_page(made).encode()

    def scenario(self) -> Scenario:
        """What `plimsoll shop --scenario` keeps."""
        if self._ranked is None or self._session.opened is None:
            raise PlannerError("There is nothing to keep yet: open a model and wait until it is traced.")
        request, _, limits = self._ranked
        return scenario_of(self._session.opened.checked, request, limits, self.values.proposals, date.today())

    def html(self) -> str:
        """The report about one step, without the whole run."""
        if self._ranked is None or self._session.opened is None:
            raise PlannerError("There is nothing to report yet: open a model and wait until it is traced.")
        from planner_app.reports.buying.shop_report import report  # only needed here, and slow to import

        request, offers, limits = self._ranked
        name, today = self._session.opened.checked.name, date.today()
        return report(name, request, offers, self.values.kept, by=limits.by, pay=limits.pay, today=today)

    @cached_property
    def _devices(self) -> tuple[Device, ...]:
        return tuple(device for device in catalogue().devices if device.whole)

    @cached_property
    def _most_bytes(self) -> int:
        return most_bytes(self._devices)

    def _later(self) -> None:
        if self._view.isVisible():
            self._rest.start()

    def _refresh(self) -> None:
        session = self._session
        if not self._view.isVisible():
            return
        if session.opened is None:
            self._ranked = None
            self._show(Hardware(caption=""), NO_MODEL)
            return
        self._view.filters.show_chosen_steps(session.choice.setup.accumulate)
        limits = self._view.filters.limits()
        try:
            request = request_of(session.choice, limits)
        except SetupError as error:  # nothing is compared for this backend
            self._ranked, self._busy = None, False
            session.trace_also("hardware", ())
            self._show(Hardware(caption=""), str(error))
            return
        wanted = steps(request, self._devices)
        session.trace_also("hardware", wanted)
        offers = self._offers(request, wanted, limits.accepted)
        was_busy, self._busy = self._busy, offers is None
        if offers is None:
            there = any(step in session.memories for step in wanted)
            self._view.say(WORKING if there else TRACING)
        elif self._ranked is None or self._ranked[1] is not offers or self._ranked[2] != limits:
            self._ranked = (request, offers, limits)
            self._show(hardware(request, offers, limits, market(), date.today()))
        elif was_busy:
            self._view.say(self.values.caption)

    def _offers(self, request: ShopRequest, wanted: tuple[StepSetup, ...], accepted: Accepted) -> Offers | None:
        """Replays the known traces piece by piece; the ranking itself comes last."""
        session = self._session
        there = {step: session.memories[step] for step in wanted if step in session.memories}
        pieces = groundwork(request, there, self._most_bytes)
        if not there or None in session.answers.ask("hardware", pieces, passing=True):
            return None
        seconds = measured(session.measurements, catalogue())
        planner = session.planner
        assert planner is not None
        question = OffersOf(
            request,
            self._devices,
            tuple(there.items()),
            date.today(),
            tuple(seconds.items()),
            planner.calibrations,
            accepted,
            planner.lines.known,
            planner.lines.figures,
        )
        return session.answers.ask("offers", [question], passing=True)[0]

    def _show(self, values: Hardware, note: str = "") -> None:
        if values == self.values and not note:
            self._view.say(values.caption)
            return
        self.values = values
        self._view.show_values(values, self._selected)
        if note:
            self._view.say(note)

    def _on_shown(self, on: bool) -> None:
        if on:
            self._refresh()
        else:
            self._rest.stop()
            self._session.trace_also("hardware", ())

    def _on_theme_changed(self) -> None:
        self._view.set_theme(self._appearance.theme)

    def _on_selected(self, option: Option) -> None:
        self._selected = key_of_option(option)
        self._rest_of_selection.start()

    def _draw(self) -> None:
        """Show its capacity on the chart, instead of the previously selected offer's."""
        option = next((each for each in self.values.kept if key_of_option(each) == self._selected), None)
        if option is None:
            return
        before, device = self._drawn, option.device
        self._drawn = None if device in self._session.choice.devices and device != before else device
        self._session.choose(lambda choice: drawn(choice, device, before), mark="hardware")

    def _on_picked(self, key: Key) -> None:
        self._selected = key
        if self._view.table.options.place_of(key) is None:
            self._view.filters.every.setChecked(True)  # otherwise the offer would not be listed
        self._view.mark(key)
        self._rest_of_selection.start()

    def _on_used(self, option: Option) -> None:
        def change(choice: Choice) -> Choice:
            return used(drawn(choice, option.device, self._drawn), option)

        self._rest_of_selection.stop()
        self._session.choose(change)
        self._drawn = None

    def _on_report_wanted(self) -> None:
        suggested = f"{for_file_name(Path(self._session.path or 'plimsoll').stem)} hardware.html"
        path, _ = QFileDialog.getSaveFileName(self._view, "Save the report, or the question", suggested, REPORTS)
        if path:
            self.save_report(path)

    def save_report(self, path: str) -> None:
        try:
            written = path if Path(path).suffix else f"{path}.html"
            if written.lower().endswith(".json"):
                write_scenario(Path(written), self.scenario())
                self._view.say(f"Kept question and answer: plimsoll shop MODEL --again {written} asks again.")
                return
            export.save(written, self.report(Path(written).suffix.lower()))
            self._view.say(f"Saved the report to {written}.")
        except PlannerError as error:
            self._view.say(str(error))


def _timer(parent: QObject, call: object) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(REST_MS)
    timer.timeout.connect(call)
    return timer


def _cell(value: object) -> object:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "unknown" if value is None else value


def make(session: Session, appearance: Appearance) -> Panel:
    view = HardwareView(appearance.theme)
    presenter = HardwarePresenter(session, view, appearance)

    def figure() -> ScatterView:
        if not presenter.values.dots:
            raise PlannerError(
                "There is no offer to draw yet: bring the Hardware panel to the front, and wait for them."
            )
        drawn = ScatterView(LIGHT)
        drawn.show_values(presenter.values, None)
        return drawn

    return Panel("Hardware", view, picture=view.scatter, table=presenter.table, shortcut="Alt+7", figure=figure)
