"""A one-page report for whoever approves the purchase: what is to be trained, what fits it, at what price, and how the
figures were made. A single HTML file, made to be printed."""

from collections.abc import Sequence
from datetime import date

from planner_app import __version__
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.option import IN_ONE_MACHINE, Later, Offers, Option, ShopRequest
from planner_app.core.hardware.prices import OLD_AFTER_DAYS, Cost, Pay
from planner_app.core.hardware.ranking import By, cost_of, front, key_of, one_of_each, ranked
from planner_app.core.hardware.refusal import short_name
from planner_app.core.hardware.roofline import Source
from planner_app.foreign_text import for_html
from planner_app.reports.buying.scatter_svg import Dot, scatter
from planner_app.reports.buying.shop_rows import UNKNOWN, format_rate, format_usd, later_text, pace_text
from planner_app.units import format_bytes

LINES = 8
REASONS = 4
NAMES = 3
STYLE = """
@page { size: A4; margin: 12mm 14mm; }
* { box-sizing: border-box; }
body { font: 13px/1.4 system-ui, "Helvetica Neue", Arial, sans-serif; color: #1b2733; background: #fff;
  max-width: 760px; margin: 24px auto; padding: 0 20px; }
h1 { font-size: 21px; margin: 0; } h2 { font-size: 14px; margin: 16px 0 5px; }
p { margin: 3px 0; } .dim { color: #5c6b7a; } small { font-size: 11px; }
.choice { border: 1px solid #0b6e4f; border-left-width: 5px; padding: 8px 12px; margin: 12px 0; }
.none { border-color: #b3261e; }
table { border-collapse: collapse; width: 100%; font-size: 11.5px; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: #5c6b7a; border-bottom: 1px solid #9aa7b4; }
th, td { padding: 2.5px 6px; white-space: nowrap; } td { text-align: right; border-bottom: 1px solid #e6eaee; }
th:first-child, td:first-child { text-align: left; white-space: normal; } tr.chosen td { background: #eaf5f0; }
svg { width: 100%; height: auto; display: block; } svg text { font: 10px system-ui, Arial, sans-serif; fill: #42505e; }
svg .title { font-size: 11px; } svg .grid { stroke: #e6eaee; } svg .dot { fill: #b4c0cb; }
svg .best { fill: #0b6e4f; } svg .front { fill: none; stroke: #0b6e4f; stroke-width: 1.3; }
ul { margin: 3px 0; padding-left: 18px; } .sign { display: flex; gap: 24px; margin-top: 32px; }
.sign span { flex: 1; border-top: 1px solid #42505e; padding-top: 3px; color: #5c6b7a; font-size: 11px; }
@media print { body { margin: 0; padding: 0; max-width: none; font-size: 11px; } h1 { font-size: 17px; }
  h2 { font-size: 12px; margin: 9px 0 3px; } .choice { margin: 7px 0; padding: 5px 10px; } small { font-size: 9.5px; }
  table { font-size: 10px; } th, td { padding: 1.5px 5px; } p { margin: 2px 0; } .sign { margin-top: 24px; }
  .choice, table, svg { break-inside: avoid; } tr.chosen td { print-color-adjust: exact; } }
"""


def report(
    model: str,
    request: ShopRequest,
    offers: Offers,
    options: Sequence[Option],
    *,
    by: By = By.PRICE,
    pay: Pay = Pay.CLOUD,
    today: date,
    later: Sequence[Later] = (),
) -> str:
    """`options` are those within the limits, the best first; `later` what larger inputs would need."""
    chosen = recommended(options, pay)
    title = f"GPUs to train {model}"
    body = [
        f"<h1>{for_html(title)}</h1>",
        f'<p class="dim">{today.isoformat()}, by plimsoll {__version__}: estimates, without running anything.</p>',
        _wanted(request),
        _choice(chosen, options, pay),
        _picture(options, pay),
        _table(options, chosen, by, pay),
        _growing(later),
        _reasons(offers),
        _grounds(options, pay),
        '<div class="sign"><span>approved</span><span>name</span><span>date</span></div>',
    ]
    head = f'<meta charset="utf-8"><title>{for_html(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def recommended(options: Sequence[Option], pay: Pay) -> Option | None:
    """The cheapest that is sure to fit and needs no unusual machine; else the cheapest."""
    cheapest = ranked(options, By.PRICE, pay)
    usual = (
        option
        for option in cheapest
        if option.verdict is Verdict.FITS and option.even and option.gpus <= IN_ONE_MACHINE
    )
    return next(usual, cheapest[0] if cheapest else None)


def _wanted(request: ShopRequest) -> str:
    setup = request.setup
    parts = [
        f"{setup.batch:,} samples per update",
        " or ".join(map(str, request.precisions)),
        f"optimizer {setup.optimizer}",
        *(f"{name} {' × '.join(map(str, sizes))}" for name, sizes in setup.sizes),  # noqa: RUF001
        *(
            [f"gradients accumulated over at most {request.most_accumulate} steps"]
            if request.most_accumulate > 1
            else []
        ),
        *([f"frozen: {', '.join(setup.freeze)}"] if setup.freeze else []),
        *([f"LoRA {setup.lora}"] if setup.lora else []),
        *([f"quantised to {setup.quantize}"] if setup.quantize else []),
        *([f"rematerialised: {setup.remat}"] if setup.remat else []),
        f"{request.counts[0]} to {request.counts[-1]} GPUs of a kind",
    ]
    return f"<p><b>Training:</b> {for_html(', '.join(parts))}.</p>"


def _choice(chosen: Option | None, options: Sequence[Option], pay: Pay) -> str:
    if chosen is None:
        return '<div class="choice none"><b>Nothing within the limits fits.</b></div>'
    verb = "fits" if chosen.gpus == 1 else "fit"
    lines = [f"<p><b>{for_html(_called(chosen))}</b> {verb} it, {_price(chosen, pay)}.</p>"]
    lines.append(f"<p>{for_html(_memory(chosen))}; {for_html(_pace(chosen))}.</p>")
    lines += [f'<p class="dim">Note: {for_html(note)}.</p>' for note in chosen.notes]
    lines += [f'<p class="dim">{for_html(line)}.</p>' for line in _others(chosen, options, pay)]
    return f'<div class="choice">{"".join(lines)}</div>'


def _others(chosen: Option, options: Sequence[Option], pay: Pay) -> list[str]:
    """The alternatives, and why they were not chosen."""
    found = []
    cheapest = ranked(options, By.PRICE, pay)
    cheaper = one_of_each(cheapest[: cheapest.index(chosen)])
    if cheaper:
        names = ", ".join(map(_called, cheaper[:NAMES])) + (" and others" if len(cheaper) > NAMES else "")
        found.append(f"Cheaper, but tight or with an uneven share of the batch: {names}")
    for what, by in (("Fastest with a price", By.SPEED), ("Cheapest per sample", By.VALUE)):
        known = [each for each in options if cost_of(each, pay) and key_of(by, pay)(each) is not None]
        best = next(iter(ranked(known, by, pay)), None)
        cost = best and cost_of(best, pay)
        if best is not None and cost and best is not chosen:
            found.append(f"{what}: {_called(best)}, {_dollars(cost, pay)}, {_pace(best)}")
    return found


def _called(option: Option) -> str:
    return f"{option.gpus} × {option.device.name}"  # noqa: RUF001 - a multiplication sign is meant


def _memory(option: Option) -> str:
    setup, level = option.setup, option.level
    steps = f" at a time, {setup.accumulate} times for an update," if setup.accumulate > 1 else ""
    band = f"{format_bytes(level.low_bytes)} to {format_bytes(level.high_bytes)}"
    need, limit = format_bytes(level.peak_bytes), format_bytes(option.limit_bytes)
    return (
        f"Each GPU holds {setup.per_gpu_batch:,} samples{steps} in {setup.precision} and needs {need} ({band}) of the "
        f"{limit} that {setup.backend.label} gets of it"
    )


def _pace(option: Option) -> str:
    if option.speed is None:
        return "its speed is unknown"
    about = {Source.MEASURED: "measured", Source.ROOFLINE: "estimated"}[option.speed.source]
    where = " on JAX" if option.on_jax else ""
    return f"about {format_rate(option.speed.samples_per_second)} samples per second, {about}{where}"


def _price(option: Option, pay: Pay) -> str:
    cost = cost_of(option, pay)
    if cost is None:
        return "at an unknown price"
    day = cost.price.date or "without a date"
    kind = "".join(f", {word}" for word in (cost.price.kind, cost.price.note) if word)
    return for_html(f"for {_dollars(cost, pay)} ({cost.price.source}{kind}, {day}{', old' if cost.old else ''})")


def _dollars(cost: Cost, pay: Pay) -> str:
    return format_usd(cost.usd) + (" an hour" if pay is Pay.CLOUD else "")


def _picture(options: Sequence[Option], pay: Pay) -> str:
    by = By.SPEED if any(option.speed for option in options) else By.BATCH
    best, gain, usd = front(options, by, pay), key_of(by, pay), key_of(By.PRICE, pay)
    dots = [
        Dot(price, -figure, f"{option.gpus} × {short_name(option.device)}", any(option is each for each in best))  # noqa: RUF001
        for option in options
        if (price := usd(option)) is not None and (figure := gain(option)) is not None and figure < 0
    ]
    if len(dots) < 2:
        return ""
    across = "dollars an hour" if pay is Pay.CLOUD else "dollars to buy the cards"
    what, up = ("speed", "samples per second") if by is By.SPEED else ("batch", "largest batch")
    drawn = scatter(dots, across, up, lambda x: f"${x:,.0f}" if x >= 1 else f"${x:g}")
    return f"<h2>Price and {what}: nothing beats those on the line</h2>{drawn}"


def _table(options: Sequence[Option], chosen: Option | None, by: By, pay: Pay) -> str:
    shown = one_of_each(options)[:LINES]
    if not shown:
        return ""
    titles = ("device", "GPUs", "samples each", "precision", "needs", "gets", "an hour", "to buy", "watts", "samples/s")
    rows = "".join(_row(option, option is chosen) for option in shown)
    head = "".join(f"<th>{title}</th>" for title in titles)
    words = {By.PRICE: f"price ({pay})", By.VALUE: "dollars per sample", By.BATCH: "largest batch"}.get(by, str(by))
    return f"<h2>The best {len(shown)} kinds by {words}</h2><table><tr>{head}</tr>{rows}</table>"


def _row(option: Option, chosen: bool) -> str:
    setup = option.setup
    steps = f" in {setup.accumulate} steps" if setup.accumulate > 1 else ""
    cells = (
        option.device.name.removeprefix("NVIDIA "),
        str(setup.gpus),
        f"{setup.per_gpu_batch:,}{steps}",
        str(setup.precision),
        format_bytes(option.level.peak_bytes),
        ("~" if option.device.total_is_derived else "") + format_bytes(option.limit_bytes),
        _cell(option.hour),
        _cell(option.buy),
        UNKNOWN if option.watts is None else f"{option.watts:,}",
        pace_text(option).lstrip("~"),
    )
    style = ' class="chosen"' if chosen else ""
    return f"<tr{style}>" + "".join(f"<td>{for_html(cell)}</td>" for cell in cells) + "</tr>"


def _cell(cost: Cost | None) -> str:
    return UNKNOWN if cost is None else format_usd(cost.usd) + (" old" if cost.old else "")


def _growing(later: Sequence[Later]) -> str:
    if not later:
        return ""
    items = "".join(f"<li>{for_html(later_text(each))}</li>" for each in later)
    return f"<h2>If inputs grow</h2><ul><small>{items}</small></ul>"


def _reasons(offers: Offers) -> str:
    reasons = offers.why_not()
    if not reasons:
        return ""
    items = "".join(f"<li>{for_html(f'{short_name(r.device)}: {r.sentence}')}</li>" for r in reasons[:REASONS])
    more = f"<li>and {len(reasons) - REASONS} more</li>" if len(reasons) > REASONS else ""
    return f"<h2>Why not others</h2><ul><small>{items}{more}</small></ul>"


def _grounds(options: Sequence[Option], pay: Pay) -> str:
    lines = [
        "Memory: the training step was traced operation by operation and replayed through TensorFlow's allocator. It "
        "was not run, and such estimates have not been compared with a GPU yet; a band shows how far they may be off.",
        "A GPU gives what TensorFlow gets of the memory that its driver reports, not the marketed gigabytes; ~ "
        "marks a derived total where none has been published.",
        "Speed is expected from data sheets and from what 600 published trainings reached of them; half of such "
        "estimates are within 15 %. Reading the data may take longer.",
        "Prices are as published on the day given, of cards alone or of an hour on demand; older than "
        f"{OLD_AFTER_DAYS} days, or without a date, they are marked old. Missing prices are unknown.",
    ]
    dates = sorted({cost.price.date for option in options if (cost := cost_of(option, pay)) and cost.price.date})
    if dates:
        lines.append(f"The prices used here date from {dates[0]} to {dates[-1]}.")
    return f"<h2>How the figures were made</h2><p><small>{for_html(' '.join(lines))}</small></p>"
