"""Answers of the Python API: frozen values that say themselves as a dictionary, a table or a piece of a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from planner_app.core.advise import values as advice_values
from planner_app.core.buying.run import Proposal
from planner_app.core.compile import check as compile_check
from planner_app.core.estimate import estimate, largest
from planner_app.core.hardware import option
from planner_app.core.hardware.prices import Pay
from planner_app.core.hardware.ranking import By, front, one_of_each, ranked
from planner_app.core.measure import measurement
from planner_app.core.plan.plan import Plan as CorePlan
from planner_app.errors import PlannerError
from planner_app.files.plans import plan_text, write_plan
from planner_app.files.scenarios import write_scenario
from planner_app.files.writing import reason, write_atomically
from planner_app.planner.buying import Answered
from planner_app.planner.planner import SweepPoint
from planner_app.reports import dicts, html
from planner_app.reports.buying.run_rows import proposal_row
from planner_app.reports.buying.shop_rows import as_json, option_row
from planner_app.reports.signing.html_page import html_page
from planner_app.reports.signing.page import Page, page
from planner_app.reports.signing.pdf_page import pdf_page

if TYPE_CHECKING:
    import pandas

Row = dict[str, object]
T = TypeVar("T")


class Answer:
    """What every answer can do."""

    __slots__ = ()

    def to_dict(self) -> Row:
        """Plain values, as `plimsoll ... --json` prints them."""
        raise NotImplementedError

    def rows(self) -> list[Row]:
        """The answer as a table; one row, unless it is a list of things."""
        return [{key: value for key, value in self.to_dict().items() if not isinstance(value, (dict, list))}]

    def to_frame(self) -> pandas.DataFrame:
        """
        Raises:
            PlannerError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise PlannerError("A data frame needs pandas: install it with pip install pandas.") from error
        return pandas.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        raise NotImplementedError


def of(kind: type[T], value: object) -> T:
    """A value of the core as the answer that it is."""
    return kind(**{field.name: getattr(value, field.name) for field in fields(value)})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Estimate(estimate.Estimate, Answer):
    """Memory of one way to train on one device. Frames have a row for each layer."""

    def to_dict(self) -> Row:
        return dicts.estimate_dict(self)

    def rows(self) -> list[Row]:
        found: list[Row] = msgspec.to_builtins(self.layers)
        return found

    def _repr_html_(self) -> str:
        return html.estimate_html(self)


@dataclass(frozen=True, slots=True)
class LargestBatch(largest.Largest, Answer):
    """The largest batch: `batch` counts tight, `sure_batch` does not."""

    def to_dict(self) -> Row:
        return dicts.largest_dict(self)

    def _repr_html_(self) -> str:
        return html.largest_html(self)


@dataclass(frozen=True, slots=True)
class Sweep(Answer):
    """Memory over batches, precisions, GPU counts and devices."""

    points: tuple[SweepPoint, ...]

    def to_dict(self) -> Row:
        return {"rows": self.rows()}

    def rows(self) -> list[Row]:
        return [_sweep_row(point) for point in self.points]

    def _repr_html_(self) -> str:
        return html.sweep_html(self.rows())


def _sweep_row(point: SweepPoint) -> Row:
    row = dicts.sweep_row(point.setup, point.device, point.xla, point.level, point.capacity_bytes, point.verdict)
    return row | {"calibrated": point.calibrated}


@dataclass(frozen=True, slots=True)
class Advice(advice_values.Advice, Answer):
    """What to change so that it fits. Frames have a row for each way."""

    def to_dict(self) -> Row:
        return dicts.advice_dict(self)

    def rows(self) -> list[Row]:
        return [
            {
                "change": "; ".join(change.text for change in way.changes),
                "verdict": str(way.verdict),
                "before_bytes": way.before_bytes,
                "after_bytes": way.after_bytes,
                "high_bytes": way.high_bytes,
                "limit_bytes": way.limit_bytes,
                "slower": way.slower,
            }
            for way in (*self.options, *self.helpful)
        ]

    def _repr_html_(self) -> str:
        return html.advice_html(self)


@dataclass(frozen=True, slots=True)
class Offers(option.Offers, Answer):
    """GPUs that carry the training; `best()` puts them in order."""

    request: option.ShopRequest | None = None
    answered: Answered | None = None

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """The whole training on each option within the limits, cheapest first; empty if `samples` were not given."""
        return () if self.answered is None else self.answered.best

    def save_report(self, path: str | Path) -> Path:
        """One page for whoever approves the purchase: PDF or HTML, by the ending of the name."""
        return self._saved(path, pdf_page if Path(path).suffix.lower() == ".pdf" else lambda it: html_page(it).encode())

    def save_scenario(self, path: str | Path) -> Path:
        """The question and its answer, to ask it again later."""
        write_scenario(Path(path), self._whole().scenario)
        return Path(path)

    def _saved(self, path: str | Path, drawn: Callable[[Page], bytes]) -> Path:
        found = self._whole()
        scenario = found.scenario
        made = page(
            scenario.model, scenario.request, scenario.run, found.proposals, date.fromisoformat(scenario.made),
            found.changes, found.since, found.offers.nearest,
        )  # fmt: skip
        try:
            write_atomically(Path(path), drawn(made))
        except OSError as error:
            raise PlannerError(f"The report can't be written to {path}: {reason(error)}.") from error
        return Path(path)

    def _whole(self) -> Answered:
        if self.answered is None:
            raise PlannerError("The report is about the whole training: give shop() samples and epochs.")
        return self.answered

    def best(self, by: str = "price", pay: str = "cloud", *, every_count: bool = False) -> list[option.Option]:
        found = ranked(self.options, By(by), Pay(pay))
        return found if every_count else one_of_each(found)

    def to_dict(self) -> Row:
        if self.request is None:
            return {"options": self.rows()}
        return as_json(self.request, self, self.best(), front(self.options))

    def rows(self) -> list[Row]:
        if self.answered is not None:
            return [proposal_row(each) for each in self.answered.best]
        return [option_row(each) for each in self.best()]

    def _repr_html_(self) -> str:
        return html.offers_html(self.best(), len(self.options))


@dataclass(frozen=True, slots=True)
class Plan(CorePlan, Answer):
    """A plan that training scripts keep. Frames have a row for each rung."""

    def save(self, path: str | Path) -> Path:
        """Whole or not at all; what was there before is replaced."""
        write_plan(path, self.plain)
        return Path(path)

    @property
    def plain(self) -> CorePlan:
        return CorePlan(**{field.name: getattr(self, field.name) for field in fields(CorePlan)})

    def to_dict(self) -> Row:
        found: Row = msgspec.json.decode(plan_text(self.plain))
        return found

    def rows(self) -> list[Row]:
        return [
            {
                "device": entry.device.name,
                "rung": number,
                "per_gpu_batch": rung.per_gpu_batch,
                "accumulate": rung.accumulate,
                "precision": str(rung.precision),
                "jit": rung.jit,
                "peak_bytes": rung.peak.expected_bytes,
                "low_bytes": rung.peak.low_bytes,
                "high_bytes": rung.peak.high_bytes,
                "capacity_bytes": entry.device.capacity_bytes,
            }
            for entry in self.devices
            for number, rung in enumerate(entry.rungs)
        ]

    def _repr_html_(self) -> str:
        return html.plan_html(self.plain, self.rows())


@dataclass(frozen=True, slots=True)
class Measurement(measurement.Measurement, Answer):
    """What real training steps took. Frames have a row for each step of the first process."""

    def to_dict(self) -> Row:
        found: Row = msgspec.to_builtins(self)
        return found | {"peak_bytes": self.peak_bytes}

    def rows(self) -> list[Row]:
        return [
            {"step": step.number, "device": each.device, "before_bytes": each.before_bytes,
             "peak_bytes": each.peak_bytes, "after_bytes": each.after_bytes, "seconds": step.seconds}
            for run in self.runs[:1] for step in run.steps for each in step.memory
        ]  # fmt: skip

    def _repr_html_(self) -> str:
        return html.measurement_html(self, self.rows())


@dataclass(frozen=True, slots=True)
class CompileChecks(Answer):
    """What the XLA compiler says of each point."""

    checks: tuple[compile_check.CompileCheck, ...]

    def to_dict(self) -> Row:
        return {"rows": self.rows()}

    def rows(self) -> list[Row]:
        return [
            {
                "device": each.device,
                "batch": each.setup.batch,
                "precision": str(each.setup.precision),
                "argument_bytes": each.compiled.argument_bytes,
                "temp_bytes": each.compiled.temp_bytes,
                "total_bytes": each.total_bytes,
                "capacity_bytes": each.capacity_bytes,
                "fits": each.fits,
            }
            for each in self.checks
        ]

    def _repr_html_(self) -> str:
        return html.table_html("The compiler's figures", self.rows())
