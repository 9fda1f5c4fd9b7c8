"""Each answer as HTML."""

from collections.abc import Mapping, Sequence

from planner_app.core.advise import Advice
from planner_app.core.estimate.estimate import Estimate
from planner_app.core.estimate.largest import Largest
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.option import Option
from planner_app.core.measure.measurement import Measurement
from planner_app.core.plan.plan import Plan
from planner_app.foreign_text import for_html
from planner_app.reports.buying.shop_rows import format_rate, format_usd
from planner_app.reports.estimate_table import trained_with
from planner_app.reports.html.chart import chart
from planner_app.reports.html.page import answer, cell, line, piece, table
from planner_app.reports.verdict_text import verdict_words
from planner_app.units import format_bytes

MOST_LAYERS = 8
MOST_ROWS = 40
BAR_EM = 8.0
Rows = Sequence[Mapping[str, object]]


def estimate_html(result: Estimate) -> str:
    setup = result.setup
    peak = f"{format_bytes(result.peak_bytes)} in use at the peak"
    band = f"{format_bytes(result.low_bytes)} to {format_bytes(result.high_bytes)}"
    said = [line(f"{peak}, {band}")]
    if result.verdict is not None and result.capacity_bytes is not None:
        words = verdict_words(result.verdict, result.level, result.capacity_bytes)
        said.insert(0, answer(words[0].upper() + words[1:], result.verdict))
        said.append(line(f"{setup.backend.label} gets {format_bytes(result.capacity_bytes)} of {result.device}."))
    how = [f"batch {setup.batch:,}", str(setup.precision), *trained_with(setup, result.trained)]
    how += [f"{setup.gpus} GPUs"] * (setup.gpus > 1) + [f"{setup.accumulate} accumulation steps"] * (
        setup.accumulate > 1
    )
    how.append("compiled by XLA" if result.xla else "without XLA")
    terms = [
        (for_html(term), format_bytes(size), _bar(size / result.peak_bytes if result.peak_bytes else 0.0))
        for term, size in sorted(result.breakdown.items(), key=lambda each: -each[1])
    ]
    heavy = sorted((row for row in result.layers if row.name), key=lambda row: -row.peak_bytes)[:MOST_LAYERS]
    layers = [(for_html(row.name), for_html(row.class_name), format_bytes(row.peak_bytes)) for row in heavy]
    warnings = [line(f"assumed: {text}", "warn") for text in result.trained.assumed]
    warnings += [line(f"! {text}", "warn") for text in result.warnings]
    return piece(
        *said,
        line(", ".join(how), "muted"),
        table(("what", "bytes", "share"), terms),
        table(("layer", "class", "at the peak"), layers, 2),
        *warnings,
    )


def _bar(share: float) -> str:
    return f'{share:.1%} <span class="bar" style="width:{max(share, 0.0) * BAR_EM:.2f}em"></span>'


def largest_html(result: Largest) -> str:
    if not result.batch:
        needed = format_bytes(result.level.peak_bytes)
        said = answer("Not even one sample per GPU fits", Verdict.DOES_NOT_FIT)
        return piece(
            said, line(f"It needs {needed}; {result.setup.backend.label} gets {format_bytes(result.capacity_bytes)}.")
        )
    more = (
        "" if not result.counting_tight.bound else " Larger batches were not tried: memory hardly grows with the batch."
    )
    return piece(
        answer(f"Fits up to {result.sure_batch:,}, tight up to {result.batch:,}"),
        line(f"{result.device}: {result.setup.backend.label} gets {format_bytes(result.capacity_bytes)}.{more}"),
        line(f"{result.setup.precision}, {result.setup.gpus} GPU{'s' if result.setup.gpus > 1 else ''}", "muted"),
        line(result.calibrated, "muted") if result.calibrated else "",
    )


def sweep_html(rows: Rows) -> str:
    names = ("device", "precision", "gpus", "batch", "peak_bytes", "low_bytes", "high_bytes", "verdict")
    cells = [[cell(name, row[name]) for name in names] for row in rows[:MOST_ROWS]]
    header = ("device", "precision", "GPUs", "batch", "in use", "low", "high", "verdict")
    left = [line(f"and {len(rows) - MOST_ROWS} more rows", "muted")] if len(rows) > MOST_ROWS else []
    return piece(chart(rows), table(header, cells, 2), *left)


def advice_html(advice: Advice) -> str:
    verdict = advice.verdict or Verdict.DOES_NOT_FIT
    where = f"{advice.request.device.name}, batch {advice.request.setup.batch:,}"
    peak = f"{format_bytes(advice.before_bytes)} of {format_bytes(advice.limit_bytes or 0)}"
    rows = [
        (
            for_html("; ".join(change.text for change in way.changes)),
            cell("verdict", str(way.verdict)),
            format_bytes(way.after_bytes),
            "-" if way.slower is None else f"{way.slower:.2f} x",
        )
        for way in advice.options
    ]
    body = table(("change", "verdict", "then", "time per sample"), rows) if rows else ""
    return piece(answer(f"{str(verdict).capitalize()}: {where}", verdict), line(peak), body)


def offers_html(best: Sequence[Option], count: int) -> str:
    rows = [
        (
            for_html(each.device.name),
            str(each.gpus),
            cell("verdict", str(each.verdict)),
            format_bytes(each.level.peak_bytes),
            format_bytes(each.limit_bytes),
            "unknown" if each.hour is None else format_usd(each.hour.usd),
            "unknown" if each.speed is None else f"~{format_rate(each.speed.samples_per_second)}",
        )
        for each in best[:MOST_ROWS]
    ]
    header = ("device", "GPUs", "verdict", "needs", "gives", "an hour", "samples/s")
    return piece(answer(f"{count:,} offers fit"), table(header, rows))


def plan_html(plan: Plan, rows: Rows) -> str:
    names = tuple(rows[0]) if rows else ()
    header = tuple(name.removesuffix("_bytes").replace("_", " ") for name in names)
    cells = [[cell(name, row[name]) for name in names] for row in rows]
    title = f"{plan.model.name}: a batch of {plan.training.global_batch:,}"
    return piece(answer(title), table(header, cells), *(line(f"! {text}", "warn") for text in plan.warnings))


def measurement_html(result: Measurement, rows: Rows) -> str:
    if result.oom is not None:
        said = answer(f"Out of memory during {result.oom.during}", Verdict.DOES_NOT_FIT)
    else:
        said = answer(f"{format_bytes(result.peak_bytes or 0)} in use at the peak")
    return piece(said, line(f"{result.hardware}, measured {result.measured_at}", "muted"), _table(rows))


def table_html(title: str, rows: Rows) -> str:
    return piece(answer(title), _table(rows))


def _table(rows: Rows) -> str:
    if not rows:
        return ""
    names = tuple(rows[0])
    header = tuple(name.removesuffix("_bytes").replace("_", " ") for name in names)
    return table(header, [[cell(name, row[name]) for name in names] for row in rows[:MOST_ROWS]])
