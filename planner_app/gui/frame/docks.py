"""The panels around the chart, in docking order. To add one, write a folder and a line here."""

from collections.abc import Callable

from planner_app.gui.frame.panel import Panel
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.advice.presenter import make as advice
from planner_app.gui.panels.breakdown.presenter import make as breakdown
from planner_app.gui.panels.devices.presenter import make as devices
from planner_app.gui.panels.fleet.presenter import make as fleet
from planner_app.gui.panels.hardware.presenter import make as hardware
from planner_app.gui.panels.largest.presenter import make as largest
from planner_app.gui.panels.layers.presenter import make as layers
from planner_app.gui.panels.plan.presenter import make as plan
from planner_app.gui.panels.setup.presenter import make as setup
from planner_app.gui.panels.sharding.presenter import make as sharding
from planner_app.gui.panels.timeline.presenter import make as timeline
from planner_app.gui.panels.validate.presenter import make as validate
from planner_app.gui.state.session import Session

PANELS: tuple[Callable[[Session, Appearance], Panel], ...] = (
    setup,
    devices,
    breakdown,
    timeline,
    layers,
    largest,
    hardware,
    sharding,
    validate,
    fleet,
    advice,
    plan,
)
