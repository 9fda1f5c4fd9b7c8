"""The whole run in rows, for JSON and spreadsheets. Unknown values are null."""

from collections.abc import Sequence
from typing import Any

from planner_app.core.buying.run import DAY, Proposal, Run
from planner_app.core.buying.scenario import Change
from planner_app.reports.buying.shop_rows import cell, option_row
from planner_app.reports.csv_rows import csv_text


def run_row(run: Run) -> dict[str, Any]:
    return {
        "samples": run.samples,
        "epochs": run.epochs,
        "runs": run.runs,
        "pay": run.pay and str(run.pay),
        "deadline_seconds": run.deadline_seconds,
        "budget_usd": run.budget_usd,
        "power_usd_per_kwh": run.power_usd_per_kwh or None,
        "host_bytes": run.host_bytes or None,
        "data_bytes": run.data_bytes or None,
    }


def proposal_row(of: Proposal) -> dict[str, Any]:
    rent, buy = of.rent, of.buy
    machine = rent.machine if rent else None
    return option_row(of.option) | {
        "days": round(of.seconds / DAY, 4),
        "low_days": round(of.low_seconds / DAY, 4),
        "high_days": round(of.high_seconds / DAY, 4),
        "in_time": str(of.in_time),
        "in_budget": of.in_budget,
        "kwh": _rounded(of.kwh),
        "rent_usd": _rounded(of.rent_usd),
        "rent_machine": None if machine is None else f"{machine.provider} {machine.name}",
        "rent_region": None if machine is None else machine.region,
        "rent_gpus": None if machine is None else machine.gpus,
        "rent_memory_bytes": None if machine is None else machine.memory_bytes,
        "buy_usd": _rounded(of.buy_usd),
        "pay": of.pay and str(of.pay),
        "buy_machine": buy.chassis.name if buy and buy.chassis else None,
        "hardware_usd": _rounded(buy.usd if buy else None),
        "energy_usd_a_run": _rounded(buy.energy_usd_a_run if buy else None),
        "even_after_runs": _rounded(of.even_after),
        "no_machine": of.no_machine or None,
    }


def change_row(change: Change) -> dict[str, Any]:
    answer = change.after or change.before
    return {
        "device": answer.device if answer else None,
        "gpus": answer.gpus if answer else None,
        "place_before": change.places[0],
        "place_now": change.places[1],
        "changes": list(change.sentences),
    }


def run_json(run: Run, best: Sequence[Proposal], changes: Sequence[Change], since: str) -> dict[str, Any]:
    found: dict[str, Any] = {"run": run_row(run), "proposals": [proposal_row(each) for each in best]}
    return found | ({"since": since, "changes": [change_row(each) for each in changes]} if since else {})


def run_csv(best: Sequence[Proposal]) -> str:
    """For spreadsheets: unknown values say so, since an empty cell would count as zero."""
    rows = [proposal_row(each) for each in best]
    return csv_text([*rows[:1], *(map(cell, row.values()) for row in rows)])


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 2)
