"""The one answer to "does it fit?": fits, tight or does not fit.

band          low ------ expected ------ high
does not fit  |capacity below expected|
tight                           |capacity between expected and high|
fits                                            |capacity above the band|
"""

from enum import StrEnum

from planner_app.core.estimate.level import Level


class Verdict(StrEnum):
    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does not fit"

    def yes(self, *, sure: bool = False) -> bool:
        """Tight counts as yes, unless only a sure answer counts (`--sure`)."""
        return self is Verdict.FITS or (self is Verdict.TIGHT and not sure)


def judge(level: Level, capacity_bytes: int) -> Verdict:
    if level.peak_bytes > capacity_bytes:
        return Verdict.DOES_NOT_FIT
    return Verdict.FITS if level.high_bytes <= capacity_bytes else Verdict.TIGHT
