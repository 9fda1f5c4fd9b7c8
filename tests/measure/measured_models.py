"""The models that are measured here."""

from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "planner_app"
DEMO = PACKAGE / "data" / "demo.keras"
LEAKING = Path(__file__).with_name("leaking.py")
PARTICULAR = Path(__file__).with_name("particular.py")
