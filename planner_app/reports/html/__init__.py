"""Answers as HTML for notebooks: the numbers, and charts as inline SVG, light and dark."""

from planner_app.reports.html.answers import (
    advice_html,
    estimate_html,
    largest_html,
    measurement_html,
    offers_html,
    plan_html,
    sweep_html,
    table_html,
)

__all__ = [
    "advice_html",
    "estimate_html",
    "largest_html",
    "measurement_html",
    "offers_html",
    "plan_html",
    "sweep_html",
    "table_html",
]
