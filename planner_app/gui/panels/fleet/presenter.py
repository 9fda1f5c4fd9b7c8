"""Lists a cluster's machines on request, measures the chosen setup on one of them, and marks it on the chart."""

from PySide6.QtCore import QObject

from planner_app.errors import Cancelled, PlannerError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.fleet.cluster import HERE, Cluster
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.fleet.values import COLUMNS, FleetValues, MeasuredThere, Row, point_on, rows_of
from planner_app.gui.panels.fleet.view import FleetView
from planner_app.gui.state.session import Session
from planner_app.jobs.protocol import Progress
from planner_app.planner.fleet.measuring import measure_one
from planner_app.planner.fleet.nodes import KnownNode, TestedNode, keep_calibrations, known_nodes, selftest_nodes
from planner_app.planner.measuring.compare import compare_with_estimate
from planner_app.planner.measuring.selftest import MINUTES
from planner_app.units import parse_bytes

NOT_YET = (
    "Machines of a Ray cluster, to measure on: press “List machines”. Setting one up takes five minutes: see Help."
)
NO_MODEL = "Open a model to measure it there."


class FleetPresenter(QObject):
    def __init__(self, session: Session, view: FleetView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self.slot = TaskSlot(session.start, self)
        self._nodes: tuple[KnownNode, ...] = ()
        self._measured: dict[str, MeasuredThere] = {}
        self.values = FleetValues()
        session.model_changed.connect(self._on_model_changed)
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        self.slot.progressed.connect(self._on_progressed)
        self.slot.failed.connect(lambda why, detail: view.say(why, detail, trouble=True))
        self.slot.stopped.connect(lambda: view.say("Cancelled."))
        self.slot.ended.connect(lambda: view.show_working(False))
        view.list_clicked.connect(self._on_list_clicked)
        view.measure_clicked.connect(self._on_measure_clicked)
        view.test_clicked.connect(self._on_test_clicked)
        view.cancel_clicked.connect(self.slot.cancel)
        self._refresh()

    @property
    def busy(self) -> bool:
        return self.slot.busy

    def table(self) -> Table:
        return Table(COLUMNS, [row.cells for row in self.values.rows])

    def show_nodes(self, nodes: tuple[KnownNode, ...]) -> None:
        self._nodes = nodes
        self._refresh()

    def _refresh(self) -> None:
        rows = rows_of(self._nodes, self._measured)
        self.values = FleetValues("" if rows else NOT_YET, rows)
        self._view.show_values(self.values, self._appearance.theme)

    def _address(self) -> str:
        return self._view.address.text().strip() or HERE

    def _on_model_changed(self) -> None:
        """What was measured there is of another model."""
        self._measured = {}
        self._refresh()

    def _on_progressed(self, event: Progress) -> None:
        self._view.say(event.text)

    def _on_list_clicked(self) -> None:
        address = self._address()

        def work(task: Task) -> tuple[KnownNode, ...]:
            with Cluster(address) as cluster:
                found = known_nodes(cluster, task.cancelled)
            if task.cancelled.is_set():
                raise Cancelled
            return found

        self.slot.run(work, self.show_nodes)
        self._view.show_working(True)

    def _on_measure_clicked(self, row: Row) -> None:
        planner, setup = self._session.planner, self._session.choice.setup
        if planner is None:
            self._view.say(NO_MODEL, trouble=True)
            return
        try:
            limit = self._view.limit.text().strip()
            point = point_on(row.known, planner.model, setup, parse_bytes(limit) if limit else None)
        except PlannerError as error:
            self._view.say(str(error), trouble=True)
            return
        address = self._address()

        def work(task: Task) -> MeasuredThere:
            with Cluster(address) as cluster:
                found = measure_one(
                    cluster,
                    point,
                    on_note=lambda line: task.report(Progress(done=0, of=0, text=line)),
                    on_progress=task.report,
                    cancelled=task.cancelled,
                )
            compared = None
            if found.peaks:
                compared = compare_with_estimate(
                    planner.model, found, tracer=planner.tracer, on_progress=task.report, cancelled=task.cancelled
                )
            return MeasuredThere(point.node, found, compared)

        self.slot.run(work, self._on_measured)
        self._view.show_working(True)

    def _on_measured(self, there: MeasuredThere) -> None:
        self._measured[there.node] = there
        self._session.keep_measurement(there.measurement)
        self._view.say("Measured: the chart shows it.")
        self._refresh()

    def _on_test_clicked(self, row: Row) -> None:
        address = self._address()

        def work(task: Task) -> TestedNode:
            with Cluster(address) as cluster:
                (found,) = selftest_nodes(
                    cluster,
                    [row.known.node],
                    minutes=MINUTES,
                    on_note=lambda line: task.report(Progress(done=0, of=0, text=line)),
                    on_progress=task.report,
                    cancelled=task.cancelled,
                )
            if task.cancelled.is_set():
                raise Cancelled
            return found

        self.slot.run(work, self._on_tested)
        self._view.show_working(True)

    def _on_tested(self, found: TestedNode) -> None:
        if found.tested is None:
            self._view.say(found.problem, trouble=True)
            return
        keep_calibrations([found], Calibrations())
        self._session.calibrate()
        self._view.say(found.tested.result.verdict)


def make(session: Session, appearance: Appearance) -> Panel:
    view = FleetView(appearance.theme)
    presenter = FleetPresenter(session, view, appearance)
    return Panel("Fleet", view, picture=view, table=presenter.table)
