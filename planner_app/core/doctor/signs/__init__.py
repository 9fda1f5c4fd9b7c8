"""The table of signs: one row for each kind of line that is a failure by itself."""

from planner_app.core.doctor.signs.compiled import COMPILED_SIGNS
from planner_app.core.doctor.signs.device import DEVICE_SIGNS, VAGUE_SIGNS
from planner_app.core.doctor.signs.elsewhere import ELSEWHERE_SIGNS
from planner_app.core.doctor.signs.host import HOST_SIGNS
from planner_app.core.doctor.signs.killed import KILLED_SIGNS
from planner_app.core.doctor.signs.process import PROCESS_SIGNS
from planner_app.core.doctor.signs.sign import Sign

__all__ = ["BY_NAME", "SIGNS", "Sign"]

SIGNS = (*HOST_SIGNS, *PROCESS_SIGNS, *KILLED_SIGNS, *COMPILED_SIGNS, *DEVICE_SIGNS, *ELSEWHERE_SIGNS, *VAGUE_SIGNS)
BY_NAME = {sign.name: sign for sign in SIGNS}
