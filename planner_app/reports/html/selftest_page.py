"""A self-test as a page of its own, to keep or to send."""

from planner_app.core.measure.selftest import Check, SelfTest
from planner_app.foreign_text import for_html
from planner_app.reports.html.page import answer, line, piece, table
from planner_app.units import format_bytes

HEADER = ("model", "what it tries", "batch", "estimated", "measured", "error", "band", "off most", "seconds")


def selftest_page(found: SelfTest) -> str:
    versions = f"TensorFlow {found.tensorflow}, Keras {found.keras}, Plimsoll {found.plimsoll}"
    driver = f", driver {found.driver}" if found.driver else ""
    parts = [
        answer(found.verdict),
        line(f"{versions}{driver}; {found.started_at}.", "muted"),
        table(HEADER, [_row(check) for check in found.checks], text_columns=2),
        *(line(f"{check.model}: {check.problem}", "bad") for check in found.checks if check.problem),
    ]
    if found.left_out:
        parts.append(line(f"No time was left for {', '.join(found.left_out)}: give more with --minutes.", "warn"))
    parts.append(
        line("The file beside this page calibrates later estimates: plimsoll calibrate --import FILE.json.", "muted")
    )
    title = for_html(f"Self-test on {found.hardware}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>body{{margin:2em;color-scheme:light dark}}.plimsoll{{max-width:none!important}}</style></head>"
        f"<body><h1>{title}</h1>{piece(*parts)}</body></html>\n"
    )


def _row(check: Check) -> list[str]:
    words = [for_html(check.model), for_html(check.about), str(check.batch)]
    comparison = check.comparison
    if comparison is None:
        return [*words, "-", "-", "-", "-", "-", f"{check.seconds:.0f}"]
    kind = "good" if comparison.in_band else "bad"
    off = check.off
    said = f"{for_html(off[0])}, {'+' if off[1] > 0 else '-'}{format_bytes(abs(off[1]))}" if off and off[1] else "-"
    return [
        *words,
        format_bytes(comparison.estimated_bytes),
        format_bytes(sorted(comparison.measured_bytes)[len(comparison.measured_bytes) // 2]),
        f'<span class="{kind}">{comparison.error:+.1%}</span>',
        f"{format_bytes(comparison.low_bytes)} to {format_bytes(comparison.high_bytes)}",
        said,
        f"{check.seconds:.0f}",
    ]
