"""The dialog of a supervised run: how often it was started, on which rung, and how each try ended."""

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from planner_app.gui.look.paper import Paper, facts, paragraph, title
from planner_app.gui.look.theme import Theme
from planner_app.train.recover.report import RunReport, Try

SIZE = (760, 420)


class RunView(QDialog):
    def __init__(self, parent: QWidget, report: RunReport, theme: Theme) -> None:
        super().__init__(parent)
        self.setWindowTitle("Results of a run")
        self.resize(*SIZE)
        self.paper = Paper("What happened in the run")
        self.paper.show_text(run_text(report, theme))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.close)
        column = QVBoxLayout(self)
        column.addWidget(self.paper)
        column.addWidget(buttons)


def run_text(report: RunReport, theme: Theme) -> str:
    colour = theme.good if report.finished else theme.bad
    said = "The training came to its end."
    if not report.finished:
        said = f"It did not finish: {report.reason or 'still running'}."
    rows = [("plan", report.plan), ("command", " ".join(report.command)), ("seed", str(report.seed))]
    if report.hosts > 1:
        rows.append(("host", f"{report.worker} of {report.hosts}"))
    tries = [_row(number, each) for number, each in enumerate(report.tries, 1)]
    header = ("try", "rung", "started", "ended", "updates", "how it ended")
    return "".join(
        (
            paragraph(said, colour, bold=True),
            facts(rows, theme),
            title(f"{len(tries)} {'try' if len(tries) == 1 else 'tries'}"),
            facts(tries, theme, header),
        )
    )


def _row(number: int, each: Try) -> tuple[str, ...]:
    rung = f"{each.rung}" if each.last_rung in (None, each.rung) else f"{each.rung}, then {each.last_rung}"
    updates = "" if each.updates is None else f"{each.updates:,}"
    return str(number), rung, _moment(each.started), _moment(each.ended), updates, each.reason or each.end or "running"


def _moment(text: str) -> str:
    return text.replace("T", " ").removesuffix("Z")
